/**
 * What is marked in the editor, as it stands in a prompt.
 *
 * Owns the words of a mention. Knows no VS Code.
 */

/** A place in a text, from 0. */
interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Marked {
  /** The file, as a prompt names it. */
  readonly where: string;
  readonly start: Position;
  readonly end: Position;
  readonly text: string;
  readonly language: string;
}

/** A mention of the file; of marked lines too, with their text. */
export function mention({ where, start, end, text, language }: Marked): string {
  if (text === "") return `@${where} `;
  // Whole lines are marked up to the first column of the next one, and nothing of that is meant.
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  const lines = text.replace(/\r?\n$/, "");
  const fence = "`".repeat(Math.max(3, ...[...lines.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `@${where}:${start.line + 1}-${last + 1}\n${fence}${language}\n${lines}\n${fence}\n`;
}
