/**
 * Tokens: kept in SecretStorage, handed to the server with `bb/setCredentials`, and to nobody else.
 *
 * A token is stored with the place that it was given for. When the settings name another place, it is not sent there: a
 * changed address must not carry a token away.
 */
import type { SecretStorage } from "vscode";
import type { UserSettings } from "./settings";

/** What a token is for. */
export type Scope = "engine" | "model";

interface Stored {
  readonly token: string;
  readonly place: string;
}

/** What became of a token at the start of a server. */
export type Handed = "sent" | "none" | "other_place";

/** Sends one token. */
export type Send = (scope: Scope, token: string | null) => Promise<void>;

export class Credentials {
  constructor(private readonly secrets: Pick<SecretStorage, "get" | "store" | "delete">) {}

  /** Stores the token for this place, and sends it. */
  async set(scope: Scope, token: string, place: string, send: Send): Promise<void> {
    await this.secrets.store(key(scope), JSON.stringify({ token, place } satisfies Stored));
    await send(scope, token);
  }

  /** Forgets it, here and at the server. */
  async clear(scope: Scope, send: Send): Promise<void> {
    await this.secrets.delete(key(scope));
    await send(scope, null);
  }

  /** Gives a stored token to a server that has just started. */
  async handOver(scope: Scope, place: string, send: Send): Promise<Handed> {
    const text = await this.secrets.get(key(scope));
    const stored = text === undefined ? undefined : read(text);
    if (stored === undefined) return "none";
    if (stored.place !== place) return "other_place";
    await send(scope, stored.token);
    return "sent";
  }
}

/** Where a token of this scope would go: origin and kind, never a path or a query, which may change. */
export function placeOf(
  scope: Scope,
  settings: UserSettings,
  env: Readonly<Record<string, string | undefined>>,
): string {
  if (scope === "engine") {
    // The environment is stronger than the options.
    const url = env["BREADBOARD_API_URL"] ?? settings.engine?.url;
    return `${url === undefined ? (settings.engine?.kind ?? "embedded") : origin(url)}`;
  }
  const { model } = settings;
  return model?.url === undefined ? `provider:${model?.provider ?? "guessed"}` : origin(model.url);
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
    return typeof token === "string" && typeof place === "string" ? { token, place } : undefined;
  } catch {
    return undefined;
  }
}
