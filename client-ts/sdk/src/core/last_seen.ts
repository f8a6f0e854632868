/**
 * What a client has of each session, to be given to `bb/init` after a restart of either side.
 *
 * Owns the numbers and the epoch under which they count. Never asks the server for anything.
 */

import type { BreadboardClient } from "./client.js";
import type { Disposable } from "./connection.js";
import type { LastSeen } from "./generated/types.js";

/** The last `seq` of each session, under one epoch. */
export class LastSeenTracker {
  #epoch: string | undefined;
  #sessions = new Map<string, number>();

  /** Begins with what an earlier run kept. */
  constructor(saved?: LastSeen) {
    if (!saved) return;
    this.#epoch = saved.epoch;
    this.#sessions = new Map(Object.entries(saved.sessions ?? {}));
  }

  /** Follows `bb/events` and `bb/view` of a client, until given back. */
  follow(client: BreadboardClient): Disposable {
    const told = (params: { epoch: string; sessionId: string; toSeq: number }) =>
      this.note(params.epoch, params.sessionId, params.toSeq);
    const registrations = [client.onNotification("bb/events", told), client.onNotification("bb/view", told)];
    return { dispose: () => registrations.forEach((registration) => registration.dispose()) };
  }

  /** The client has everything of the session up to `seq`. Another epoch begins all numbers anew. */
  note(epoch: string, sessionId: string, seq: number): void {
    if (epoch !== this.#epoch) {
      this.#epoch = epoch;
      this.#sessions.clear();
    }
    this.#sessions.set(sessionId, Math.max(seq, this.#sessions.get(sessionId) ?? 0));
  }

  /** The session is gone. */
  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  /** `lastSeen` of `bb/init`; `null`, which means absent, before anything was seen. */
  value(): LastSeen | null {
    if (this.#epoch === undefined) return null;
    return { epoch: this.#epoch, sessions: Object.fromEntries(this.#sessions) };
  }
}
