/**
 * How things stand: the editor, the engine, the connection and the sessions, as they were told last.
 *
 * Owns these signals and the questions that they answer. Asks nobody and changes nothing.
 */
import type { EngineStatus, ServerNotifications } from "@breadboard-ls/sdk";
import { signal } from "@preact/signals";
import type { HostStatus } from "../../shared/page_methods";
import type { Connection } from "./open_session";

/** Why a session takes no prompts here. */
export type NoPrompts = "other_engine" | "other_window";

export type State = ServerNotifications["bb/state"];

export class Standing {
  readonly host = signal<HostStatus>({
    server: "starting",
    generation: 0,
    trusted: true,
    roots: [],
    methods: [],
    agents: [],
    sendWithModifier: false,
  });
  readonly engine = signal<EngineStatus | undefined>(undefined);
  readonly connection = signal<Connection | undefined>(undefined);
  readonly state = signal<State>({ sessions: [] });
  /** Whether a server has answered. */
  readonly booted = signal(false);

  /** Whether the server has the method. */
  offers(method: string): boolean {
    return this.host.value.methods.includes(method);
  }

  summary(sessionId: string | undefined): State["sessions"][number] | undefined {
    return this.state.value.sessions.find((session) => session.sessionId === sessionId);
  }

  /** Why a session takes no prompts, as far as its summary says it. */
  noPrompts(sessionId: string | undefined): NoPrompts | undefined {
    const summary = this.summary(sessionId);
    if (summary?.heldBy === "other_window") return "other_window";
    // Agents are there beside whatever engine the settings name.
    const engine = (summary as { readonly engine?: unknown } | undefined)?.engine;
    const inUse = this.engine.value?.kind;
    if (typeof engine !== "string" || engine === "acp" || inUse === undefined) return undefined;
    return engine === inUse ? undefined : "other_engine";
  }

  /** Whether a turn of the session is under way, also while it waits for an answer. */
  runs(sessionId: string | undefined): boolean {
    const status = this.summary(sessionId)?.status;
    const { activeSessionId, running } = this.state.value;
    return status === "running" || status === "waiting" || (activeSessionId === sessionId && running === true);
  }
}
