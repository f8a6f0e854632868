// An edit is decided change by change: what was chosen is on the disk and nothing else of it, in an editor that saves
// nothing itself, and the agent is told which.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { calls, says } from "../model.mjs";
import { written } from "../stage.mjs";

const BEFORE = Array.from({ length: 30 }, (_, at) => `pub const N_${at + 1}: u32 = ${at + 1};\n`).join("");

export default async function hunks(stage) {
  const { view, card, model, folder, ask, command, picture, say } = stage;
  await command("View: Close All Editors");
  await writeFile(path.join(folder, "src", "parts.rs"), BEFORE);
  const after = BEFORE.replace("N_2:", "TWO:").replace("N_15:", "FIFTEEN:").replace("N_28:", "LATE:");
  model.reply(
    calls("propose_patch", { file_path: "src/parts.rs", rationale: "Names that say more.", new_content: after }),
    says("Two of three were made."),
  );
  await ask("rename three of them");
  const choices = card.locator(".hunk-buttons");
  await choices.nth(2).waitFor();
  assert.equal(await choices.count(), 3);
  // The chat stays at its end until a hand goes up.
  await choices.nth(0).getByRole("button", { name: "Accept" }).focus();
  await choices.nth(0).getByRole("button", { name: "Accept" }).click();
  const send = card.getByRole("button", { name: /changes to decide$/ });
  assert.equal(await send.textContent(), "2 of 3 changes to decide");
  await choices.nth(1).getByRole("button", { name: "Reject" }).click();
  await picture("change-by-change");
  // The last one by the keyboard alone.
  await choices.nth(2).getByRole("button", { name: "Accept" }).focus();
  await stage.page.keyboard.press("Enter");
  assert.equal(await readFile(path.join(folder, "src", "parts.rs"), "utf8"), BEFORE);
  await card.getByRole("button", { name: "Accept 2 of 3 changes" }).click();
  await view.getByText("Two of three were made.").waitFor();
  const expected = BEFORE.replace("N_2:", "TWO:").replace("N_28:", "LATE:");
  assert.equal(await written(stage, "src/parts.rs", "LATE:"), expected);
  assert.match(JSON.stringify(model.asked.at(-1).body.messages.at(-1)), /2 of its 3 changes/);
  await view.getByText("allowed: “Accept 2 of 3 changes”").first().waitFor();
  await picture("change-by-change-made");
  // And it is taken back, but for what the user wrote since.
  await writeFile(path.join(folder, "src", "parts.rs"), `// mine\n${expected}`);
  await view.locator(".approval.allowed").last().getByRole("button", { name: "Take back…" }).click();
  await picture("change-by-change-take-back");
  await view.getByRole("button", { name: "Take back", exact: true }).click();
  await view.getByText("src/parts.rs: what this edit changed was taken back.").first().waitFor();
  assert.equal(await written(stage, "src/parts.rs", "N_28:"), `// mine\n${BEFORE}`);
  say("of three changes two were made as they were chosen and taken back, and the agent was told which");
}
