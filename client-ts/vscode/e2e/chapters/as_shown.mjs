// What is allowed is what was shown, and it is done: a change longer than a card is drawn to its last line, a rule says
// where it will hold, and an edit of an open file is on the disk before the next command reads it, or the command asks.
// Nothing is saved by the editor itself: auto-save is off.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { calls, says } from "../model.mjs";
import { written } from "../stage.mjs";

const LINES = 320;
const text = (word) => Array.from({ length: LINES }, (_, at) => `pub const ${word}_${at + 1}: u32 = ${at + 1};\n`).join("");

export default async function asShown(stage) {
  const { page, view, card, model, folder, ask, command, picture, say } = stage;
  await command("View: Close All Editors");

  // Every line of a file is another one: all that goes and all that comes is there before it can be allowed.
  await writeFile(path.join(folder, "src", "table.rs"), text("OLD"));
  model.reply(
    calls("propose_patch", { file_path: "src/table.rs", rationale: "Names that say more.", new_content: text("NEW") }),
    says("All of them are renamed."),
  );
  await ask("rename all of them");
  await card.waitFor();
  const allow = card.getByRole("button", { name: "Allow once" });
  const held = card.getByText("It can be allowed once all of it was shown.");
  await held.waitFor();
  await allow.and(card.locator('[aria-disabled="true"]')).waitFor();
  await card.getByRole("button", { name: /^Show all \d+ lines$/ }).click();
  await held.waitFor({ state: "detached" });
  await card.locator(".diff .line", { hasText: `NEW_${LINES}:` }).waitFor();
  const lines = await card.locator(".diff .line").allTextContents();
  assert.equal(lines.filter((line) => line.startsWith("-pub")).length, LINES);
  assert.equal(lines.filter((line) => line.startsWith("+pub")).length, LINES);
  assert.equal(lines.at(-1), `+pub const NEW_${LINES}: u32 = ${LINES};\n`);
  assert.equal(await card.getByText("not all of").count(), 0);
  await card.locator(".diff .line").last().scrollIntoViewIfNeeded();
  await allow.scrollIntoViewIfNeeded();
  await picture("all-of-a-long-change");
  // By hand: a reader at the end stays there whatever else moves the page.
  await allow.hover();
  await page.mouse.wheel(0, -100);
  await card.getByRole("button", { name: "Compare" }).click();
  await page.locator(".monaco-diff-editor .line-insert").first().waitFor();
  await picture("all-of-a-long-change-compared");
  await allow.click();
  await view.getByText("All of them are renamed.").waitFor();
  assert.equal(await written(stage, "src/table.rs", `NEW_${LINES}`), text("NEW"));
  // Both sides are the same now.
  await page.locator(".tab", { hasText: "table.rs (now ↔ proposed)" }).waitFor({ state: "detached" });
  say(`a change of ${LINES} lines was shown to its last line, and is written as it was shown`);

  // A rule says where it will hold, and is kept there.
  model.reply(calls("run_command", { command: "echo shown-scope", reason: "to see" }), says("It ran once more."));
  await ask("run something for the workspace");
  await card.getByRole("button", { name: /Always allow in this workspace…/ }).click();
  const rule = card.locator(".rule");
  assert.equal(await rule.locator("select").inputValue(), "workspace");
  await picture("scope-of-a-rule");
  await card.getByRole("button", { name: "Save the rule and allow" }).click();
  await view.getByText("It ran once more.").waitFor();
  await view.getByRole("tab", { name: "Run" }).click();
  const kept = view.getByRole("listitem").filter({ hasText: "echo shown-scope" });
  await kept.getByText("in this workspace, kept by the server").waitFor();
  await picture("scope-of-a-rule-kept");
  await kept.getByRole("button", { name: /Take back/ }).click();
  await kept.waitFor({ state: "detached" });
  await view.getByRole("tab", { name: /^Chat/ }).click();
  say("a rule for the workspace said so before it was saved, and is kept for the workspace");

  // The file is open, and nothing in it is unsaved: the edit is on the disk when the command reads it.
  await writeFile(path.join(folder, "src", "open.rs"), "pub fn limit() -> u32 {\n    3\n}\n");
  model.reply(says("It is in `src/open.rs:2`."));
  await ask("where is the limit?");
  await view.locator(".assistant a", { hasText: "src/open.rs:2" }).click();
  const tab = page.locator(".tabs-container .tab", { hasText: "open.rs" });
  await page.locator(".statusbar-item", { hasText: "Ln 2, Col 1" }).waitFor();
  model.reply(
    calls("propose_patch", {
      file_path: "src/open.rs",
      edits: [{ old_text: "    3\n", new_text: "    5\n" }],
      rationale: "Five.",
    }),
    calls("run_command", { command: "grep -n '[0-9]$' src/open.rs", reason: "to see what is on the disk" }),
    says("The disk has it."),
  );
  await ask("five, and look");
  await card.locator(".diff .added", { hasText: "+    5" }).waitFor();
  await allow.click();
  await card.getByText("grep -n").waitFor();
  assert.equal(await readFile(path.join(folder, "src", "open.rs"), "utf8"), "pub fn limit() -> u32 {\n    5\n}\n");
  assert.equal(await page.locator(".tabs-container .tab.dirty").count(), 0, "nothing is unsaved");
  await allow.click();
  await view.getByText("The disk has it.").waitFor();
  assert.match(JSON.stringify(model.asked.at(-1).body.messages.at(-1)), /2: *5/);
  await tab.click();
  await page.locator(".monaco-editor .view-line", { hasText: "5" }).first().waitFor();
  await picture("edit-then-command");
  say("an edit of an open file was saved before the next command, with auto-save off");

  // What the user has not saved, an edit does not save either: the command asks what is to become of it.
  await page.locator(".monaco-editor .view-line", { hasText: "5" }).first().click();
  await page.keyboard.press("End");
  await page.keyboard.type(" // mine");
  await page.locator(".tabs-container .tab.dirty", { hasText: "open.rs" }).waitFor();
  model.reply(
    calls("propose_patch", {
      file_path: "src/open.rs",
      edits: [{ old_text: "pub fn limit", new_text: "pub fn most" }],
      rationale: "A better name.",
    }),
    calls("run_command", { command: "grep -n 'fn ' src/open.rs", reason: "to see what is on the disk now" }),
    says("Both are on the disk."),
  );
  await ask("name it better, and look");
  await card.locator(".diff .added", { hasText: "most" }).waitFor();
  await allow.click();
  const save = card.getByRole("button", { name: "Save and run" });
  await save.waitFor();
  assert.match(await readFile(path.join(folder, "src", "open.rs"), "utf8"), /fn limit/);
  await card.getByText(/not saved/).waitFor();
  await picture("unsaved-and-a-command");
  await save.click();
  await view.getByText("Both are on the disk.").waitFor();
  assert.equal(await written(stage, "src/open.rs", "most"), "pub fn most() -> u32 {\n    5 // mine\n}\n");
  assert.match(JSON.stringify(model.asked.at(-1).body.messages.at(-1)), /fn most/);
  assert.equal(await page.locator(".tabs-container .tab.dirty").count(), 0);
  say("an edit beside unsaved changes was not saved, and the command asked before it ran on the old file");
}
