/**
 * A tool call in words: what it does to what, and what came of it.
 *
 * Owns the words for names that tools have, and the text of results that came as data: nobody reads one line of JSON.
 * Pure. Never invents what a result does not say.
 */
import type { BlockOf } from "@breadboard-ls/sdk";
import { t } from "../messages";

/** What a tool does, by its name; the first that fits. */
const VERBS: readonly (readonly [RegExp, string])[] = [
  [/^(?:propose_patch|apply_patch|patch(?:_it)?|edit(?:_file)?|str_replace\w*|multi_?edit|update_file)$/i, t("Change")],
  [/^(?:write|write_file|create(?:_file)?|make_file)$/i, t("Write")],
  [/^(?:delete|delete_file|remove_file)$/i, t("Delete")],
  [/^(?:move|rename|move_file|rename_file)$/i, t("Move")],
  [/^(?:read|read_file|view|cat|open_file)$/i, t("Read")],
  [/^(?:list|list_files|list_dir|ls|glob)$/i, t("List")],
  [/^(?:search_text|search|grep|find|rg)$/i, t("Search for")],
  [/^(?:search_symbols|find_places|find_symbols)$/i, t("Find")],
  [/^outline$/i, t("Outline")],
  [/^(?:run_command|run_shell|run|shell|bash|execute|exec|terminal)$/i, t("Run")],
  [/^(?:fetch|web_?fetch|http_get)$/i, t("Fetch")],
  [/^(?:think|plan)$/i, t("Think about")],
];
const EDITS: ReadonlySet<string> = new Set([t("Change"), t("Write"), t("Delete"), t("Move")]);
const RUN = t("Run");

function verbOf(name: string): string | undefined {
  return VERBS.find(([names]) => names.test(name))?.[1];
}

/** Whether the tool changes files. */
export function isEdit(name: string): boolean {
  return EDITS.has(verbOf(name) ?? "");
}

/** What it does, and to what. */
export interface Deed {
  readonly verb: string;
  /** A path, a command, a word; absent where the verb says all. */
  readonly to?: string;
}

export function deedOf({ name, title, input }: Pick<BlockOf<"tool">, "name" | "title" | "input">): Deed {
  const words = title?.trim() ?? "";
  const verb = verbOf(name);
  // The server names a call by its tool, then by what it is about.
  const about = words.startsWith(`${name} `) ? words.slice(name.length + 1).trim() : undefined;
  if (about !== undefined) return { verb: verb ?? spoken(name), to: about };
  // A name alone, such as `Shell`, says nothing of what is run.
  if (words === "" || words === name || /^\w+$/.test(words)) {
    const to = aimOf(input);
    if (to !== undefined) return { verb: verb ?? spoken(words || name), to };
    if (words === "" || words === name) return { verb: verb ?? spoken(name) };
  }
  // An agent's own sentence stays one; a bare path or command says nothing of what is done to it.
  const bare = words.replace(/^`([^`]+)`$/, "$1");
  const isCommand = verb === RUN && /^[`a-z./~$]/.test(words);
  const isPath = verb !== undefined && verb !== RUN && !/\s/.test(bare);
  return isCommand || isPath ? { verb: verb ?? spoken(name), to: bare } : { verb: words };
}

/** The command or the file that a call names. */
function aimOf(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null) return undefined;
  const given = input as Readonly<Record<string, unknown>>;
  const aim = ["command", "file_path", "filePath", "absolute_path", "path"].map((name) => given[name]).find((one) => one !== undefined);
  return typeof aim === "string" && aim.trim() !== "" ? aim.trim() : undefined;
}

/** `ask_a_friend` as a person says it. */
function spoken(name: string): string {
  const words = name.replaceAll(/[_-]+/g, " ").trim();
  return words === "" ? t("Use a tool") : words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a call gave, as text for a person. The preview may be the beginning of data that was cut. */
export function resultText(preview: string): string {
  if (!/^\s*[[{]/.test(preview)) return preview;
  const value = read(preview);
  return typeof value === "object" && value !== null ? textOf(value) : preview;
}

/** How a command ended, where its result says so in its first sentence; else 0. */
export function exitCodeOf(preview: string): number {
  return Number(/^The command ended with exit code (-?\d+)\./.exec(resultText(preview))?.[1] ?? 0);
}

/** What tools do, each said once. */
export function verbsOf(names: readonly string[]): string {
  return [...new Set(names.map((name) => deedOf({ name }).verb.toLowerCase()))].join(", ");
}

/** Fields that hold what was said, whatever else is beside them. */
const SAID = ["summary", "message", "error", "text", "output", "stdout", "result", "content", "details"];
/** Fields of an event that hold a result. */
const RESULTS = ["result", "output", "rawOutput", "content", "text"];

/** The whole result, from the payload of its event. */
export function wholeResult(payload: Readonly<Record<string, unknown>>): string {
  const inner = (payload["update"] ?? payload) as Readonly<Record<string, unknown>>;
  const value = RESULTS.map((name) => inner[name]).find((found) => found !== undefined && found !== null && found !== "");
  return typeof value === "string" ? resultText(value) : textOf(value ?? payload);
}

/** A value as lines. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return value.map((one) => (isPlain(one) ? String(one) : textOf(one))).join("\n");
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined && field !== "");
  const isPart = fields.some(([name]) => name === "type") && fields.some(([name]) => name === "text" || name === "content");
  return fields
    .filter(([name]) => !(isPart && name === "type"))
    .map(([name, field]) => {
      if (SAID.includes(name)) return textOf(field);
      const label = name.replaceAll("_", " ");
      const text = textOf(field);
      return isPlain(field) && !text.includes("\n") ? `${label}: ${text}` : `${label}:\n${indented(text)}`;
    })
    .join("\n")
    .replace(/\nstderr:\s*$/, "");
}

function isPlain(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}

function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}

/** Reads data of which the end may be missing: what is open is closed. `undefined` where it is no data. */
function read(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const closed = close(text);
    try {
      return closed === undefined ? undefined : (JSON.parse(closed) as unknown);
    } catch {
      return undefined;
    }
  }
}

/** The text up to the last value that is whole, or a string that was cut, with its brackets closed. */
function close(text: string): string | undefined {
  const open: string[] = [];
  let inString = false;
  /** Where the text can be cut so that brackets alone are missing, and what was open there. */
  let safe: { readonly at: number; readonly open: string } | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] ?? "";
    if (inString) {
      if (sign === "\\") at += 1;
      else if (sign === '"') inString = false;
    } else if (sign === '"') inString = true;
    else if (sign === "{" || sign === "[") open.push(sign === "{" ? "}" : "]");
    else if (sign === "}" || sign === "]") open.pop();
    else if (sign === ",") safe = { at, open: open.toReversed().join("") };
    if (open.length === 0 && at > 0) return undefined;
  }
  const rest = open.toReversed().join("");
  if (inString) {
    // An escape may be cut too.
    const whole = text.replace(/(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/, "$1");
    const value = `${whole}…"${rest}`;
    try {
      JSON.parse(value);
      return value;
    } catch {
      // It was the name of a field.
    }
  }
  return safe === undefined ? undefined : text.slice(0, safe.at) + safe.open;
}
