/**
 * Where a piece of code belongs in a file, and what a diff changes there. Pure.
 *
 * Owns the rule: what is marked is replaced; else the stretch of lines that begins like the code and ends like it, at the same
 * depth, where there is one such beginning; else nothing is known. Hunks are found by their own lines, near where they say.
 */

/** Lines from `from` to `to`, both included, become these; `to` before `from`: they are put in front. */
export interface LineChange {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

export function placeOfCode(
  code: string,
  file: readonly string[],
  marked?: { readonly from: number; readonly to: number },
): LineChange | undefined {
  const lines = code.replace(/\r?\n$/, "").split(/\r?\n/);
  const first = lines.find((line) => line.trim() !== "");
  const last = lines.findLast((line) => line.trim() !== "");
  if (first === undefined || last === undefined) return undefined;
  if (marked !== undefined)
    return { ...marked, lines: moved(lines, depth(file[marked.from] ?? "") - depth(first)) };
  const begins = indexesOf(file, first);
  const [from] = begins;
  if (from === undefined || begins.length > 1) return undefined;
  const shift = depth(file[from] ?? "") - depth(first);
  const wanted = depth(last) + shift;
  if (lines.filter((line) => line.trim() !== "").length === 1) return { from, to: from, lines: moved(lines, shift) };
  const to = file.findIndex((line, at) => at > from && line.trim() === last.trim() && depth(line) === wanted);
  return to < 0 ? undefined : { from, to, lines: moved(lines, shift) };
}

/** One change of a diff. */
export interface DiffHunk {
  /** Line, from 0, where it says that it begins. */
  readonly at: number;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

export function isDiff(text: string): boolean {
  return /^(?:diff --git |--- \S|@@ )/m.test(text) && /^[+-]/m.test(text);
}

/** The files of a diff with their changes; `file` is absent where it names none. */
export function diffOf(text: string): readonly { readonly file?: string; readonly hunks: readonly DiffHunk[] }[] {
  const files: { file?: string; hunks: { at: number; before: string[]; after: string[] }[] }[] = [];
  for (const line of text.replace(/\r?\n$/, "").split(/\r?\n/)) {
    const named = /^\+\+\+ (?:b\/)?([^\t]+)/.exec(line)?.[1];
    const hunk = /^@@ -(\d+)/.exec(line)?.[1];
    if (named !== undefined) files.push({ file: named.trim(), hunks: [] });
    else if (line.startsWith("@@")) {
      if (files.length === 0) files.push({ hunks: [] });
      files.at(-1)?.hunks.push({ at: Math.max(0, Number(hunk ?? 1) - 1), before: [], after: [] });
    } else if (!/^(?:diff |index |--- |\\)/.test(line)) {
      const current = files.at(-1)?.hunks.at(-1);
      if (current === undefined) continue;
      if (!line.startsWith("+")) current.before.push(line.slice(1));
      if (!line.startsWith("-")) current.after.push(line.slice(1));
    }
  }
  return files.filter(({ hunks }) => hunks.length > 0);
}

/** What the hunks change in this file; `undefined` where the lines of one are not there. */
export function changesOf(file: readonly string[], hunks: readonly DiffHunk[]): readonly LineChange[] | undefined {
  const changes: LineChange[] = [];
  for (const { at, before, after } of hunks) {
    const places = file.map((_, from) => from).filter((from) => before.every((line, next) => file[from + next] === line));
    const nearest = places.toSorted((one, other) => Math.abs(one - at) - Math.abs(other - at))[0];
    if (nearest === undefined) return undefined;
    changes.push({ from: nearest, to: nearest + before.length - 1, lines: after });
  }
  return changes;
}

/** The file with these changes in it. */
export function withChanges(file: readonly string[], changes: readonly LineChange[]): readonly string[] {
  const out = [...file];
  // From below, so that the places above stay.
  for (const { from, to, lines } of changes.toSorted((one, other) => other.from - one.from))
    out.splice(from, to - from + 1, ...lines);
  return out;
}

function indexesOf(file: readonly string[], line: string): readonly number[] {
  return file.flatMap((one, at) => (one.trim() === line.trim() ? [at] : []));
}

function depth(line: string): number {
  return line.length - line.trimStart().length;
}

/** The lines so many blanks further in, or out as far as they go. */
function moved(lines: readonly string[], by: number): readonly string[] {
  if (by === 0) return lines;
  return lines.map((line) =>
    line.trim() === "" ? line : by > 0 ? " ".repeat(by) + line : line.slice(Math.min(-by, depth(line))),
  );
}
