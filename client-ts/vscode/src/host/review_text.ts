/**
 * The text of a file with the changes that are proposed for it in their places: what goes, then what comes.
 *
 * Owns where each change stands and which one fits nowhere. Pure: knows no editor, decides nothing, and what it shows is
 * never written; where a change belongs when it is made, the server finds by itself.
 */

/** A change as the server tells it. */
export interface ProposedChange {
  readonly id: string;
  /** First line before, from 1; 0 of a new file. */
  readonly oldStart: number;
  /** Its lines with their ` `, `-` or `+`. */
  readonly content: string;
}

/** Lines, from 0; the end is behind the last. */
export interface Lines {
  readonly start: number;
  readonly end: number;
}

/** A change in its place. */
export interface PlacedChange {
  readonly id: string;
  /** From its first line that goes or comes to behind its last one. */
  readonly lines: Lines;
  readonly removed: readonly Lines[];
  readonly added: readonly Lines[];
  /** Where it would stand in the file as it is now, from 0. */
  readonly at: number;
  /** The lines that it is made for are not in the file, or more than once. */
  readonly fits: boolean;
}

export interface ReviewText {
  readonly text: string;
  readonly changes: readonly PlacedChange[];
}

type Kind = "kept" | "removed" | "added";
interface Line {
  readonly kind: Kind;
  /** As it is shown. */
  readonly text: string;
  /** As it stands in the file, without its end. */
  readonly bare: string;
}

const KIND: Readonly<Record<string, Kind>> = { " ": "kept", "-": "removed", "+": "added" };

/** The mark of a carriage return. */
const RETURN = "␍";

/**
 * The lines of a change; what says that a line has no end is none of them. Their ends are shown where not all lines have
 * the same: then they may be what changes.
 */
export function linesOfChange(content: string): readonly Line[] {
  const lines = content
    .replace(/\n$/, "")
    .split("\n")
    .flatMap((line) => {
      const kind = KIND[line.charAt(0)];
      return kind === undefined ? [] : [{ kind, text: line.slice(1).replace(/\r$/, RETURN) }];
    });
  const ends = new Set(lines.map(({ text }) => text.endsWith(RETURN)));
  return lines.map(({ kind, text }) => {
    const without = text.endsWith(RETURN) ? text.slice(0, -1) : text;
    return { kind, text: ends.size > 1 ? text : without, bare: reveal(without) };
  });
}

/** The text behind one that the server made safe to show: what cannot be seen stands in it by its number. */
export function reveal(shown: string): string {
  return shown
    .replaceAll("⇥", "\t")
    .replaceAll("⏎", "\n")
    .replaceAll(RETURN, "\r")
    .replaceAll(/⟨([^⟩]*)⟩/g, (mark, inside: string) => {
      const spaces = /^(\d+) spaces?$/.exec(inside)?.[1];
      if (spaces !== undefined) return " ".repeat(Math.min(Number(spaces), MOST_REVEALED));
      const characters = inside.split(" ").map((item) => {
        const [, count, number] = /^(?:(\d+)×)?U\+([0-9A-F]+)$/.exec(item) ?? [];
        const code = Number.parseInt(number ?? "", 16);
        if (!(code <= 0x10_ff_ff)) return undefined;
        return String.fromCodePoint(code).repeat(Math.min(Number(count ?? 1), MOST_REVEALED));
      });
      return characters.includes(undefined) ? mark : characters.join("");
    });
}

/** Most that one mark stands for here: a longer line fits nowhere, which is said. */
const MOST_REVEALED = 10_000;

/** The file with its changes. `changes` are in the order of the file. */
export function reviewText(file: string, changes: readonly ProposedChange[]): ReviewText {
  const now = file.split("\n").map(withoutReturn);
  // A last line end ends a line, it does not begin another one.
  const hasEnd = now.length > 0 && now[now.length - 1] === "";
  if (hasEnd) now.pop();
  const out: string[] = [];
  const placed: PlacedChange[] = [];
  let done = 0;
  for (const { id, oldStart, content } of changes) {
    const lines = linesOfChange(content);
    const before = lines.filter(({ kind }) => kind !== "added").map(({ bare }) => bare);
    const found = place(now, before, Math.max(0, oldStart - 1), done);
    const at = found ?? Math.max(done, Math.min(Math.max(0, oldStart - 1), now.length));
    out.push(...now.slice(done, at));
    // One that fits nowhere stands beside the lines of the file, and takes none of them.
    const shown = found === undefined ? lines.filter(({ kind }) => kind !== "kept") : lines;
    const kinds = shown.map(({ kind }) => kind);
    const first = out.length;
    out.push(...shown.map(({ text }) => text));
    const changed = kinds.flatMap((kind, index) => (kind === "kept" ? [] : [index]));
    const from = changed[0] ?? 0;
    placed.push({
      id,
      lines: { start: first + from, end: first + (changed.at(-1) ?? -1) + 1 },
      removed: runs(kinds, "removed", first),
      added: runs(kinds, "added", first),
      at: at + kinds.slice(0, from).length,
      fits: found !== undefined,
    });
    done = found === undefined ? at : at + before.length;
  }
  out.push(...now.slice(done));
  return { text: out.join("\n") + (hasEnd || out.length > now.length ? "\n" : ""), changes: placed };
}

/** Where these lines stand: where they are said to, else the only place behind `from`. */
function place(now: readonly string[], wanted: readonly string[], said: number, from: number): number | undefined {
  const fits = (at: number): boolean =>
    at >= from && at + wanted.length <= now.length && wanted.every((line, index) => now[at + index] === line);
  if (wanted.length === 0) return now.length === 0 || said >= from ? Math.min(said, now.length) : undefined;
  if (fits(said)) return said;
  let only: number | undefined;
  for (let at = from; at + wanted.length <= now.length; at += 1) {
    if (!fits(at)) continue;
    if (only !== undefined) return undefined;
    only = at;
  }
  return only;
}

function runs(kinds: readonly Kind[], wanted: Kind, first: number): readonly Lines[] {
  const found: Lines[] = [];
  kinds.forEach((kind, index) => {
    if (kind !== wanted) return;
    const last = found.at(-1);
    if (last?.end === first + index) found[found.length - 1] = { start: last.start, end: last.end + 1 };
    else found.push({ start: first + index, end: first + index + 1 });
  });
  return found;
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
