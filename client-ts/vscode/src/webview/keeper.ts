/**
 * Keeps the saved state of the page where it is found again: with the editor, and in the host's file.
 *
 * Owns that the newest state gets there and that only one is on its way.
 */
import type { SavedState } from "./model/saved_state";

export class Keeper {
  private next: SavedState | undefined;
  private sending = false;

  constructor(
    private readonly setState: (state: SavedState) => void,
    /** `editor.remember`. */
    private readonly remember: (state: string) => Promise<unknown>,
  ) {}

  keep(state: SavedState): void {
    this.setState(state);
    this.next = state;
    if (!this.sending) void this.send();
  }

  private async send(): Promise<void> {
    this.sending = true;
    while (this.next !== undefined) {
      const state = this.next;
      this.next = undefined;
      // The editor has it too: what does not get to the file is lost only with the window.
      await this.remember(JSON.stringify(state)).catch(() => undefined);
    }
    this.sending = false;
  }
}
