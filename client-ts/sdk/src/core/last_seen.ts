/**
 * What a client has of each session, to be given to `bb/init` after a restart of either side.
 *
 * Owns the numbers and the epochs under which they count. Never asks the server for anything.
 */

import type { BreadboardClient } from "./client.js";
import type { Disposable } from "./connection.js";
import type { LastSeen } from "./generated/types.js";

/** The last `seq` of each session, and its epoch. */
export class LastSeenTracker {
  #sessions = new Map<string, { epoch: string; seq: number }>();

  /** Begins with what an earlier run kept. */
  constructor(saved?: LastSeen) {
    for (const [sessionId, seq] of Object.entries(saved?.sessions ?? {}))
      this.#sessions.set(sessionId, { epoch: saved?.epochs?.[sessionId] ?? saved?.epoch ?? "", seq });
  }

  /** Follows `bb/events` and `bb/view` of a client, until given back. */
  follow(client: BreadboardClient): Disposable {
    const told = (params: { epoch: string; sessionId: string; toSeq: number }) =>
      this.note(params.epoch, params.sessionId, params.toSeq);
    const registrations = [client.onNotification("bb/events", told), client.onNotification("bb/view", told)];
    return { dispose: () => registrations.forEach((registration) => registration.dispose()) };
  }

  /** The client has everything of the session up to `seq`. Another epoch begins its numbers anew. */
  note(epoch: string, sessionId: string, seq: number): void {
    const known = this.#sessions.get(sessionId);
    this.#sessions.set(sessionId, { epoch, seq: known?.epoch === epoch ? Math.max(seq, known.seq) : seq });
  }

  /** The session is gone. */
  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  /** `lastSeen` of `bb/init`; `null`, which means absent, before anything was seen. */
  value(): LastSeen | null {
    const all = [...this.#sessions];
    const [first] = all;
    if (!first) return null;
    const { epoch } = first[1];
    const others = all.filter(([, one]) => one.epoch !== epoch).map(([id, one]) => [id, one.epoch] as const);
    return {
      epoch,
      ...(others.length === 0 ? {} : { epochs: Object.fromEntries(others) }),
      sessions: Object.fromEntries(all.map(([id, { seq }]) => [id, seq])),
    };
  }
}
