// The window is reloaded while an ask waits: the transcript, the draft and the ask are there again, and its answer
// continues the turn.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { calls, says } from "../model.mjs";
import { eventually, fileWith, written } from "../stage.mjs";

const DRAFT = "a draft that is not sent";

export default async function reload(stage) {
  const { page, view, prompt, card, model, editor, ask, idle, picture, say } = stage;
  model.reply(
    calls("propose_patch", {
      file_path: "notes.md",
      edits: [{ old_text: "Nothing yet.", new_text: "Something." }],
      rationale: "Because.",
      acceptance_criteria: [],
    }),
    says("Written."),
  );
  await ask("note it");
  await card.waitFor();
  await prompt.fill(DRAFT);
  // It is kept as it is typed; a page that goes in that moment takes it along.
  await eventually("the draft is kept", () => fileWith(path.join(editor.data, "User"), DRAFT));
  await page.reload({ waitUntil: "domcontentloaded" });
  await page.locator(".monaco-workbench").waitFor();
  await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
  await view.locator(".approval").last().waitFor();
  assert.equal(await prompt.inputValue(), DRAFT);
  await view.locator(".user", { hasText: "note it" }).waitFor();
  await picture("reloaded");
  say("after a reload of the window: the transcript, the draft, and the ask as it stands");
  await prompt.fill("");
  // The server went with the window, and the turn waits for the answer in the next one.
  await card.getByRole("button", { name: "Allow once" }).click();
  await view.locator(".assistant", { hasText: "Written." }).waitFor();
  const now = await written(stage, "notes.md", "Something.");
  await idle();
  say("and its answer writes the file and continues the turn");
  // Other chapters write into it too.
  await writeFile(path.join(stage.folder, "notes.md"), now.replace("Something.", "Nothing yet."));
}
