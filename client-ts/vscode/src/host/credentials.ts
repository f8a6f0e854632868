/**
 * Tokens: kept in SecretStorage, handed to the server with `bb/setCredentials`, and to nobody else.
 *
 * A token is stored with the place that it was given for. When the settings name another place, it is not sent there: a
 * changed address must not carry a token away. One that came before there was a place belongs to the first that is
 * chosen, and from then on to no other.
 */
import type { SecretStorage } from "vscode";
import type { UserSettings } from "./settings";
import { l10n } from "vscode";

/** What a token is for. */
export type Scope = "engine" | "model";

interface Stored {
  readonly token: string;
  /** Absent until something is chosen that takes a token. */
  readonly place?: string;
}

/** What became of a token at the start of a server. */
export type Handed = "sent" | "sent_first" | "none" | "no_place" | "other_place";

/** Sends one token. */
export type Send = (scope: Scope, token: string | null) => Promise<void>;

export class Credentials {
  constructor(private readonly secrets: Pick<SecretStorage, "get" | "store" | "delete">) {}

  /** Stores the token for this place, or for the first that there will be. */
  async keep(scope: Scope, token: string, place: string | undefined): Promise<void> {
    const stored: Stored = { token, ...(place === undefined ? {} : { place }) };
    await this.secrets.store(key(scope), JSON.stringify(stored));
  }

  /** The token that was given for this place. */
  async tokenFor(scope: Scope, place: string): Promise<string | undefined> {
    const text = await this.secrets.get(key(scope));
    const stored = text === undefined ? undefined : read(text);
    return stored?.place === place ? stored.token : undefined;
  }

  /** Forgets it, here and at the server. */
  async clear(scope: Scope, send: Send): Promise<void> {
    await this.secrets.delete(key(scope));
    await send(scope, null);
  }

  /** Gives a stored token to a server that has just started. */
  async handOver(scope: Scope, place: string | undefined, send: Send): Promise<Handed> {
    const text = await this.secrets.get(key(scope));
    const stored = text === undefined ? undefined : read(text);
    if (stored === undefined) return "none";
    if (place === undefined) return "no_place";
    if (stored.place !== undefined && stored.place !== place) return "other_place";
    await send(scope, stored.token);
    if (stored.place !== undefined) return "sent";
    await this.keep(scope, stored.token, place);
    return "sent_first";
  }
}

/**
 * Where a token of this scope would go: origin or provider, never a path or a query, which may change. Absent while
 * nothing is chosen that takes one.
 */
export function placeOf(
  scope: Scope,
  settings: UserSettings,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  // The environment is stronger than the options.
  const url = env["BREADBOARD_API_URL"] ?? settings.engine?.url;
  const kind = env["BREADBOARD_API_URL"] === undefined ? (settings.engine?.kind ?? "embedded") : "breadboard";
  if (scope === "engine") {
    // The built-in engine has models, and an agent has its own login.
    if (kind === "embedded" || kind === "acp") return undefined;
    return url === undefined ? kind : origin(url);
  }
  const { model } = settings;
  if (model === undefined || kind !== "embedded") return undefined;
  if (model.url !== undefined) return origin(model.url);
  return `provider:${model.provider ?? providerOf(model.name)}`;
}

const PROVIDERS: Readonly<Record<string, string>> = {
  openai: "OpenAI",
  anthropic: "Anthropic",
  gemini: "Google Gemini",
  ollama: l10n.t("Ollama on this machine"),
};

/** A place as a person calls it. */
export function placeInWords(place: string): string {
  if (place === "breadboard") return l10n.t("the BreadBoard engine");
  const provider = /^provider:(.*)$/.exec(place)?.[1];
  return provider === undefined ? place : (PROVIDERS[provider] ?? l10n.t("the provider {0}", provider));
}

/** The provider of a model whose setting names neither one nor an address, by the rule of the server. */
function providerOf(name: string): string {
  if (name.startsWith("claude")) return "anthropic";
  if (name.startsWith("gemini")) return "gemini";
  return /^(?:o1|o3|o4|chatgpt|codex|gpt-(?!oss))/.test(name) ? "openai" : "ollama";
}

function origin(url: string): string {
  try {
    const parsed = new URL(url);
    return `${parsed.protocol}//${parsed.host}`;
  } catch {
    return url;
  }
}

function key(scope: Scope): string {
  return `breadboard.token.${scope}`;
}

function read(text: string): Stored | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const { token, place } = value as Partial<Stored>;
    if (typeof token !== "string") return undefined;
    return typeof place === "string" ? { token, place } : place === undefined ? { token } : undefined;
  } catch {
    return undefined;
  }
}
