/**
 * Places of the workspace that a text names: `src/lib.rs:8`, `src/lib.rs:8:3`, `src\lib.rs:8-12`, `src/lib.rs#L8`, and paths
 * in what a tool gave.
 *
 * Owns what looks like one. Pure: whether there is such a file is the editor's to say, which opens none outside of the
 * workspace folders.
 */

/** A place, as the text names it. */
export interface Place {
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
}

/** A piece of a text: words, or the name of a place. */
export type Part = string | { readonly text: string; readonly place: Place };

/** What may be a path, also one of Windows, with a line, the end of a range and a column behind it. */
const WORD =
  /((?:[A-Za-z]:[\\/])?[\p{L}\p{N}_@.+~/\\$-]+)(?::(\d{1,7})(?:-\d{1,7})?(?::(\d{1,7}))?|#L(\d{1,7})(?:-L?\d{1,7})?)?/gu;
/** A path that begins with a drive. */
const DRIVE = /^[A-Za-z]:\//;
/** A name with an ending that begins with a letter. */
const WITH_ENDING = /[\p{L}\p{N}_]\.([A-Za-z][\w-]{0,11})$/u;
/** Files that have none. */
const WITHOUT_ENDING = /^(?:Makefile|Dockerfile|Containerfile|Justfile|Rakefile|Gemfile|Procfile|LICENSE|README)$/;
/** Endings of hosts: `example.com:443` is none of ours. */
const HOST = /\.(?:com|org|net|edu|gov|io|dev|local|localhost|example|invalid|test)$/i;

/** Which names count as a place. */
export type Which =
  /** Those with a line: in a sentence, a path alone may be anything. */
  | "with_line"
  /** Paths without a line too, as tools list them. */
  | "all";

/** The text in pieces; joined they are the text. */
export function partsOf(text: string, which: Which = "with_line"): Part[] {
  const parts: Part[] = [];
  let done = 0;
  for (const found of text.matchAll(WORD)) {
    const [whole, word = "", colonLine, column, hashLine] = found;
    const line = colonLine ?? hashLine;
    // An address of the web is none, whatever it ends in.
    if (text[found.index - 1] === ":" && word.startsWith("//")) continue;
    if (line === undefined && which === "with_line") continue;
    // A sentence may end behind a path that has no line.
    const name = line === undefined ? word.replace(/\.+$/, "") : whole;
    const path = (line === undefined ? name : word).replaceAll("\\", "/");
    if (!looksLikePath(path, line !== undefined)) continue;
    parts.push(text.slice(done, found.index), {
      text: name,
      place: {
        path: path.replace(/^@/, ""),
        ...(line === undefined ? {} : { line: Number(line) }),
        ...(column === undefined ? {} : { column: Number(column) }),
      },
    });
    done = found.index + name.length;
  }
  parts.push(text.slice(done));
  return parts.filter((part) => part !== "");
}

function looksLikePath(word: string, hasLine: boolean): boolean {
  if (word.includes("//") || word.includes("...")) return false;
  const segments = word.split("/");
  const last = segments.at(-1) ?? "";
  if (segments.length === 1 && !hasLine) return false;
  if (HOST.test(segments[0] ?? "")) return false;
  return WITH_ENDING.test(last) || WITHOUT_ENDING.test(last);
}

/** The address of a place in a page: `src/lib.rs#L8C3`. */
export function hrefOf({ path, line, column }: Place): string {
  // A drive would be read as the scheme of an address.
  const from = DRIVE.test(path) ? "/" : "";
  return `${from}${path}${line === undefined ? "" : `#L${line}${column === undefined ? "" : `C${column}`}`}`;
}

/** The place that such an address, or one with `:line:column`, names. */
export function placeOf(href: string): Place | undefined {
  const [, path, line, column, hashLine, hashColumn] =
    /^([^#]*?)(?::(\d+)(?::(\d+))?|#L(\d+)(?:C(\d+))?.*|#.*)?$/.exec(href) ?? [];
  if (path === undefined || path === "") return undefined;
  const at = line ?? hashLine;
  const inLine = column ?? hashColumn;
  const named = decoded(path);
  return {
    path: named.startsWith("/") && DRIVE.test(named.slice(1)) ? named.slice(1) : named,
    ...(at === undefined ? {} : { line: Number(at) }),
    ...(inLine === undefined ? {} : { column: Number(inLine) }),
  };
}

/**
 * A file as the editor is asked for it. Where several folders are open, blocks name a file with its folder in front, and
 * what has a field for the folder has it there.
 */
export function fileOf(
  filePath: string,
  root: string | null | undefined,
  roots: readonly string[],
): { readonly path: string; readonly root?: string } {
  if (root != null) return { path: filePath, root };
  const named = roots.length > 1 ? roots.find((name) => filePath.startsWith(`${name}/`)) : undefined;
  return named === undefined ? { path: filePath } : { path: filePath.slice(named.length + 1), root: named };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
