/**
 * The settings, as the server wants them.
 *
 * Owns which setting may come from where: what chooses a program, an engine, an agent, a model or a folder is read from
 * the user's own settings only, whatever a workspace says. Holds no token: those are in `credentials`.
 */
import type { ConfigurationTarget, WorkspaceConfiguration } from "vscode";
import type { Notify } from "./attention";

/** The engine setting, as far as the extension itself looks at it. */
export interface EngineSetting {
  readonly kind: string;
  readonly url?: string;
  readonly [more: string]: unknown;
}

/** The model setting. */
export interface ModelSetting {
  readonly name: string;
  readonly provider?: string;
  readonly url?: string;
  /** How it is asked, and what is known of it. */
  readonly [more: string]: unknown;
}

/** What only the user may set. */
export interface UserSettings {
  readonly serverPath: string;
  readonly engine: EngineSetting | undefined;
  readonly agents: Record<string, unknown> | undefined;
  /** Servers of tools by name. */
  readonly mcpServers: Record<string, unknown> | undefined;
  readonly model: ModelSetting | undefined;
  /** The embedding model of its searches. */
  readonly embeddings: Record<string, unknown> | undefined;
  /** The model that reads what they find. */
  readonly reranker: Record<string, unknown> | undefined;
  /** How far a turn of the embedded engine goes before it asks. */
  readonly budget: Record<string, unknown> | undefined;
  readonly stateDir: string | undefined;
  /** What is done without asking. */
  readonly approvals: Record<string, unknown> | undefined;
  /** Where commands run, and within which bounds. */
  readonly commands: Record<string, unknown> | undefined;
}

/** The part of `WorkspaceConfiguration` that is needed. */
export type Configuration = Pick<WorkspaceConfiguration, "inspect" | "get">;

export type { ConfigurationTarget };

/** Reads what only the user may set: the value of the user or the machine, never the one of a workspace or folder. */
export function readUserSettings(configuration: Configuration): UserSettings {
  const own = (key: string): unknown => {
    const all = configuration.inspect(key);
    return all?.globalValue ?? all?.defaultValue;
  };
  const serverPath = own("server.path");
  const stateDir = own("stateDir");
  const engine = object(own("engine"));
  const model = object(own("model"));
  return {
    serverPath: typeof serverPath === "string" ? serverPath : "",
    engine: engine !== undefined && typeof engine["kind"] === "string" ? (engine as EngineSetting) : undefined,
    agents: object(own("agents")),
    mcpServers: filled(own("mcpServers")),
    model: model !== undefined && typeof model["name"] === "string" ? (model as unknown as ModelSetting) : undefined,
    embeddings: filled(own("embeddings")),
    reranker: filled(own("reranker")),
    budget: filled(own("budget")),
    stateDir: typeof stateDir === "string" && stateDir !== "" ? stateDir : undefined,
    approvals: filled(own("approvals")),
    commands: filled(own("commands")),
  };
}

/** The same without what a running server is told of a change: that needs no restart. */
export function needingRestart({ approvals, commands, ...rest }: UserSettings): unknown {
  const { mode: _, ...standing } = approvals ?? {};
  const { runner: __, ...bounds } = commands ?? {};
  return { ...rest, standing, bounds };
}

/** What the user wants to be told while the view is hidden; a repository cannot silence an ask. */
export function readNotify(configuration: Configuration): Notify {
  const own = (key: string, otherwise: boolean): boolean => {
    const { globalValue, defaultValue } = configuration.inspect(`notify.${key}`) ?? {};
    const chosen = globalValue ?? defaultValue;
    return typeof chosen === "boolean" ? chosen : otherwise;
  };
  return { asks: own("asks", true), failures: own("failures", true), ends: own("ends", false) };
}

/** What `workspace/configuration` is answered with: harmless keys only. */
export function readHarmless(configuration: Configuration): Record<string, unknown> {
  const maxLatencyMs = configuration.get("delivery.maxLatencyMs");
  return typeof maxLatencyMs === "number" ? { delivery: { maxLatencyMs } } : {};
}

/** `initialize.initializationOptions`. */
export function initializationOptions(
  settings: UserSettings,
  harmless: Record<string, unknown>,
  trusted: boolean,
): Record<string, unknown> {
  const { engine, agents, mcpServers, model, embeddings, reranker, budget, stateDir, approvals, commands } = settings;
  // The embedded engine is the server's own default: saying it would stand before `BREADBOARD_API_URL` for no reason.
  const chosen = engine === undefined || isPlainEmbedded(engine) ? undefined : engine;
  return {
    ...(chosen === undefined ? {} : { engine: chosen }),
    ...(agents === undefined || Object.keys(agents).length === 0 ? {} : { agents }),
    ...(mcpServers === undefined ? {} : { mcpServers }),
    ...(model === undefined ? {} : { model }),
    ...(embeddings === undefined ? {} : { embeddings }),
    ...(reranker === undefined ? {} : { reranker }),
    ...(budget === undefined ? {} : { budget }),
    ...(stateDir === undefined ? {} : { stateDir }),
    ...(approvals === undefined ? {} : { approvals }),
    ...(commands === undefined ? {} : { commands }),
    ...harmless,
    workspaceTrusted: trusted,
  };
}

function isPlainEmbedded(engine: EngineSetting): boolean {
  return engine.kind === "embedded" && Object.keys(engine).length === 1;
}

function filled(value: unknown): Record<string, unknown> | undefined {
  const given = object(value);
  return given === undefined || Object.keys(given).length === 0 ? undefined : given;
}

function object(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
