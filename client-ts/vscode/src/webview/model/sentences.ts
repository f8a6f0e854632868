/**
 * What the page tells its user in words: alerts that stay until they are read, and what is read aloud.
 *
 * Owns their number, that none stands twice, and that each stands in the tab in which it came to be. Knows nothing of what
 * they are about.
 */
import { signal } from "@preact/signals";
import { saidOf } from "../messages";

/** A sentence that stays until it is read. */
export interface Alert {
  readonly id: number;
  readonly text: string;
  /** The tab that it belongs to; without one it stands over all. */
  readonly tabId?: string;
}

/** Most sentences of a tab at a time; the oldest goes. */
const MOST_ALERTS = 4;

export class Sentences {
  readonly alerts = signal<readonly Alert[]>([]);
  /** The last thing worth saying aloud to a screen reader. */
  readonly spoken = signal("");
  private alertId = 0;

  /** `front`: the tab in front. */
  constructor(private readonly front: () => string | undefined) {}

  /** Says it in the tab in front. */
  alert(error: unknown): void {
    this.add(error, this.front());
  }

  /** Says what concerns every tab. */
  alertEverywhere(error: unknown): void {
    this.add(error, undefined);
  }

  /** The alerts that are read while this tab is in front. */
  alertsOver(tabId: string | undefined): readonly Alert[] {
    return this.alerts.value.filter((alert) => alert.tabId === undefined || alert.tabId === tabId);
  }

  /** Whether a tab has something to say. */
  hasAlert(tabId: string): boolean {
    return this.alerts.value.some((alert) => alert.tabId === tabId);
  }

  dismiss(id: number): void {
    this.alerts.value = this.alerts.value.filter((alert) => alert.id !== id);
  }

  /** A tab is gone, and what it had to say. */
  forget(tabId: string): void {
    if (this.hasAlert(tabId)) this.alerts.value = this.alerts.value.filter((alert) => alert.tabId !== tabId);
  }

  say(text: string): void {
    this.spoken.value = text;
  }

  /** Does it; what it throws becomes an alert of the tab in which it began. */
  async attempt(work: () => Promise<void>): Promise<void> {
    const tabId = this.front();
    try {
      await work();
    } catch (error) {
      this.add(error, tabId);
    }
  }

  private add(error: unknown, tabId: string | undefined): void {
    const text = saidOf(error);
    const all = this.alerts.value;
    const mine = all.filter((alert) => alert.tabId === tabId);
    if (mine.some((alert) => alert.text === text)) return;
    const tooMany = mine.length < MOST_ALERTS ? undefined : mine[0];
    const alert = { id: (this.alertId += 1), text, ...(tabId === undefined ? {} : { tabId }) };
    this.alerts.value = [...all.filter((one) => one !== tooMany), alert];
  }
}

/** What an error says, in the words that it came in: whoever looks for something in it reads these. */
export function sentenceOf(error: unknown): string {
  return typeof error === "string" ? error : error instanceof Error ? error.message : String(error);
}
