/**
 * What the server says to a person, in the language of the editor.
 *
 * Owns that a sentence is either whole in that language or whole as the server said it. The server speaks English to every editor; its
 * sentences are the keys of the table, as ours are of the bundle, and a sentence that the table does not have stays as it is. Of an error
 * the code then says in that language what kind of failure it is, and the server's own words follow. Pure.
 */
import german from "../../l10n/server.de.json";

interface Table {
  /** How an error is said of which only the code is known: `{0}` for that, `{1}` for the server's own words. */
  readonly said: string;
  readonly codes: Readonly<Record<string, string>>;
  /** By the server's sentence, with `{0}` for a value. `{0:}` in a translation is a value that is itself a sentence of the table. */
  readonly sentences: Readonly<Record<string, string>>;
}

/** A sentence that has values in it. */
interface Template {
  readonly fits: RegExp;
  readonly text: string;
}

/**
 * Most characters of a sentence that is looked up. The longest of the table has two hundred and values beside them; what an agent says in
 * a notice may be any length, and looking for several values in it takes a power of that.
 */
const MOST_LOOKED_UP = 1_000;

const TABLES: Readonly<Record<string, Table>> = { de: german };
const templates = new Map<string, readonly Template[]>();

/** The sentence in that language; as it is where the table does not have it, or the language has no table. */
export function serverWords(sentence: string, language: string): string {
  return translated(sentence, language) ?? sentence;
}

/** The same of an error of the server. */
export function errorWords({ code, message }: { readonly code: string; readonly message: string }, language: string): string {
  const table = TABLES[language];
  const known = translated(message, language);
  if (known !== undefined || table === undefined) return known ?? message;
  const kind = Object.hasOwn(table.codes, code) ? table.codes[code] : undefined;
  return kind === undefined ? message : table.said.replace("{0}", () => kind).replace("{1}", () => message);
}

function translated(sentence: string, language: string): string | undefined {
  const table = TABLES[language];
  if (table === undefined || sentence.length > MOST_LOOKED_UP) return undefined;
  if (Object.hasOwn(table.sentences, sentence)) return table.sentences[sentence];
  for (const { fits, text } of templatesOf(language, table)) {
    const values = fits.exec(sentence);
    const words = values === null ? undefined : filled(text, values.slice(1), language);
    if (words !== undefined) return words;
  }
  return undefined;
}

/** `undefined` where a value that must be known is not. */
function filled(text: string, values: readonly string[], language: string): string | undefined {
  let known = true;
  const words = text.replace(/\{(\d)(:?)\}/g, (_, at: string, part: string) => {
    const value = values[Number(at)] ?? "";
    const said = part === "" || value === "" ? value : translated(value, language);
    if (said === undefined) known = false;
    return said ?? "";
  });
  return known ? words : undefined;
}

/** Those with values, and of them first those that say most themselves. */
function templatesOf(language: string, { sentences }: Table): readonly Template[] {
  const made = templates.get(language);
  if (made !== undefined) return made;
  const all = Object.entries(sentences)
    .filter(([sentence]) => /\{\d\}/.test(sentence))
    .sort(([one], [other]) => other.replace(/\{\d\}/g, "").length - one.replace(/\{\d\}/g, "").length)
    .map(([sentence, text]) => ({ fits: fitting(sentence), text }));
  templates.set(language, all);
  return all;
}

function fitting(sentence: string): RegExp {
  const pieces = sentence.split(/\{\d\}/).map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${pieces.join("([^\\n]*?)")}$`);
}
