// What a turn changed is listed below it, compared, and taken back by the keyboard alone, while the file holds text that is
// not saved: that stays. The undo shows first what it does, and can itself be taken back.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { open, palette } from "../by_keys.mjs";
import { calls, says } from "../model.mjs";
import { eventually, written } from "../stage.mjs";

const BEFORE = Array.from({ length: 20 }, (_, at) => `pub const N_${at + 1}: u32 = ${at + 1};\n`).join("");

export default async function undoTurn(stage) {
  const { view, card, model, folder, ask, command, page, picture, say } = stage;
  await command("View: Close All Editors");
  await writeFile(path.join(folder, "src", "turn.rs"), BEFORE);
  const after = BEFORE.replace("N_2:", "TWO:").replace("N_15:", "FIFTEEN:");
  model.reply(
    calls("propose_patch", { file_path: "src/turn.rs", rationale: "Names that say more.", new_content: after }),
    says("Both were made."),
  );
  await ask("rename two of them");
  await card.waitFor();
  const [allow, beginning] = ["Allow once", "Show its beginning"].map((name) => card.getByRole("button", { name }));
  // All of it is to be seen first, and a card that is taller than the list comes with its end.
  await eventually("it can be allowed", async () => {
    if (await beginning.isVisible()) await beginning.press("Enter");
    return (await allow.getAttribute("aria-disabled")) === "false" ? true : undefined;
  });
  await allow.press("Enter");
  await view.getByText("Both were made.").waitFor();
  await stage.idle();
  assert.equal(await written(stage, "src/turn.rs", "TWO:"), after);
  const rows = view.locator(".turn-changes", { hasText: "This turn changed 1 file" });
  await rows.last().waitFor();
  const row = rows.last();
  await row.getByRole("button", { name: "Review" }).focus();
  await page.keyboard.press("Enter");
  await row.getByText("as it was left").waitFor();
  await row.getByRole("button", { name: "Mark reviewed" }).focus();
  await page.keyboard.press("Enter");
  await row.getByRole("button", { name: "Reviewed", exact: true }).waitFor();
  await picture("turn-changes");
  await row.getByRole("button", { name: "Compare" }).focus();
  await page.keyboard.press("Enter");
  await page.locator(".tab", { hasText: "before ↔ after the turn" }).waitFor();
  await page.locator(".monaco-diff-editor .view-line", { hasText: "FIFTEEN" }).first().waitFor();
  await page.locator(".monaco-diff-editor .view-line", { hasText: "N_15" }).first().waitFor();
  await picture("turn-compared");
  await command("View: Close All Editors");

  // What is typed since, and not saved, stays.
  await open(stage, "turn.rs");
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("pub const MINE: u32 = 0;\n");
  await palette(page, "BreadBoard: Undo the Last Turn");
  const dialog = page.locator(".monaco-dialog-box");
  await dialog.getByText("Undo what the turn changed?").waitFor();
  await dialog.getByText("src/turn.rs +2 −2, in the open editor").waitFor();
  await picture("turn-undo-asks");
  await dialog.getByRole("button", { name: "Undo", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("1 file was taken back.").first().waitFor();
  await picture("turn-undone");
  await eventually("the row says so", async () => ((await row.getByText("taken back").count()) > 0 ? true : undefined));
  await page.locator(".monaco-editor .view-line", { hasText: "MINE" }).first().waitFor();
  await page.locator(".monaco-editor .view-line", { hasText: "N_2:" }).first().click();
  await page.keyboard.press("Control+s");
  assert.equal(await written(stage, "src/turn.rs", "MINE"), `pub const MINE: u32 = 0;\n${BEFORE}`);

  // And the undo is taken back.
  await page.getByRole("button", { name: "Take the Undo Back" }).first().click();
  await dialog.getByText("Undo what the turn changed?").waitFor();
  await dialog.getByRole("button", { name: "Undo", exact: true }).focus();
  await page.keyboard.press("Enter");
  assert.equal(await written(stage, "src/turn.rs", "FIFTEEN:"), `pub const MINE: u32 = 0;\n${after}`);
  say("a turn was undone beside text that was not saved, after it was shown what that does, and the undo was taken back");
}
