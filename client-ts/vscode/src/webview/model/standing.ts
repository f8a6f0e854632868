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

/** Most sessions whose engine is remembered: more than anybody has open. */
const MOST_ENGINES = 200;

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
  /** Kind of the engine of each session of which this page, or an earlier one, saw it at work. It never changes. */
  readonly engines = signal<Readonly<Record<string, string>>>({});
  /** The start of a server of which somebody has read what does not work with it. */
  readonly dismissed = signal<number | undefined>(undefined);
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
    const engine = summary?.engine ?? this.engines.value[sessionId ?? ""];
    const inUse = this.engine.value?.kind;
    if (engine === undefined || summary?.agent != null || inUse === undefined) return undefined;
    return engine === inUse ? undefined : "other_engine";
  }

  /** The engine in use took a prompt of the session, or made it. Agents, and other windows, have engines of their own. */
  sawEngine(sessionId: string): void {
    const summary = this.summary(sessionId);
    const kind = this.engine.value?.kind;
    if (kind === undefined || summary?.agent != null || summary?.heldBy != null) return;
    if (this.engines.value[sessionId] === kind) return;
    const { [sessionId]: _before, ...rest } = this.engines.value;
    // The newest are last; the oldest go.
    const kept = Object.entries(rest).slice(1 - MOST_ENGINES);
    this.engines.value = { ...Object.fromEntries(kept), [sessionId]: kind };
  }

  /** Whether a turn of the session is under way, also while it waits for an answer. */
  runs(sessionId: string | undefined): boolean {
    const status = this.summary(sessionId)?.status;
    const { activeSessionId, running } = this.state.value;
    return status === "running" || status === "waiting" || (activeSessionId === sessionId && running === true);
  }
}
