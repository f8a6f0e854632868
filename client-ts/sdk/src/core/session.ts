/**
 * One attached session: its view, kept up to date.
 *
 * Owns the order between the answer of `bb/selectSession` and the notifications that overtake it, and selects again
 * when
 * the store says that changes are missing. Never reads events.
 */

import type { BreadboardClient } from "./client.js";
import type { Disposable } from "./connection.js";
import { Emitter } from "./emitter.js";
import { BreadboardError } from "./errors.js";
import type { Lane, Resume, ViewParams } from "./generated/types.js";
import type { LastSeenTracker } from "./last_seen.js";
import { ViewStore } from "./view_store.js";

/**
 * Notifications kept while a selection is under way. A server sends one every few milliseconds at most, so this is
 * seconds. When full the oldest goes, and the session is selected again if the answer does not cover it.
 */
const MAX_BUFFERED = 1024;

/** Selections in a row that may be overtaken by more than the buffer holds, before this is called an error. */
const MAX_ATTEMPTS = 3;

/** How a session is opened. */
export interface SessionOptions {
  /** A store to fill, for instance that of a session of an earlier connection. Default: a new one. */
  readonly view?: ViewStore;
  /** Told how far the view is. */
  readonly lastSeen?: LastSeenTracker;
}

/** Attaches a session; resolves with its view in place. */
export async function openSession(
  client: BreadboardClient,
  sessionId: string,
  options: SessionOptions = {},
): Promise<Session> {
  const session = new Session(client, sessionId, options);
  try {
    await session.refresh();
  } catch (cause) {
    session.dispose();
    throw cause;
  }
  return session;
}

/** One attached session. Made by `openSession`. */
export class Session implements Disposable {
  /** Its blocks. */
  readonly view: ViewStore;
  readonly #client: BreadboardClient;
  readonly #lastSeen: LastSeenTracker | undefined;
  readonly #registrations: Disposable[];
  readonly #resumed = new Emitter<Resume>();
  readonly #failed = new Emitter<BreadboardError>();
  #resume: Resume | undefined;
  /** Notifications that came while a selection is under way. */
  #overtaking: ViewParams[] | undefined;
  #selecting: Promise<void> | undefined;
  #disposed = false;

  /** Hears the session; `refresh` attaches it. */
  constructor(
    client: BreadboardClient,
    readonly sessionId: string,
    options: SessionOptions = {},
  ) {
    this.#client = client;
    this.view = options.view ?? new ViewStore();
    this.#lastSeen = options.lastSeen;
    this.#registrations = [
      client.onNotification("bb/view", (params) => {
        if (params.sessionId === sessionId) this.#heard(params);
      }),
      client.onNotification("bb/connection", (params) => {
        if (params.sessionId === sessionId && params.resume) this.#surface(params.resume);
      }),
    ];
  }

  /** What the history is worth, by the newest word of the server. `lost` is something to tell the user. */
  get resume(): Resume | undefined {
    return this.#resume;
  }

  /** Calls `listener` with each new verdict. */
  onDidResume(listener: (resume: Resume) => void): Disposable {
    return this.#resumed.on(listener);
  }

  /** Calls `listener` when the session had to be selected again, and that failed. The view is out of date then. */
  onDidFail(listener: (error: BreadboardError) => void): Disposable {
    return this.#failed.on(listener);
  }

  /** Selects the session (again): after a restart of the server, or to attach it. Calls at the same time are one. */
  refresh(): Promise<void> {
    this.#selecting ??= this.#select().finally(() => {
      this.#selecting = undefined;
      this.#overtaking = undefined;
    });
    return this.#selecting;
  }

  /** Reads one older page of a lane into the view. `false` when there is none, or the view was replaced meanwhile. */
  async loadOlder(lane: Lane, limit?: number): Promise<boolean> {
    const before = this.view.oldest(lane);
    if (before === undefined || !this.view.hasMore(lane)) return false;
    const params = { sessionId: this.sessionId, lane, before, ...(limit === undefined ? {} : { limit }) };
    const page = await this.#client.request("bb/view/page", params);
    if (this.#disposed || this.view.oldest(lane) !== before) return false;
    this.view.addOlder(lane, page);
    return true;
  }

  /** Lets go of the listeners. The session itself lives on at the server. */
  dispose(): void {
    this.#disposed = true;
    for (const registration of this.#registrations) registration.dispose();
    this.#resumed.clear();
    this.#failed.clear();
  }

  async #select(): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      this.#overtaking = [];
      const answer = await this.#client.request("bb/selectSession", { sessionId: this.sessionId });
      if (this.#disposed) return;
      const overtaking = this.#overtaking;
      this.#overtaking = undefined;
      this.view.reset(answer.view);
      // What the buffer dropped shows as a gap, unless the answer covers it.
      if (overtaking.some((params) => this.view.apply(params) === "gap")) continue;
      this.#lastSeen?.note(this.view.epoch, this.sessionId, this.view.seq);
      this.#surface(answer.resume);
      return;
    }
    throw new BreadboardError(
      "overloaded",
      `Session ${this.sessionId} changes faster than this client reads; try again when it is quieter.`,
    );
  }

  #heard(params: ViewParams): void {
    if (this.#overtaking) {
      this.#overtaking.push(params);
      if (this.#overtaking.length > MAX_BUFFERED) this.#overtaking.shift();
      return;
    }
    const outcome = this.view.apply(params);
    if (outcome === "applied") this.#lastSeen?.note(params.epoch, this.sessionId, this.view.seq);
    if (outcome === "gap" || outcome === "epoch") {
      this.refresh().catch((cause: unknown) => this.#failed.emit(BreadboardError.from(cause)));
    }
  }

  #surface(resume: Resume): void {
    this.#resume = resume;
    this.#resumed.emit(resume);
  }
}
