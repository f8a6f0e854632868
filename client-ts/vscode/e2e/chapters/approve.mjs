// Edits and commands: shown before they are done, done once they are allowed. Rules: saved as they are shown.
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
  // One edit is one card: call, patch and ask.
  assert.equal(await view.locator(".card.patch").count(), 0);
  assert.equal(await view.locator(".card.tool", { hasText: "Change src/lib.rs" }).count(), 0);
  await card.getByRole("button", { name: "Compare" }).click();
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

  // A change that is longer than what a view carries: all of it can be read before it is allowed.
  const lines = Array.from({ length: 320 }, (_, at) => `line ${at + 1} of a file that is longer than what a view has`);
  model.reply(
    calls("propose_patch", { file_path: "long.txt", rationale: "Long.", new_content: `${lines.join("\n")}\n` }),
    says("It is not written."),
  );
  await ask("write a long file");
  await card.getByText("121 more lines.").waitFor();
  await card.getByRole("button", { name: "Show all 321 lines" }).click();
  assert.equal(await card.locator(".diff .line").last().textContent(), `+${lines.at(-1)}\n`);
  assert.equal(await card.getByText("This is not all of").count(), 0);
  const [inner, outer] = await Promise.all([card.locator(".diff pre").boundingBox(), card.boundingBox()]);
  assert.ok(inner.x + inner.width <= outer.x + outer.width, "a long line scrolls within the card");
  await card.locator('.buttons button[aria-disabled="false"]', { hasText: "Deny" }).click();
  await view.getByText("It is not written.").waitFor();
  say("a long change is there to its last line");

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
  const ran = view.locator(".card.tool").last();
  assert.match(await ran.locator("summary").textContent(), /^Run echo from-the-terminal/);
  await ran.locator("summary").click();
  assert.doesNotMatch(await ran.locator(".output").textContent(), /[{}]/);
  await picture("tool-result");
  say("a command ran in the terminal, and its output came back as text");

  // A place that an answer names opens at its line.
  model.reply(says("It stands in `src/lib.rs:2:5`."));
  await ask("where is it?");
  // While it is written a piece of the answer is drawn anew, and a click between two of them meets nothing.
  await stage.idle();
  await view.locator(".assistant a", { hasText: "src/lib.rs:2:5" }).click();
  await page.locator(".statusbar-item", { hasText: "Ln 2, Col 5" }).waitFor();
  say("a place in an answer opened at its line");

  // A rule holds where its own option says, whichever option was looked at before.
  model.reply(calls("run_command", { command: "echo for-the-workspace", reason: "to see" }), says("It ran again."));
  await ask("run another");
  await card.getByRole("button", { name: /session/ }).click();
  await card.getByRole("button", { name: /in this workspace…/ }).click();
  await card.getByRole("button", { name: "Save the rule and allow" }).click();
  await view.getByText("It ran again.").waitFor();
  await view.getByRole("tab", { name: "Run" }).click();
  const rule = view.getByRole("listitem").filter({ hasText: "echo for-the-workspace" });
  await rule.getByText("in this workspace, kept by the server").waitFor();
  await rule.getByRole("button", { name: /Take back/ }).click();
  await rule.waitFor({ state: "detached" });
  await view.getByRole("tab", { name: "Chat" }).click();
  say("a rule was saved for the workspace, and taken back");
}
