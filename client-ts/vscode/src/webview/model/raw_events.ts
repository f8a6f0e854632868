/**
 * The raw events that the debug pane shows, newest last.
 *
 * Owns their list and its bound; older ones are read from the journal again.
 */
import type { BreadboardClient, Requests, ServerNotifications } from "@breadboard-ls/sdk";
import { signal } from "@preact/signals";
import type { OpenTabs } from "./open_tabs";

export type Event = Requests["bb/events/read"]["result"]["events"][number];

/** Most raw events that are held. */
export const MOST_RAW = 500;

export class RawEvents {
  readonly all = signal<readonly Event[]>([]);

  constructor(
    private readonly client: BreadboardClient,
    private readonly tabs: OpenTabs,
  ) {}

  clear(): void {
    this.all.value = [];
  }

  heard(told: ServerNotifications["bb/events"]): void {
    if (told.sessionId !== this.tabs.activeId.value) return;
    const last = this.all.value.at(-1)?.seq ?? 0;
    this.all.value = [...this.all.value, ...told.events.filter(({ seq }) => seq > last)].slice(-MOST_RAW);
  }

  /** The newest ones, or those before the oldest that is shown. */
  async read(older = false): Promise<void> {
    const sessionId = this.tabs.activeId.value;
    const seq = this.tabs.active.value?.session.view.seq;
    if (sessionId === undefined || seq === undefined) return;
    const to = older ? (this.all.value[0]?.seq ?? seq + 1) - 1 : seq;
    if (to < 1) return;
    const fromSeq = Math.max(1, to - 99);
    const { events } = await this.client.request("bb/events/read", { sessionId, fromSeq, limit: to - fromSeq + 1 });
    if (this.tabs.activeId.value !== sessionId) return;
    const bySeq = new Map([...events, ...this.all.value].map((event) => [event.seq, event]));
    const all = [...bySeq.values()].sort((a, b) => a.seq - b.seq);
    this.all.value = older ? all.slice(0, MOST_RAW) : all.slice(-MOST_RAW);
  }
}
