/**
 * One session in the strip: its view, its queue, its agent, and how its connection stands, as signals.
 *
 * Owns the link between the SDK's session and what is drawn. Reduces nothing: blocks come from the server.
 */
import {
  type BlockOf,
  type BreadboardClient,
  type BreadboardError,
  type Lane,
  type QueueItem,
  type Requests,
  type Resume,
  type ServerNotifications,
  Session,
} from "@breadboard-ls/sdk";
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { said, t } from "../messages";

export type Connection = ServerNotifications["bb/connection"];
/** What the agent of a session is and offers; empty where no agent holds it. */
export type SessionInfo = Requests["bb/session/info"]["result"];

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
  /** The server said that the session belongs to another engine than the one in use. */
  readonly elsewhere = signal(false);
  readonly info = signal<SessionInfo>({});
  /** Whether the agent of the session ended by itself, and is not there again. */
  readonly exited = computed(() => this.info.value.agent?.status === "exited");
  private readonly subscriptions: { dispose(): void }[];
  private reading: Promise<void> | undefined;
  private readAgain = false;
  /** The waiting prompts that the chat had when the queue was read last. */
  private begun = "";

  constructor(
    private readonly client: BreadboardClient,
    readonly sessionId: string,
    /** Whether the server tells of agents. */
    private readonly tellsInfo: boolean,
  ) {
    this.session = new Session(client, sessionId);
    const { session } = this;
    this.subscriptions = [
      session.view.onDidChange(({ lanes }) => {
        this.tick.value += 1;
        if (lanes.chat !== undefined) this.takeFromQueue();
        // An agent that changes its mode, its commands or its counts says so in this lane.
        if (lanes.run !== undefined && this.info.value.agent != null) void this.readInfo();
      }),
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
      (block): block is BlockOf<"permission"> => block.kind === "permission" && (block.status === "pending" || block.status === "saving"),
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

  /**
   * Reads what its agent is and offers; asked for while it is read, it is read once more. It is an extra: what cannot
   * be read stays as it was.
   */
  readInfo(): Promise<void> {
    if (!this.tellsInfo) return Promise.resolve();
    this.readAgain = this.reading !== undefined;
    return (this.reading ??= this.readInfos().finally(() => (this.reading = undefined)));
  }

  private async readInfos(): Promise<void> {
    do {
      this.readAgain = false;
      try {
        this.info.value = await this.client.request("bb/session/info", { sessionId: this.sessionId });
      } catch {
        return;
      }
    } while (this.readAgain);
  }

  async rebuild(): Promise<void> {
    const { resume } = await this.client.request("bb/rebuild", { sessionId: this.sessionId });
    this.gap.value =
      resume.verdict === "lost"
        ? { resume, outcome: t("Still missing: {0}", sayResume(resume)) }
        : { resume, outcome: t("Rebuilt: {0}", sayResume(resume)) };
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.session.dispose();
  }

  /** A prompt that waited and is in the chat waits no more: the queue has no news of its own. */
  private takeFromQueue(): void {
    const waiting = new Set(this.queue.value.items.map(({ messageId }) => messageId));
    if (waiting.size === 0) return;
    const begun = this.session.view
      .blocks("chat")
      .filter((block) => block.kind === "user" && waiting.has(block.messageId ?? ""))
      .map(({ id }) => id)
      .join(" ");
    if (begun === "" || begun === this.begun) return;
    this.begun = begun;
    this.readQueue().catch(() => undefined);
  }

  private heardResume(resume: Resume): void {
    this.elsewhere.value = resume.verdict === "lost" && isElsewhere(resume.reason);
    if (this.elsewhere.value) this.gap.value = undefined;
    else if (resume.verdict === "lost") this.gap.value = { resume };
  }

  private heardConnection(told: Connection): void {
    if (told.sessionId !== this.sessionId) return;
    this.connection.value = told;
    // Its agent may have ended, or be there again.
    void this.readInfo();
    if (told.gapDetected === true) this.gap.value = { resume: told.resume ?? undefined };
  }
}

/** Whether a sentence of the server says that a session belongs to another engine. */
export function isElsewhere(sentence: string | null | undefined): boolean {
  return /\banother engine\b/.test(sentence ?? "");
}

/** A verdict in a sentence. */
export function sayResume(resume: Resume): string {
  const range =
    resume.from == null
      ? ""
      : resume.to == null || resume.to === resume.from
        ? t(" (event {0})", resume.from)
        : t(" (events {0} to {1})", resume.from, resume.to);
  const reason = resume.reason ? ` ${said(resume.reason)}` : "";
  switch (resume.verdict) {
    case "complete":
      return t("nothing is missing.");
    case "replayed":
      return resume.events == null ? t("All missed events were read again.{0}", reason) : t("{0} missed events were read again.{1}", resume.events, reason);
    case "resynced":
      return t("nothing is missing any more; all of it was read again{0}.{1}", range, reason);
    case "lost":
      return t("events are lost{0}.{1}", range, reason);
    default:
      return `${resume.verdict}.${reason}`;
  }
}
