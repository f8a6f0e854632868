/**
 * One session in the strip: its view, its queue, and how its connection stands, as signals.
 *
 * Owns the link between the SDK's session and what is drawn. Reduces nothing: blocks come from the server.
 */
import {
  type BlockOf,
  type BreadboardClient,
  type BreadboardError,
  type Lane,
  type QueueItem,
  type Resume,
  type ServerNotifications,
  Session,
} from "@breadboard-ls/sdk";
import { type ReadonlySignal, signal } from "@preact/signals";

export type Connection = ServerNotifications["bb/connection"];

/** The queue of a session. */
export interface Queue {
  readonly items: readonly QueueItem[];
  readonly paused: boolean;
}

/** Events are missing; said until they are back or the user has read it. */
export interface Gap {
  readonly resume: Resume | undefined;
  /** What a rebuild came to. */
  readonly outcome?: string;
}

export class OpenSession {
  readonly session: Session;
  private readonly tick = signal(0);
  /** Counts the changes of the view; whoever reads blocks reads it first. */
  readonly version: ReadonlySignal<number> = this.tick;
  readonly attached = signal(false);
  readonly failure = signal<string | undefined>(undefined);
  readonly connection = signal<Connection | undefined>(undefined);
  readonly gap = signal<Gap | undefined>(undefined);
  readonly queue = signal<Queue>({ items: [], paused: false });
  private readonly subscriptions: { dispose(): void }[];

  constructor(
    private readonly client: BreadboardClient,
    readonly sessionId: string,
  ) {
    this.session = new Session(client, sessionId);
    const { session } = this;
    this.subscriptions = [
      session.view.onDidChange(() => (this.tick.value += 1)),
      session.onDidResume((resume) => this.heardResume(resume)),
      session.onDidFail((error) => (this.failure.value = error.message)),
      client.onNotification("bb/connection", (told) => this.heardConnection(told)),
    ];
  }

  /** Blocks of a lane; drawn anew after each change. */
  blocks(lane: Lane): ReturnType<Session["view"]["blocks"]> {
    void this.tick.value;
    return this.session.view.blocks(lane);
  }

  hasMore(lane: Lane): boolean {
    void this.tick.value;
    return this.session.view.hasMore(lane);
  }

  /** Asks that wait, oldest first: the order never changes under a hand. */
  pending(): readonly BlockOf<"permission">[] {
    return this.blocks("chat").filter(
      (block): block is BlockOf<"permission"> => block.kind === "permission" && block.status === "pending",
    );
  }

  /** Attaches it, or attaches it again; the view comes as a snapshot. */
  async attach(): Promise<void> {
    try {
      await this.session.refresh();
      this.failure.value = undefined;
      this.attached.value = true;
    } catch (error) {
      this.failure.value = (error as BreadboardError).message;
      throw error;
    }
  }

  async readQueue(): Promise<void> {
    this.queue.value = await this.client.request("bb/queue/list", { sessionId: this.sessionId });
  }

  async rebuild(): Promise<void> {
    const { resume } = await this.client.request("bb/rebuild", { sessionId: this.sessionId });
    this.gap.value =
      resume.verdict === "lost"
        ? { resume, outcome: `Still missing: ${sayResume(resume)}` }
        : { resume, outcome: `Rebuilt: ${sayResume(resume)}` };
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.session.dispose();
  }

  private heardResume(resume: Resume): void {
    if (resume.verdict === "lost" || resume.verdict === "resynced") this.gap.value = { resume };
  }

  private heardConnection(told: Connection): void {
    if (told.sessionId !== this.sessionId) return;
    this.connection.value = told;
    if (told.gapDetected === true) this.gap.value = { resume: told.resume ?? undefined };
  }
}

/** A verdict in a sentence. */
export function sayResume(resume: Resume): string {
  const range =
    resume.from == null
      ? ""
      : resume.to == null || resume.to === resume.from
        ? ` (event ${resume.from})`
        : ` (events ${resume.from} to ${resume.to})`;
  const reason = resume.reason ? ` ${resume.reason}` : "";
  switch (resume.verdict) {
    case "complete":
      return `nothing is missing.${reason}`;
    case "replayed":
      return `${resume.events ?? "All"} missed events were read again.${reason}`;
    case "resynced":
      return `the state was read anew; single events in between are not here${range}.${reason}`;
    case "lost":
      return `events are lost${range}.${reason}`;
  }
}
