/**
 * What the pages say, in the language that the editor is shown in.
 *
 * Owns which language that is: the page's own, which the host writes into it. The sentences themselves are English where they are
 * said, as `vscode.l10n` has it; the table of another language is the same file that the editor reads for the host, and a sentence
 * that it lacks stays English. What the server says is looked up as well (`server_words`); what a model or an agent says is theirs and comes
 * as it is.
 */
import { BreadboardError } from "@breadboard-ls/sdk";
import { errorWords, serverWords } from "../shared/server_words";
import german from "../../l10n/bundle.l10n.de.json";

const TABLES: Readonly<Record<string, Readonly<Record<string, string>>>> = { de: german };

const language = (globalThis as { document?: Document }).document?.documentElement.lang ?? "en";
const table = TABLES[language] ?? {};

/** How times, numbers and money are written: as the browser has it, and in a page of another language as that one has it. */
export const LOCALE = ownLocale();

function ownLocale(): string | undefined {
  const page = (globalThis as { document?: Document }).document?.documentElement.lang ?? "";
  return TABLES[page] === undefined || navigator.language.startsWith(page) ? undefined : page;
}

/** The sentence in the page's language, with `{0}`, `{1}` … replaced by the values. */
export function t(message: string, ...values: readonly (string | number | null | undefined)[]): string {
  const text = table[message] ?? message;
  return values.length === 0 ? text : text.replace(/\{(\d)\}/g, (_, at: string) => String(values[Number(at)] ?? ""));
}

/** The same for a word that is another one elsewhere; `where` says which it is, and stands behind a slash in the table. */
export function tOf(message: string, where: string): string {
  return table[`${message}/${where}`] ?? message;
}

/** A sentence of the server in the page's language, as far as there is one. */
export function said(sentence: string): string {
  return serverWords(sentence, language);
}

/** What an error says. What the host refused it has said in the page's language already. */
export function saidOf(error: unknown): string {
  if (error instanceof BreadboardError && (Object(error.details) as { by?: unknown }).by !== "editor")
    return errorWords(error, language);
  return typeof error === "string" ? said(error) : error instanceof Error ? error.message : String(error);
}
