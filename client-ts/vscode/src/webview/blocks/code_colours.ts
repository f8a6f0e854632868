/**
 * What of a line of code is a comment, a string, a number, a keyword or the name of a type, by the name of its file.
 *
 * Owns a rough reading of one line at a time, enough to find one's way in a change: a comment or a string over several
 * lines is not followed. The stretches together are the line, exactly. Colours are the theme's.
 */

/** What a stretch is; absent of everything else. */
export type CodeKind = "comment" | "string" | "number" | "keyword" | "type";

export interface Stretch {
  readonly text: string;
  readonly kind?: CodeKind;
}

/** Reads a line of one language. */
export type Colours = (line: string) => readonly Stretch[];

/** Longer lines are not written by hand. */
const LONGEST = 1_000;

const WORDS = {
  braces:
    "abstract as async await bool boolean break case catch char class const constexpr continue crate declare default defer " +
    "delete do double dyn else enum export extends extern false final finally float fn for from func function go goto if impl " +
    "implements import in instanceof int interface internal is let long loop match mod move mut namespace new nil null " +
    "nullptr of operator override package private protected pub public readonly ref return satisfies sealed select self " +
    "short signed sizeof static string struct super switch template this throw throws trait true try type typedef typename " +
    "typeof undefined union unsafe unsigned use using val var virtual void volatile when where while with yield",
  rust:
    "as async await bool break char const continue crate dyn else enum extern false fn for if impl in let loop match mod move " +
    "mut pub ref return self static str struct super trait true type unsafe use where while",
  python:
    "False None True and as assert async await break case class continue def del elif else except finally for from global " +
    "if import in is lambda match nonlocal not or pass raise return self try while with yield",
  shell:
    "begin case class def do done elif else elsif end esac exit export false fi for function if in local module nil require " +
    "return set then true unless until while",
  lua: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while",
  sql:
    "alter and as asc begin between by case commit create delete desc distinct drop else end exists from group having in " +
    "index inner insert into is join key left like limit not null on or order outer primary references select set table " +
    "then union unique update values view when where",
  data: "false no null off on true yes",
} as const;

type Family = keyof typeof WORDS;

const DOUBLE = String.raw`"(?:\\.|[^"\\])*"?`;
const SINGLE = String.raw`'(?:\\.|[^'\\])*'?`;
const TICKS = "`(?:\\\\.|[^`\\\\])*`?";
/** One character: an apostrophe may also begin a lifetime. */
const CHARACTER = String.raw`'(?:\\[^']+|[^'\\])'`;

/** How comments and strings look. */
const LOOKS: Readonly<Record<Family, readonly [comment: string, string: string]>> = {
  braces: [String.raw`//.*|/\*.*?(?:\*/|$)|^\s*\*(?:\s.*|/)?$`, `${DOUBLE}|${SINGLE}|${TICKS}`],
  rust: [String.raw`//.*|/\*.*?(?:\*/|$)`, `${DOUBLE}|${CHARACTER}`],
  python: ["#.*", `"""|'''|${DOUBLE}|${SINGLE}`],
  shell: [String.raw`(?:^|\s)#.*`, `${DOUBLE}|${SINGLE}`],
  lua: ["--.*", `${DOUBLE}|${SINGLE}`],
  sql: ["--.*", `${SINGLE}|${DOUBLE}`],
  data: [String.raw`(?:^|\s)#.*|^\s*//.*`, `${DOUBLE}|${SINGLE}`],
};

const FAMILIES: Readonly<Record<Family, string>> = {
  braces: "c cc cpp cs cts cxx dart go h hpp java js jsx kt kts less m mjs mts php proto scala scss swift ts tsx vue zig cjs css",
  rust: "rs",
  python: "py pyi",
  shell: "bash cr ex exs fish pl r rb sh zsh dockerfile makefile mk ps1",
  lua: "lua hs",
  sql: "sql",
  data: "cfg conf ini json json5 jsonc toml yaml yml",
};

const known = new Map<Family, Colours>();

/** How lines of this file are read; absent where nothing is known of its language. */
export function coloursOf(path: string): Colours | undefined {
  const name = path.split("/").at(-1)?.toLowerCase() ?? "";
  const ending = name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : name;
  const family = (Object.keys(FAMILIES) as Family[]).find((one) => FAMILIES[one].split(" ").includes(ending));
  if (family === undefined) return undefined;
  let colours = known.get(family);
  if (colours === undefined) known.set(family, (colours = reading(family)));
  return colours;
}

function reading(family: Family): Colours {
  const [comment, string] = LOOKS[family];
  const keywords = new Set(WORDS[family].split(" "));
  // Data has no types: a name with a capital is a name.
  const types = family !== "data" && family !== "shell" && family !== "sql";
  const tokens = new RegExp(`(${comment})|(${string})|(\\b\\d[\\w.]*)|([A-Za-z_][\\w]*)`, "g");
  const kindOf = ([, isComment, isString, isNumber, word]: RegExpMatchArray): CodeKind | undefined => {
    if (isComment !== undefined) return "comment";
    if (isString !== undefined) return "string";
    if (isNumber !== undefined) return "number";
    if (word !== undefined && keywords.has(family === "sql" ? word.toLowerCase() : word)) return "keyword";
    return word !== undefined && types && /^[A-Z]\w*[a-z]/.test(word) ? "type" : undefined;
  };
  return (line) => {
    if (line.length > LONGEST) return [{ text: line }];
    const out: Stretch[] = [];
    let done = 0;
    for (const match of line.matchAll(tokens)) {
      const kind = kindOf(match);
      if (kind === undefined) continue;
      if (match.index > done) out.push({ text: line.slice(done, match.index) });
      out.push({ text: match[0], kind });
      done = match.index + match[0].length;
    }
    if (done < line.length) out.push({ text: line.slice(done) });
    return out;
  };
}
