/**
 * The server's sentences in German: those of the table are sentences of the server of this release, no code and no sentence of those that a
 * person meets most lacks its German, and what is not known stays as it came.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { VALUES } from "@breadboard-ls/sdk";
import { expect, it } from "vitest";
import { errorWords, serverWords } from "../src/shared/server_words";
import { LABELS } from "../src/webview/blocks/ask_state";

const german: { said: string; codes: Record<string, string>; sentences: Record<string, string> } = JSON.parse(
  readFileSync("l10n/server.de.json", "utf8"),
);
const SERVER = path.resolve(import.meta.dirname, "../../../src");

/** A file of the server without its tests, its comments and its single characters, of which one may be a quotation mark. */
function source(file: string): string {
  const [text = ""] = readFileSync(path.join(SERVER, file), "utf8").split("#[cfg(test)]");
  return text.replace(/^\s*\/\/.*$/gm, "").replace(/'(?:\\.|[^'\\])'/g, "' '");
}
const files = readdirSync(SERVER, { recursive: true, encoding: "utf8" })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => file.endsWith(".rs") && !/(?:^|[/_])tests?(?:[./_]|$)/.test(file));

/** A literal of Rust as the table has it: its values counted. */
function sentence(literal: string): string {
  let at = 0;
  return literal
    .replace(/\\\n\s*/g, "")
    .replace(/\\"/g, '"')
    .replace(/\{[^{}]*\}/g, () => `{${(at += 1) - 1}}`);
}
const literals = (text: string): string[] => [...text.matchAll(/"((?:[^"\\]|\\[\s\S])*)"/g)].map(([, one]) => sentence(one as string));
/** Of a literal that a person reads as a sentence. */
const isSentence = (text: string): boolean => /^[A-Z{`].*[a-z].* .*\.$/.test(text);
const untranslated = (all: readonly string[]): string[] => [...new Set(all)].filter((one) => german.sentences[one] === undefined);

it("each sentence of the table is one that this server says, with the same values in its German", () => {
  const said = new Set(files.flatMap((file) => literals(source(file))));
  expect(Object.keys(german.sentences).filter((one) => !said.has(one)), "the server says this no more, or in other words").toEqual([]);
  const values = (text: string) => [...new Set([...text.matchAll(/\{(\d):?\}/g)].map(([, at]) => at))].sort();
  for (const [english, text] of Object.entries(german.sentences)) expect(values(text), english).toEqual(values(english));
});

it("every code of an error has its German, and a code that goes takes it along", () => {
  expect(Object.keys(german.codes).sort()).toEqual([...VALUES.ErrorCode].sort());
  expect(Object.values(german.codes).filter((text) => !text.endsWith("."))).toEqual([]);
});

it("what models and engines fail with, and whatever a code of trust, of a session or of a token says, has its German", () => {
  const whole = ["host/models/failure.rs", "engine/breadboard/engine_error.rs"].flatMap((file) => literals(source(file)).filter(isSentence));
  const codes = "UntrustedWorkspace|UnknownSession|UnknownTab|UnknownRequest|UnknownMethod|EngineUnauthorized|EngineUnreachable";
  const coded = files
    // What is told to an agent, and not to a person.
    .filter((file) => file !== "engine/acp/wanted.rs")
    .flatMap((file) => [...source(file).matchAll(new RegExp(`ErrorCode::(?:${codes}),\\s*(?:format!\\(\\s*)?"((?:[^"\\\\]|\\\\[\\s\\S])*)"`, "g"))])
    .map(([, one]) => sentence(one as string));
  expect([whole.length > 30, coded.length > 25]).toEqual([true, true]);
  expect(untranslated([...whole, ...coded])).toEqual([]);
});

it("why something is asked has its German, whatever is judged, and so has each answer that the server offers", () => {
  const judged = ["judgement.rs", "program.rs", "command_class.rs"].flatMap((file) =>
    literals(source(`core/domain/policy/${file}`)).filter((text) => /^[a-z]+s (?:.+ )?\S{3,}/.test(text)),
  );
  const standing = ["core/domain/policy/standing.rs", "app/standing.rs"].flatMap((file) =>
    literals(source(file)).filter((text) => text.startsWith("Asked because ")),
  );
  expect([judged.length > 15, standing.length > 4]).toEqual([true, true]);
  expect(untranslated([...judged, ...standing])).toEqual([]);
  const offered = files
    .filter((file) => !file.startsWith("simulate/"))
    .flatMap((file) => [...source(file).matchAll(/PermissionOption::plain\(\s*[^,"]*(?:"[^"]*")?,\s*"([A-Z][^"]*)"|PermissionOption::ruling\(\s*"[^"]*",\s*"([A-Z][^"]*)"|PermissionOption \{ label: "([A-Z][^"]*)"/g)])
    .map(([, plain, ruling, label]) => plain ?? ruling ?? label) as string[];
  expect(new Set(offered).size).toBeGreaterThan(6);
  expect([...new Set(offered)].filter((label) => LABELS[label] === undefined)).toEqual([]);
});

it("a sentence is whole in German or whole as it came", () => {
  const of = (text: string) => serverWords(text, "de");
  expect([
    of("Asked because your setting asks for everything; it only reads (`ls -la`)."),
    of("Asked because it starts `rm`, which is not known here."),
    of("Asked because it does a thing of a newer release."),
    of("There is no session `a.b`; list the sessions and choose one."),
    of("The model at https://a.example was sent nothing, because its certificate expired 12 days ago; ask whoever runs it."),
    of("What answers at http://a.example speaks no HTTP, so it is no model; correct the model's address, which begins with https where it has TLS."),
    of("What answers at https://a.example speaks no HTTP, so it is no model; correct the model's address."),
    of("Said by an agent."),
    serverWords("The turn was stopped.", "en"),
    serverWords("The turn was stopped.", "fr"),
  ]).toEqual([
    "Gefragt, denn Ihre Einstellung fragt nach allem; es liest nur (`ls -la`).",
    "Gefragt, denn es startet `rm`, was hier nicht bekannt ist.",
    "Asked because it does a thing of a newer release.",
    "Es gibt keine Sitzung `a.b`; wählen Sie eine aus der Liste der Sitzungen.",
    "Dem Modell bei https://a.example wurde nichts gesendet, denn sein Zertifikat ist vor 12 Tagen abgelaufen; fragen Sie, wer es betreibt.",
    "Was bei http://a.example antwortet, spricht kein HTTP und ist also kein Modell; berichtigen Sie die Adresse des Modells, die mit https beginnt, wo es TLS hat.",
    "Was bei https://a.example antwortet, spricht kein HTTP und ist also kein Modell; berichtigen Sie die Adresse des Modells.",
    "Said by an agent.",
    "The turn was stopped.",
    "The turn was stopped.",
  ]);
});

it("whatever somebody writes, looking for it takes no time to speak of", () => {
  const pieces = Object.keys(german.sentences).map((one) => one.split(/\{\d\}/));
  const begun = performance.now();
  for (const [first = "", ...rest] of pieces) {
    const [second = ""] = rest;
    const long = (first + second.repeat(5_000)).slice(0, 999);
    for (const text of [long, `${long}!`, `${first}${"); wait ".repeat(120)}`, second.repeat(100_000)]) serverWords(text, "de");
  }
  // Some six hundred sentences; one that ran away would take minutes.
  expect(performance.now() - begun).toBeLessThan(20_000);
});

it("of an error whose sentence is not known its code says in German what it is, and the server's own words follow", () => {
  const of = (code: string, message: string, language = "de") => errorWords({ code, message }, language);
  expect([
    of("not_found", "There is no file `$&`; look."),
    of("cancelled", "The turn was stopped."),
    of("made_up", "It was made up."),
    of("not_found", "There is no file.", "en"),
  ]).toEqual([
    "Das Genannte gibt es nicht, oder nicht mehr. Der Server sagt dazu (auf Englisch): There is no file `$&`; look.",
    "Der Durchgang wurde angehalten.",
    "It was made up.",
    "There is no file.",
  ]);
});
