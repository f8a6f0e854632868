/**
 * What the page of the first choice and its host tell each other: who can answer, whether it works, what was chosen.
 *
 * Owns the shapes, and the check of a wish. No secret is in any of them.
 */

/** An agent that can be named. */
export interface SetupAgent {
  readonly name: string;
  /** Whether its program is on this machine. */
  readonly there: boolean;
  /** The command that installs it. */
  readonly install?: string;
  /** How one logs in, as the rest of a sentence that begins with "log in". */
  readonly login?: string;
}

/** Whose models can be used. */
export interface SetupProvider {
  readonly provider: string;
  readonly label: string;
  readonly needsKey: boolean;
  readonly url?: string;
  /** Where its key is: in this variable of the environment, or in the editor's storage. */
  readonly key?: { readonly variable: string } | "stored";
}

/** What there is to choose from. */
export interface SetupLook {
  readonly agents: readonly SetupAgent[];
  readonly providers: readonly SetupProvider[];
  /** Who answers now, in words. */
  readonly now: string;
}

/** What somebody is about to choose. */
export type SetupWish =
  | { readonly kind: "model"; readonly provider: string; readonly name?: string; readonly url?: string }
  | { readonly kind: "agent"; readonly name: string }
  | { readonly kind: "breadboard"; readonly url: string }
  | { readonly kind: "search" };

/** What trying it found. */
export interface SetupFound {
  readonly ok: boolean;
  readonly models?: readonly string[];
  readonly problem?: string;
  /** A key was asked for and not given. */
  readonly cancelled?: boolean;
}

/** What a choice came to. */
export interface SetupChosen {
  /** `later`: a turn runs, and the server is restarted when somebody says so. */
  readonly counts: "now" | "restarted" | "later";
}

/** What is wrong with a wish, or `undefined`. */
export function wishFault(value: unknown): string | undefined {
  const { kind, provider, name, url } = (value ?? {}) as Record<string, unknown>;
  const word = (one: unknown): boolean => typeof one === "string" && one.trim() !== "";
  const absent = (one: unknown): boolean => one === undefined || word(one);
  const fits =
    kind === "search" ||
    (kind === "agent" && word(name)) ||
    (kind === "breadboard" && word(url)) ||
    (kind === "model" && word(provider) && absent(name) && absent(url));
  return fits ? undefined : "must be a model, an agent, a BreadBoard engine or search";
}
