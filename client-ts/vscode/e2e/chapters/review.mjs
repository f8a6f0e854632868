// An edit that waits is reviewed in the editor by the keyboard alone, in an editor that saves nothing by itself, while its
// file holds text that is not saved: what was accepted is made, beside what was typed, and no tab is left behind.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { calls, says } from "../model.mjs";
import { eventually, written } from "../stage.mjs";

const BEFORE = Array.from({ length: 40 }, (_, at) => `pub const N_${at + 1}: u32 = ${at + 1};\r\n`).join("");
const BLOCK = Array.from({ length: 300 }, (_, at) => `pub const L_${at + 1}: u32 = ${at + 1};\r\n`).join("");

export default async function review(stage) {
  const { view, card, model, folder, ask, command, page, picture, say } = stage;
  const file = (name) => path.join(folder, "src", name);
  await command("View: Close All Editors");
  await writeFile(file("parts.rs"), BEFORE);
  const after = BEFORE.replace("N_2:", "TWO:").replace("N_15:", "FIFTEEN:").replace(/pub const N_28.*\r\n/, BLOCK);
  model.reply(
    calls("propose_patch", { file_path: "src/parts.rs", rationale: "Names that say more.", new_content: after.replaceAll("\r\n", "\n") }),
    says("Two of three renames stand."),
  );
  await ask("rename three of them");
  await card.waitFor();
  // What is typed meanwhile is not saved, and moves every change.
  await open(stage, "parts.rs");
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("pub const MINE: u32 = 0;\n");
  await page.getByText("A change is proposed here: review it").first().waitFor();
  await picture("review-in-the-file");

  await palette(page, "BreadBoard: Review the Proposed Edit");
  const tab = page.locator('.tab[data-resource-name="Proposed: parts.rs"]');
  await eventually("the review has a tab", async () => ((await tab.count()) === 1 ? true : undefined));
  await page.getByText("Change 1 of 3", { exact: true }).waitFor();
  await picture("review-in-the-editor");
  await page.keyboard.press("y");
  // How much of the file is in sight depends on the window: what was accepted is read off the card.
  await card.locator(".hunk-buttons.accepted").first().waitFor();
  await page.getByText("Change 2 of 3", { exact: true }).waitFor();
  await page.keyboard.press("n");
  await page.getByText("Change 3 of 3", { exact: true }).waitFor();
  await picture("review-decided");
  // A change that is taller than the screen is accepted once it was read to its end.
  await page.keyboard.press("y");
  await page.getByText("Read the change to its end first, then accept it.").first().waitFor();
  for (let pages = 0; pages < 30; pages += 1) {
    await page.keyboard.press("y");
    if (await page.getByText("All is decided.").isVisible()) break;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  await page.getByText("All is decided.").waitFor();
  // The card has the same choices.
  await card.getByRole("button", { name: "Accept 2 of 3 changes" }).waitFor();
  await picture("review-all-decided");
  await page.keyboard.press("Control+Enter");
  await view.getByText("Two of three renames stand.").waitFor();
  await eventually("the tab of the review is gone", async () => ((await tab.count()) === 0 ? true : undefined));
  assert.match(JSON.stringify(model.asked.at(-1).body.messages.at(-1)), /2 of its 3 changes/);
  await picture("review-made");
  // Where it was typed, both stand together, and both are saved by whoever typed.
  await open(stage, "parts.rs");
  await page.keyboard.press("Control+s");
  const expected = `pub const MINE: u32 = 0;\r\n${BEFORE.replace("N_2:", "TWO:").replace(/pub const N_28.*\r\n/, BLOCK)}`;
  assert.equal(await written(stage, "src/parts.rs", "L_300:"), expected);
  say("three changes were decided in the editor by the keyboard alone, beside text that was not saved");
  await left(stage, expected);
}

/** In an editor that saves by itself, a review that is closed half done accepts nothing, and the edit waits on. */
async function left(stage, before) {
  const { view, card, model, ask, command, page, picture, say } = stage;
  await command("File: Toggle Auto Save");
  const after = before.replace("N_5:", "FIVE:").replace("N_20:", "TWENTY:");
  model.reply(
    calls("propose_patch", { file_path: "src/parts.rs", rationale: "More names.", new_content: after.replaceAll("\r\n", "\n") }),
    says("Nothing was made."),
  );
  await ask("rename two more");
  // From the card to the change itself, and its choice to the card.
  await card.locator(".hunk-buttons").nth(1).getByRole("button", { name: "Show in the editor" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Change 2 of 2", { exact: true }).waitFor();
  await page.locator(".editor-instance .monaco-editor.focused").waitFor();
  await page.keyboard.press("y");
  await card.locator(".hunk-buttons.accepted").waitFor();
  await page.keyboard.press("Control+w");
  const tab = page.locator('.tab[data-resource-name="Proposed: parts.rs"]');
  await tab.waitFor({ state: "detached" });
  await card.getByRole("button", { name: "1 of 2 changes to decide" }).waitFor();
  await picture("review-closed");
  await card.getByRole("button", { name: "Decide on all of it at once" }).focus();
  await page.keyboard.press("Enter");
  // Side by side, which closes with the answer.
  await palette(page, "BreadBoard: Review the Proposed Edit");
  await page.getByText("Change 1 of 2", { exact: true }).waitFor();
  await palette(page, "BreadBoard: Show the Proposed File Side by Side");
  const diff = page.locator(".tab", { hasText: "now ↔ proposed" });
  await diff.waitFor();
  await picture("review-side-by-side");
  await card.getByRole("button", { name: "Deny" }).focus();
  await page.keyboard.press("Enter");
  await view.getByText("Nothing was made.").waitFor();
  await diff.waitFor({ state: "detached" });
  await tab.waitFor({ state: "detached" });
  assert.equal(await readFile(path.join(stage.folder, "src", "parts.rs"), "utf8"), before);
  await command("File: Toggle Auto Save");
  say("a review that was closed half done accepted nothing, and an answer closed what was open of it");
}

/** Opens a file as a user does who has no mouse. */
async function open({ page }, name) {
  await page.keyboard.press("Control+p");
  const input = page.locator(".quick-input-widget input");
  await input.waitFor();
  await input.fill(name);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  await page.locator(".editor-instance .monaco-editor.focused").waitFor();
}

/** Runs a command by keys alone. */
async function palette(page, title) {
  await page.keyboard.press("F1");
  const input = page.locator(".quick-input-widget input");
  await input.waitFor();
  await input.fill(`>${title}`);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}
