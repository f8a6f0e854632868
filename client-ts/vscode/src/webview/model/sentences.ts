/**
 * What the page tells its user in words: alerts that stay until they are read, and what is read aloud.
 *
 * Owns their number and that none stands twice. Knows nothing of what they are about.
 */
import { signal } from "@preact/signals";

/** A sentence that stays until it is read. */
export interface Alert {
  readonly id: number;
  readonly text: string;
}

/** Most sentences at a time; the oldest goes. */
const MOST_ALERTS = 4;

export class Sentences {
  readonly alerts = signal<readonly Alert[]>([]);
  /** The last thing worth saying aloud to a screen reader. */
  readonly spoken = signal("");
  private alertId = 0;

  alert(error: unknown): void {
    const text = sentenceOf(error);
    if (this.alerts.value.some((alert) => alert.text === text)) return;
    this.alerts.value = [...this.alerts.value, { id: (this.alertId += 1), text }].slice(-MOST_ALERTS);
  }

  dismiss(id: number): void {
    this.alerts.value = this.alerts.value.filter((alert) => alert.id !== id);
  }

  say(text: string): void {
    this.spoken.value = text;
  }

  /** Does it; what it throws becomes an alert. */
  async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.alert(error);
    }
  }
}

/** What an error says. */
export function sentenceOf(error: unknown): string {
  return typeof error === "string" ? error : error instanceof Error ? error.message : String(error);
}
