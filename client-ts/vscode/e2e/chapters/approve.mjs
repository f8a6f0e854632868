// An edit and a command: shown before they are done, done once they are allowed.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { calls, says } from "../model.mjs";
import { written } from "../stage.mjs";

const BEFORE = "pub fn retries() -> u32 {\n    3\n}\n";

export default async function approve(stage) {
  const { page, view, card, model, folder, ask, picture, say } = stage;
  // The card shows the edit, the diff opens in the editor, the answer writes it.
  model.reply(
    calls("propose_patch", {
      file_path: "src/lib.rs",
      edits: [{ old_text: "    3\n", new_text: "    5\n" }],
      rationale: "Five tries are better.",
      acceptance_criteria: ["`retries` gives 5."],
    }),
    says("It is five now."),
  );
  await ask("five please");
  await card.waitFor();
  await card.locator(".diff .added", { hasText: "+    5" }).waitFor();
  await page.locator(".statusbar-item", { hasText: "BreadBoard: 1" }).waitFor();
  await picture("approval");
  await view.locator(".patch").getByRole("button", { name: "Compare" }).click();
  await page.locator(".monaco-diff-editor").waitFor();
  await page.locator(".monaco-diff-editor .line-insert").first().waitFor();
  await picture("native-diff");
  say("the edit is shown in the card and in the editor's own diff view");
  assert.equal(await readFile(path.join(folder, "src", "lib.rs"), "utf8"), BEFORE);
  await card.getByRole("button", { name: "Allow once" }).click();
  await view.getByText("It is five now.").waitFor();
  await view.locator(".approval.allowed").waitFor();
  assert.equal(await written(stage, "src/lib.rs", "5"), BEFORE.replace("    3", "    5"));
  say("allowed once, it is written");

  // A command: in the editor's terminal, where the user sees it.
  model.reply(calls("run_command", { command: "echo from-the-terminal", reason: "to see" }), says("It ran."));
  await ask("run it");
  await card.getByRole("button", { name: "Allow once" }).waitFor();
  await card.getByRole("button", { name: /session/ }).click();
  await card.locator(".rule input").waitFor();
  await picture("rule");
  await card.getByRole("button", { name: "Allow once" }).click();
  await view.getByText("It ran.").waitFor();
  await page.locator(".terminal-tab, .tabs-list .terminal-tabs-entry, .single-terminal-tab, .xterm").first().waitFor();
  assert.match(JSON.stringify(model.asked.at(-1).body.messages.at(-1)), /from-the-terminal/);
  await picture("terminal");
  say("a command ran in the terminal, and its output came back");
}
