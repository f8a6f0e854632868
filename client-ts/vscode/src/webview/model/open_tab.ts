/**
 * One tab of the strip: a session, or the making of one.
 *
 * Owns what is shown while there is no session yet, and why there is none. Asks nobody: `open_tabs` does.
 */
import { signal } from "@preact/signals";
import type { OpenSession } from "./open_session";
import type { TabFailure } from "./tab_failure";

export class OpenTab {
  /** Its session, once there is one. */
  readonly session = signal<OpenSession | undefined>(undefined);
  /** Why its session could not be made. */
  readonly failure = signal<TabFailure | undefined>(undefined);
  /** Gives the id of its session when it is made, or `undefined` when it was refused or the tab was closed. */
  ready: Promise<string | undefined> = Promise.resolve(undefined);

  constructor(
    /** A UUID v4 of this page's own making. */
    readonly tabId: string,
    /** The agent that it was opened for; without, the engine of the settings. */
    readonly agent?: string,
  ) {}

  get sessionId(): string | undefined {
    return this.session.value?.sessionId;
  }

  /** Under what its draft is kept: of a session over its tabs, before that of the tab. */
  get draftKey(): string {
    return this.sessionId ?? this.tabId;
  }

  /** Gives it its session, or a new hold on it. */
  has(session: OpenSession): void {
    this.session.value?.dispose();
    this.session.value = session;
    this.failure.value = undefined;
    this.ready = Promise.resolve(session.sessionId);
  }

  dispose(): void {
    this.session.value?.dispose();
  }
}
