/**
 * Who answers: what is on this machine, whether it works, and the choice.
 *
 * Owns that each is tried before it is kept, in whatever order somebody goes, and that a key comes from the editor's own dialog,
 * stays here while it is tried, and is kept only with the choice. Knows no VS Code.
 */
import { type Requests, resultFault } from "@breadboard-ls/sdk";
import { placeOf } from "./credentials";
import type { SetupAgent, SetupChosen, SetupFound, SetupLook, SetupProvider, SetupWish } from "../shared/setup";
import type { ModelSetting, UserSettings } from "./settings";
import { l10n } from "vscode";

type Provider = Requests["bb/models/providers"]["result"]["providers"][number];
type Checked = Requests["bb/models/check"]["result"];

export interface SetupPorts {
  ask(method: string, params: unknown): Promise<unknown>;
  settings(): UserSettings;
  /** Runs the server's program beside the server; gives what it printed. */
  run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string>;
  /** Asks for a secret; `undefined`: not given. */
  askKey(title: string, prompt: string): Promise<string | undefined>;
  storedToken(scope: "engine" | "model", place: string): Promise<string | undefined>;
  keepToken(scope: "engine" | "model", token: string, place: string): Promise<void>;
  /** Writes a setting of the user; `undefined` takes it away. */
  update(key: "engine" | "model", value: unknown): Promise<void>;
  /** Gives the running server the model of the settings; `false`: it needs a restart. */
  takeModel(): Promise<boolean>;
  restart(): Promise<void>;
  running(): boolean;
  trusted(): boolean;
  /** The folder that is worked on. */
  folder(): string | undefined;
  /** Remembers that somebody chose, where no setting says so. */
  chose(): Promise<void>;
  /** Something was chosen. */
  changed(): void;
}

const AGENTS_MOST = 40;

export class SetupDesk {
  /** Keys that were typed to be tried, by where they go. */
  private readonly typed = new Map<string, string>();
  private changing = false;

  constructor(private readonly ports: SetupPorts) {}

  /** Whether the settings are being written here, so that nobody else need offer a restart. */
  get isChanging(): boolean {
    return this.changing;
  }

  async look(): Promise<SetupLook> {
    const [agents, providers] = await Promise.all([this.agents(), this.providers()]);
    return { agents, providers, now: inWords(this.ports.settings()) };
  }

  /** Tries it, live. `anew`: the key that is known is another one's, or wrong. */
  async check(wish: SetupWish, anew: boolean): Promise<SetupFound> {
    switch (wish.kind) {
      case "model":
        return this.checkModel(wish, anew);
      case "agent":
        if (!this.ports.trusted())
          return { ok: false, problem: l10n.t("An agent is a program, and this folder is not trusted: trust it to try the agent.") };
        return this.diagnose(["--agent", wish.name, "--trust"], {});
      case "breadboard":
        return this.checkBreadboard(wish.url, anew);
      case "search":
        return { ok: true };
    }
  }

  async choose(wish: SetupWish): Promise<SetupChosen> {
    this.changing = true;
    try {
      await this.write(wish);
      if (await this.ports.takeModel()) return { counts: "now" };
      if (this.ports.running()) return { counts: "later" };
      await this.ports.restart();
      return { counts: "restarted" };
    } finally {
      this.changing = false;
      this.ports.changed();
    }
  }

  private async write(wish: SetupWish): Promise<void> {
    const { ports } = this;
    switch (wish.kind) {
      case "model": {
        const model = modelOf(wish);
        await this.keepTyped("model", this.with({ model }));
        if (!isEmbedded(ports.settings())) await ports.update("engine", undefined);
        await ports.update("model", model);
        return;
      }
      case "agent":
        return ports.update("engine", { kind: "acp", name: wish.name });
      case "breadboard": {
        const engine = { kind: "breadboard", url: wish.url };
        await this.keepTyped("engine", this.with({ engine }));
        return ports.update("engine", engine);
      }
      case "search":
        await ports.chose();
        if (!isEmbedded(ports.settings())) await ports.update("engine", undefined);
        if (ports.settings().model !== undefined) await ports.update("model", undefined);
    }
  }

  private with(change: Partial<UserSettings>): UserSettings {
    return { ...this.ports.settings(), engine: undefined, model: undefined, ...change };
  }

  private async keepTyped(scope: "engine" | "model", settings: UserSettings): Promise<void> {
    const place = placeOf(scope, settings, {});
    const token = place === undefined ? undefined : this.typed.get(place);
    if (place === undefined || token === undefined) return;
    await this.ports.keepToken(scope, token, place);
    this.typed.delete(place);
  }

  private async checkModel(wish: SetupWish & { kind: "model" }, anew: boolean): Promise<SetupFound> {
    const place = placeOf("model", this.with({ model: modelOf(wish) }), {}) ?? "";
    let token = anew ? undefined : (this.typed.get(place) ?? (await this.ports.storedToken("model", place)));
    const provider = (await this.providers()).find((one) => one.provider === wish.provider);
    const inEnvironment = wish.url === undefined && typeof provider?.key === "object";
    if (token === undefined && (anew || (wish.url === undefined && provider?.needsKey === true && !inEnvironment))) {
      token = await this.ports.askKey(
        l10n.t("Key of {0}", provider?.label ?? wish.provider),
        l10n.t("It is kept in the editor's secret storage once you choose this, and given to the server only."),
      );
      if (token === undefined || token.trim() === "") return { ok: false, cancelled: true };
      token = token.trim();
    }
    const { provider: name } = wish;
    const params = {
      provider: name,
      ...(wish.name === undefined ? {} : { name: wish.name }),
      ...(wish.url === undefined ? {} : { url: wish.url }),
      ...(token === undefined ? {} : { token }),
    };
    const found = await this.asked<Checked>("bb/models/check", params);
    if (token !== undefined) {
      // One that does not open the door is asked for again.
      if (found.ok || found.models != null) this.typed.set(place, token);
      else this.typed.delete(place);
    }
    return {
      ok: found.ok,
      ...(found.models == null ? {} : { models: found.models }),
      ...(found.problem == null ? {} : { problem: found.problem }),
    };
  }

  private async checkBreadboard(url: string, anew: boolean): Promise<SetupFound> {
    const place = placeOf("engine", this.with({ engine: { kind: "breadboard", url } }), {}) ?? "";
    let token = anew ? undefined : (this.typed.get(place) ?? (await this.ports.storedToken("engine", place)));
    if (anew) {
      token = await this.ports.askKey(l10n.t("Token of the BreadBoard engine"), l10n.t("For {0}. It is kept once you choose this.", place));
      if (token === undefined || token.trim() === "") return { ok: false, cancelled: true };
    }
    const env: Record<string, string> = token === undefined ? {} : { BREADBOARD_API_TOKEN: token.trim() };
    const found = await this.diagnose(["--engine", "breadboard", "--engine-url", url], env);
    if (found.ok && token !== undefined) this.typed.set(place, token.trim());
    return found;
  }

  /** Has the program look at an engine, from a start of its own. */
  private async diagnose(flags: readonly string[], env: Record<string, string>): Promise<SetupFound> {
    const folder = this.ports.folder();
    const where = folder === undefined ? [] : ["--workspace", folder];
    let report: unknown;
    try {
      report = JSON.parse(await this.ports.run(["doctor", "--json", ...where, ...flags], env));
    } catch (error) {
      return { ok: false, problem: l10n.t("It could not be tried: {0}", error instanceof Error ? error.message : String(error)) };
    }
    const bad = checksOf(report).find(({ id, mark }) => mark === "fail" && ABOUT_ENGINE.has(id));
    return bad === undefined ? { ok: true } : { ok: false, problem: sentenceOf(bad) };
  }

  private async agents(): Promise<readonly SetupAgent[]> {
    const folder = this.ports.folder();
    const where = folder === undefined ? [] : ["--workspace", folder];
    try {
      const listed: unknown = JSON.parse(await this.ports.run(["agents", "--json", ...where], {}));
      const named = new Set(Object.keys(this.ports.settings().agents ?? {}));
      const known = (Array.isArray(listed) ? listed : []).flatMap((one) => agentOf(one));
      // Those of the settings are started as they say there.
      return known.map((agent) => (named.has(agent.name) ? { ...agent, there: true } : agent)).slice(0, AGENTS_MOST);
    } catch {
      return [];
    }
  }

  private async providers(): Promise<readonly SetupProvider[]> {
    const { providers } = await this.asked<{ providers: Provider[] }>("bb/models/providers", {});
    return Promise.all(
      providers.map(async ({ provider, label, needsKey, keyVariable, keyIsSet, defaultUrl }) => {
        const stored = await this.ports.storedToken("model", `provider:${provider}`);
        const key =
          stored !== undefined
            ? ("stored" as const)
            : keyIsSet === true && keyVariable != null
              ? { variable: keyVariable }
              : undefined;
        return {
          provider,
          label,
          needsKey,
          ...(defaultUrl == null ? {} : { url: defaultUrl }),
          ...(key === undefined ? {} : { key }),
        };
      }),
    );
  }

  private async asked<T>(method: keyof Requests, params: unknown): Promise<T> {
    const result = await this.ports.ask(method, params);
    const fault = resultFault(method, result);
    if (fault !== undefined) throw new Error(`The server's answer does not fit: ${fault}; update the server.`);
    return result as T;
  }
}

/** What of a report is about the engine: the rest is about this machine. */
const ABOUT_ENGINE: ReadonlySet<string> = new Set(["server", "engine", "session", "origin", "token"]);

interface Check {
  readonly id: string;
  readonly mark: string;
  readonly found: string;
  readonly do?: string;
}

function checksOf(report: unknown): readonly Check[] {
  const { checks } = (report ?? {}) as { checks?: unknown };
  return (Array.isArray(checks) ? checks : []).filter(
    (one): one is Check =>
      typeof (one as Check | null)?.id === "string" && typeof (one as Check).found === "string",
  );
}

function sentenceOf({ found, do: advice }: Check): string {
  const whole = (text: string): string => (/[.!?]$/.test(text.trim()) ? text.trim() : `${text.trim()}.`);
  return advice === undefined ? whole(found) : `${whole(found)} ${whole(advice.charAt(0).toUpperCase() + advice.slice(1))}`;
}

function agentOf(value: unknown): SetupAgent[] {
  const { name, path, install, login } = (value ?? {}) as Record<string, unknown>;
  if (typeof name !== "string") return [];
  return [
    {
      name,
      there: typeof path === "string",
      ...(typeof install === "string" ? { install } : {}),
      ...(typeof login === "string" ? { login } : {}),
    },
  ];
}

function modelOf({ provider, name, url }: SetupWish & { kind: "model" }): ModelSetting {
  return { provider, name: name ?? "", ...(url === undefined ? {} : { url }) };
}

function isEmbedded({ engine }: UserSettings): boolean {
  return engine === undefined || engine.kind === "embedded";
}

/** Who answers by these settings. */
export function inWords({ engine, model }: UserSettings): string {
  if (engine !== undefined && engine.kind !== "embedded") {
    const name = engine["name"];
    if (engine.kind === "acp") return typeof name === "string" ? l10n.t("the agent {0}", name) : l10n.t("an agent");
    return engine.kind === "breadboard" ? "BreadBoard" : l10n.t("a desktop host");
  }
  return model === undefined ? l10n.t("search only") : l10n.t("the built-in agent with {0}", model.name);
}

/** Whether somebody has chosen, by a setting. */
export function hasChosen({ engine, model }: UserSettings): boolean {
  return model !== undefined || (engine !== undefined && engine.kind !== "embedded");
}
