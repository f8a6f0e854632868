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
    const commands = [...description.matchAll(/\(command:([\w.]+)/g)].map(([, name]) => name ?? "");
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
