/**
 * What the page wants to find again after the window is reloaded: written to a file of the extension's own at once.
 *
 * The editor keeps a page's state too, but writes it only now and then: a draft that was typed in the last seconds
 * before a reload would be lost. Owns the file; never looks into what it keeps.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { l10n } from "vscode";

/** Largest state that is kept: drafts are text that somebody typed or pasted. */
export const MOST_REMEMBERED = 4 * 1024 * 1024;

export class Remembered {
  private next: string | undefined;
  private writing: Promise<void> | undefined;

  /** Keeps it in `file`, an absolute path. */
  constructor(
    private readonly file: string,
    private readonly trouble: (sentence: string) => void,
  ) {}

  /** What was kept last; `undefined` when there is nothing. */
  async read(): Promise<string | undefined> {
    if (this.next !== undefined) return this.next;
    await this.writing;
    return readFile(this.file, "utf8").catch(() => undefined);
  }

  /** Keeps it. While one is written only the newest waits, so a fast typist costs one write at a time. */
  write(state: string): Promise<void> {
    if (state.length > MOST_REMEMBERED) {
      this.trouble(
        l10n.t("The drafts are larger than 4 MiB and are not kept over a reload; attach files instead of pasting them."),
      );
      return Promise.resolve();
    }
    this.next = state;
    this.writing ??= this.writeAll().finally(() => (this.writing = undefined));
    return this.writing;
  }

  private async writeAll(): Promise<void> {
    try {
      await mkdir(path.dirname(this.file), { recursive: true });
      while (this.next !== undefined) {
        const state = this.next;
        this.next = undefined;
        // Whole or not at all: a window may be closed at any moment.
        await writeFile(`${this.file}.new`, state, { mode: 0o600 });
        await rename(`${this.file}.new`, this.file);
      }
    } catch (error) {
      this.next = undefined;
      this.trouble(l10n.t("The drafts could not be kept: {0}", error instanceof Error ? error.message : String(error)));
    }
  }
}
