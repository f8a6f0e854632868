/**
 * The text of a file as it was before a turn, made of the file as it is now.
 *
 * Owns which lines give way to those that were there. Pure: what somebody changed since stays as it is, and nothing that is
 * made here is ever written.
 */
import { linesOfChange } from "./review_text";

/** A change of a turn as the server tells it. */
export interface TurnHunk {
  readonly content: string;
  /** Where its new lines stand now, from 1, inclusive; absent where they do not stand as they were left. */
  readonly at?: { readonly startLine: number; readonly endLine: number } | null;
}

/** The file without the changes of the turn that stand in it. */
export function beforeTurn(now: string, hunks: readonly TurnHunk[]): string {
  const end = now.includes("\r\n") ? "\r\n" : "\n";
  const lines = now.split(/\r?\n/);
  const hasEnd = lines.at(-1) === "";
  if (hasEnd) lines.pop();
  const standing = hunks.flatMap(({ content, at }) => (at == null ? [] : [{ content, at }]));
  // From the last one up, so that none moves another.
  for (const { content, at } of standing.sort((a, b) => b.at.startLine - a.at.startLine))
    lines.splice(at.startLine - 1, at.endLine - at.startLine + 1, ...oldLines(content));
  return lines.join(end) + (hasEnd && lines.length > 0 ? end : "");
}

/** What was there before, without the lines around it that stay. */
function oldLines(content: string): readonly string[] {
  const lines = linesOfChange(content);
  const first = lines.findIndex(({ kind }) => kind !== "kept");
  const last = lines.length - [...lines].reverse().findIndex(({ kind }) => kind !== "kept");
  return lines.slice(first, last).filter(({ kind }) => kind !== "added").map(({ bare }) => bare);
}
