/** Words of the server in the words of a table. A newer server may say one that the table does not have: it stands there as it came. */

/** The entry of `word`, or, where there is none, what `unknown` makes of it: the word itself without more. */
export function wordOf(table: Readonly<Record<string, string>>, word: string): string;
export function wordOf<T>(table: Readonly<Record<string, T>>, word: string, unknown: T): T;
export function wordOf(table: Readonly<Record<string, unknown>>, word: string, unknown: unknown = word): unknown {
  return Object.hasOwn(table, word) ? table[word] : unknown;
}
