/**
 * What is being completed at the cursor of the prompt: `@` a file, `/` a command of the engine or the agent.
 *
 * Pure but for the listing that comes in. Owns the words that are found and the text that is put in.
 */
import type { EngineStatus, Requests } from "@breadboard-ls/sdk";
import type { SessionInfo } from "../model/open_session";
import { t } from "../messages";

type Entry = Requests["bb/listFiles"]["result"]["entries"][number];

/** What stands before the cursor. */
export interface Trigger {
  readonly kind: "file" | "command";
  /** Where the word begins, its sign included. */
  readonly from: number;
  /** The word without its sign. */
  readonly word: string;
}

/** One thing that can be put in. */
export interface Choice {
  readonly label: string;
  readonly detail?: string;
  readonly icon: string;
  /** Replaces the word and its sign. */
  readonly insert: string;
  /** The completion goes on (a folder was chosen). */
  readonly more?: boolean;
}

/** Most choices in the list: what fits on the page. */
export const MOST_CHOICES = 50;

export function triggerAt(text: string, cursor: number): Trigger | undefined {
  const before = text.slice(0, cursor);
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
  if (file?.[1] !== undefined) return { kind: "file", from: cursor - file[1].length - 1, word: file[1] };
  const command = /^\/(\S*)$/.exec(before);
  if (command?.[1] !== undefined) return { kind: "command", from: 0, word: command[1] };
  return undefined;
}

/** The folder that is to be listed, the part of a name that is typed, and the workspace folder. */
export function whereToLook(
  word: string,
  roots: readonly string[],
): { root?: string; folder: string; part: string } | { roots: string } {
  let rest = word;
  let root: string | undefined;
  if (roots.length > 1) {
    root = roots.find((name) => word.startsWith(`${name}/`));
    if (root === undefined) return { roots: word };
    rest = word.slice(root.length + 1);
  }
  const slash = rest.lastIndexOf("/");
  return {
    ...(root === undefined ? {} : { root }),
    folder: rest.slice(0, Math.max(0, slash)),
    part: rest.slice(slash + 1),
  };
}

export function rootChoices(part: string, roots: readonly string[]): Choice[] {
  return roots
    .filter((name) => matches(name, part))
    .map((name) => ({ label: `${name}/`, icon: "root-folder", insert: `@${name}/`, more: true }));
}

/** What is named without a path, each with what goes along then. */
const WORDS: readonly (readonly [word: string, detail: string, icon: string])[] = [
  ["problems", t("errors and warnings of the editor"), "warning"],
  ["selection", t("what is marked in the editor"), "list-selection"],
  ["file", t("the file in front"), "file-code"],
  ["terminal", t("the last command and what it printed"), "terminal"],
  ["diff", t("the changes that are not committed"), "diff"],
  ["git", t("branch and state of the repository"), "git-branch"],
  ["open", t("the files that are open"), "files"],
];
/** Symbols beside the files, so that neither hides the other. */
const MOST_SYMBOLS = 8;

export function wordChoices(part: string): Choice[] {
  return WORDS.filter(([word]) => word.startsWith(part.toLowerCase())).map(([word, detail, icon]) => ({
    label: word,
    detail,
    icon,
    insert: `@${word} `,
  }));
}

/** The files and folders that the server found, best first. */
export function pathChoices(paths: readonly string[]): Choice[] {
  return paths.map((path) => {
    const isFolder = path.endsWith("/");
    const bare = isFolder ? path.slice(0, -1) : path;
    const name = bare.slice(bare.lastIndexOf("/") + 1);
    const insert = /\s/.test(path) ? `@"${path}" ` : `@${path} `;
    const within = bare.slice(0, Math.max(0, bare.length - name.length - 1));
    return {
      label: isFolder ? `${name}/` : name,
      icon: isFolder ? "folder" : "file",
      insert,
      ...(within === "" ? {} : { detail: within }),
    };
  });
}

/** A symbol of the workspace, as the editor knows it. */
export interface FoundSymbol {
  readonly name: string;
  readonly where: string;
}

export function symbolChoices(symbols: readonly FoundSymbol[]): Choice[] {
  const distinct = symbols.filter(({ name }, at) => symbols.findIndex((one) => one.name === name) === at);
  return distinct
    .slice(0, MOST_SYMBOLS)
    .map(({ name, where }) => ({ label: name, detail: where, icon: "symbol-method", insert: `@symbol:${name} ` }));
}

/** What is looked for where a symbol is meant, and nothing else. */
export function symbolTyped(word: string): string | undefined {
  return /^(?:symbol:|#)(.*)$/.exec(word)?.[1];
}

export function fileChoices(entries: readonly Entry[], part: string, root: string | undefined): Choice[] {
  const prefix = root === undefined ? "" : `${root}/`;
  return entries
    .filter(({ name }) => matches(name, part) && (part.startsWith(".") || !name.startsWith(".")))
    .slice(0, MOST_CHOICES)
    .map(({ name, path, type }) =>
      type === "directory"
        ? { label: `${name}/`, icon: "folder", insert: `@${prefix}${path}/`, more: true }
        : { label: name, icon: "file", insert: `@${prefix}${path} `, ...(path === name ? {} : { detail: path }) },
    );
}

/** A resource of a server of tools. */
export type Resource = NonNullable<Requests["bb/mcp/list"]["result"]["servers"][number]["resources"]>[number];

export function resourceChoices(resources: readonly Resource[], part: string): Choice[] {
  return resources
    .filter(({ mention, name }) => matches(mention, part) || matches(name, part))
    .slice(0, MOST_CHOICES)
    .map(({ mention, name }) => ({
      label: mention,
      icon: "plug",
      insert: `@${/\s/.test(mention) ? `"${mention}"` : mention} `,
      ...(name === mention ? {} : { detail: name }),
    }));
}

/** A command of the engine that can be given from the prompt. */
export interface EngineCommand {
  readonly name: string;
  readonly detail: string;
  readonly command: string;
  /** Name of its one argument. */
  readonly argument?: string;
}

/** Those of the engine's table that need at most one word. */
const BREADBOARD: readonly EngineCommand[] = [
  { name: "checkpoints", detail: t("list the checkpoints in the Run pane"), command: "list_checkpoints" },
  { name: "model", detail: t("choose the model of the next run"), command: "set_model", argument: "model" },
  { name: "mode", detail: t("choose the mode of the engine"), command: "set_mode", argument: "mode" },
];

/** The commands that the engine offers. */
export function commandsOf(engine: EngineStatus | undefined): readonly EngineCommand[] {
  return engine?.kind === "breadboard" && engine.capabilities.includes("commands") ? BREADBOARD : [];
}

/** Commands of the server itself, which add to what goes along. They are text: what they mean is its to say. */
const OURS: readonly (readonly [name: string, detail: string])[] = [
  ["explain", t("explain what is marked, or what you name")],
  ["fix", t("fix what is marked; the problems go along")],
  ["test", t("write tests for what is marked")],
  ["refactor", t("change how it is written, not what it does")],
];

export function ownChoices(part: string): Choice[] {
  return OURS.filter(([name]) => matches(name, part)).map(([name, detail]) => ({
    label: `/${name}`,
    detail,
    icon: "sparkle",
    insert: `/${name} `,
  }));
}

export function commandChoices(commands: readonly EngineCommand[], part: string): Choice[] {
  return commands
    .filter(({ name }) => matches(name, part))
    .map(({ name, detail }) => ({ label: `/${name}`, detail, icon: "terminal", insert: `/${name} ` }));
}

/** The commands of an agent: each is put in as text, for that is how the agent takes it. */
export function agentChoices(commands: NonNullable<SessionInfo["commands"]>, part: string): Choice[] {
  return commands
    .filter(({ name }) => matches(name, part))
    .slice(0, MOST_CHOICES)
    .map(({ name, description, hint }) => {
      const detail = [hint, description].filter((text) => text != null && text !== "").join(" – ");
      return { label: `/${name}`, icon: "terminal", insert: `/${name} `, ...(detail === "" ? {} : { detail }) };
    });
}

/** A prompt that is a command of the engine, with its argument. */
export function readCommand(
  text: string,
  commands: readonly EngineCommand[],
): { command: string; args: Record<string, unknown> } | undefined {
  const [, name, argument] = /^\/(\S+)(?:\s+(\S[\s\S]*?))?\s*$/.exec(text) ?? [];
  const found = commands.find((command) => command.name === name);
  if (found === undefined) return undefined;
  if (found.argument === undefined) return { command: found.command, args: {} };
  return argument === undefined ? undefined : { command: found.command, args: { [found.argument]: argument } };
}

function matches(name: string, part: string): boolean {
  return name.toLowerCase().includes(part.toLowerCase());
}
