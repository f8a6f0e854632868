// The window is reloaded while an ask waits: the transcript, the draft and the ask are there again.
import assert from "node:assert/strict";
import { calls, says } from "../model.mjs";

export default async function reload({ page, view, prompt, card, model, ask, picture, say }) {
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
  await prompt.fill("a draft that is not sent");
  await page.reload({ waitUntil: "domcontentloaded" });
  await page.locator(".monaco-workbench").waitFor();
  await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
  await view.locator(".approval").last().waitFor();
  assert.equal(await prompt.inputValue(), "a draft that is not sent");
  await view.locator(".user", { hasText: "note it" }).waitFor();
  await picture("reloaded");
  say("after a reload of the window: the transcript, the draft, and the ask as it stands");
  await prompt.fill("");
}
