/**
 * What would go with the next prompt, and what the user took away of it.
 *
 * Owns that list, and when it is asked for anew: never while it is not seen, and never twice at once. The server decides what
 * goes; here it is only shown.
 */
import type { BlockOf, BreadboardClient, ContextChip } from "@breadboard-ls/sdk";
import { signal } from "@preact/signals";
import type { HostLink } from "../host_link";
import type { Sentences } from "./sentences";

/** How long nothing is typed before it is asked what would go. */
const QUIET_MS = 300;

export interface NextContextPorts {
  readonly client: BreadboardClient;
  readonly link: HostLink;
  readonly sentences: Sentences;
  /** Whether the server can be asked. */
  can(): boolean;
  sessionId(): string | undefined;
  text(): string;
}

export class NextContext {
  readonly chips = signal<readonly ContextChip[]>([]);
  /** What is left out and why. */
  readonly notes = signal<readonly string[]>([]);
  /** Ids of what the user took away; until the prompt is sent. */
  readonly taken = signal<ReadonlySet<string>>(new Set());
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asked = 0;

  constructor(private readonly ports: NextContextPorts) {}

  /** Something may be another now: looked at a moment later. */
  changed(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.read(), QUIET_MS);
  }

  async read(): Promise<void> {
    clearTimeout(this.timer);
    if (!this.ports.can()) return this.show([], []);
    const turn = (this.asked += 1);
    const sessionId = this.ports.sessionId();
    try {
      const { items, notes } = await this.ports.client.request("bb/context/preview", {
        text: this.ports.text(),
        ...(sessionId === undefined ? {} : { sessionId }),
      });
      if (turn === this.asked) this.show(items, notes);
    } catch {
      // What cannot be shown is not promised; the prompt itself says what is wrong.
      if (turn === this.asked) this.show([], []);
    }
  }

  takeAway(id: string): void {
    this.taken.value = new Set([...this.taken.value, id]);
  }

  bringBack(): void {
    this.taken.value = new Set();
  }

  /** Opens one thing that went with a prompt, as it was sent. */
  async open({ contextSeq: seq }: BlockOf<"user">, at: number): Promise<void> {
    const sessionId = this.ports.sessionId();
    if (sessionId === undefined || seq === undefined || seq === null) return;
    await this.ports.sentences.attempt(async () => {
      const { event } = await this.ports.client.request("bb/eventBody", { sessionId, seq });
      const item = ((event.payload as { items?: { label: string; text?: string }[] }).items ?? [])[at];
      if (item === undefined) return;
      await this.ports.link.editor("editor.openText", { title: item.label, text: item.text ?? item.label });
    });
  }

  /** For the prompt that is sent now; the next one has all of it again. */
  choice(): { exclude: string[] } | undefined {
    return this.taken.value.size === 0 ? undefined : { exclude: [...this.taken.value] };
  }

  private show(chips: readonly ContextChip[], notes: readonly string[]): void {
    this.chips.value = chips;
    this.notes.value = notes;
  }
}
