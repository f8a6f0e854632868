// axe-core over the sidebar (with an ask, a diff, code and a table) and over the panel of a new spec, in the editor's
// own light, dark and high-contrast themes: no violation that is serious or critical.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { calls, says } from "../model.mjs";

const THEMES = [
  { name: "Default Light Modern", kind: "vscode-light" },
  { name: "Default Dark Modern", kind: "vscode-dark" },
  { name: "Default High Contrast", kind: "vscode-high-contrast" },
];
const SOURCE = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export default async function accessibility(stage) {
  const { view, panel, card, model, editor, ask, command, picture, say } = stage;
  model.reply(
    says("Some `code`, a [link](src/lib.rs:1) and\n\n> a quote\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"),
  );
  await ask("show me everything");
  await view.locator(".assistant table").last().waitFor();
  model.reply(
    calls("propose_patch", {
      file_path: "notes.md",
      edits: [{ old_text: "# Notes", new_text: "# Some notes" }],
      rationale: "A title.",
      acceptance_criteria: [],
    }),
    says("Not written."),
  );
  await ask("and a change");
  await card.getByRole("button", { name: "Deny" }).waitFor();
  await command("BreadBoard: Create Spec");
  await panel.locator("[role=form][aria-busy=false]").waitFor();
  await panel.getByRole("button", { name: "Submit", exact: true }).click();
  await panel.getByText("Describe the spec first.").waitFor();

  const found = [];
  for (const { name, kind } of THEMES) {
    await editor.user({ "workbench.colorTheme": name });
    await view.locator(`body.${kind}`).waitFor();
    await panel.locator(`body.${kind}`).waitFor();
    for (const [place, frame] of [
      ["the sidebar", await stage.sidebarFrame()],
      ["the panel", await stage.panelFrame()],
    ])
      found.push(...(await scan(frame)).map((violation) => `${name}, ${place}: ${violation}`));
    await picture(`theme-${kind}`);
  }
  await editor.user({});
  assert.deepEqual(found, []);
  say(`axe-core has no serious or critical complaint in ${THEMES.length} themes`);
  await card.getByRole("button", { name: "Deny" }).click();
  await view.locator(".assistant", { hasText: "Not written." }).waitFor();
  await panel.getByRole("button", { name: "Cancel", exact: true }).click();
}

async function scan(frame) {
  await frame.evaluate(await SOURCE);
  return frame.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary.replace(/\s+/g, " ")}`),
      );
  });
}
