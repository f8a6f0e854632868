/** What the manifests say: of the extension to the editor, of the packages to npm. */
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const json = (file: string) => JSON.parse(readFileSync(file, "utf8"));
interface Step {
  readonly id: string;
  readonly when?: string;
  readonly description: string;
  readonly media: { readonly markdown: string };
}
const { contributes } = json("package.json");
const english: Record<string, string> = json("package.nls.json");
/** A text as the editor shows it. */
const shown = (text: string): string => english[text.replace(/^%(.*)%$/, "$1")] ?? text;
const steps: Step[] = contributes.walkthroughs.flatMap((walkthrough: { steps: Step[] }) => walkthrough.steps);

it("the walkthrough asks to trust a folder only where one is open; the other steps are always there", () => {
  expect(steps.map(({ id, when }) => [id, when])).toEqual([
    ["open", undefined],
    ["trust", "workspaceFolderCount > 0"],
    ["model", undefined],
    ["ask", undefined],
    ["spec", undefined],
  ]);
});

it("each step of the walkthrough has its page, and its buttons are commands that there are", () => {
  const ours: string[] = contributes.commands.map(({ command }: { command: string }) => command);
  for (const { id, description, media } of steps) {
    const commands = [...shown(description).matchAll(/\(command:([\w.]+)/g)].map(([, name]) => name ?? "");
    expect([id, commands.length > 0, existsSync(media.markdown)]).toEqual([id, true, true]);
    expect(commands.filter((name) => name.startsWith("breadboard.") && !ours.includes(name)), id).toEqual([]);
  }
});

it("npm has nothing to ask about: each package with a script of its own at installation is denied it", () => {
  const packages: Record<string, { readonly hasInstallScript?: boolean }> = json("../package-lock.json").packages;
  const withScripts = Object.entries(packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([place]) => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length));
  const denied = Object.entries(json("../package.json").allowScripts).filter(([, allowed]) => allowed === false);
  expect(denied.map(([name]) => name)).toEqual([...new Set(withScripts)].sort());
});

it("no key of ours is one that VS Code has, but where only our own review has the focus", () => {
  const { keys, elsewhere } = json("test/vscode_keys.json");
  const taken = new Set<string>([...keys, ...elsewhere]);
  const bound: { command: string; key: string; mac?: string; when?: string }[] = contributes.keybindings;
  const everywhere = bound.filter(({ when }) => when?.includes("resourceScheme == bb-review") !== true);
  expect(everywhere.map(({ command }) => command)).toEqual(["breadboard.open", "breadboard.askSelection", "breadboard.stop"]);
  const clashing = everywhere.flatMap(({ key, mac }) => [key, mac ?? key]).filter((key) => taken.has(key));
  expect(clashing).toEqual([]);
  // With AltGr these are letters on many keyboards.
  expect(bound.filter(({ key }) => /^ctrl\+alt\+.$/.test(key))).toEqual([]);
});

it("every text that the editor shows of us is in English and in German, with the same commands and values in it", () => {
  const german: Record<string, string> = json("package.nls.de.json");
  const manifest = readFileSync("package.json", "utf8");
  const used = [...manifest.matchAll(/"%([^%"]+)%"/g)].map(([, key]) => key ?? "");
  expect([...new Set(used)].sort()).toEqual(Object.keys(english).sort());
  expect(Object.keys(german).sort()).toEqual(Object.keys(english).sort());
  const fixed = (text: string) => [...text.matchAll(/`[^`]*`|\(command:[^)]*\)|\$\{[A-Z]+\}/g)].map(([part]) => part).sort();
  for (const [key, text] of Object.entries(english)) {
    expect([key, fixed(german[key] ?? "")]).toEqual([key, fixed(text)]);
    // Names of products and of standards are the same in both.
    if (!["view.sidebar"].includes(key)) expect(german[key], key).not.toBe(text);
  }
  // Nothing that a person reads is left in the manifest itself.
  const left = [...manifest.matchAll(/"(?:title|description|markdownDescription)": "([^%"][^"]*)"/g)].map(([, text]) => text);
  expect(left).toEqual(["BreadBoard", "BreadBoard"]);
});
