// In a folder that is not trusted: what the page says, what the model is offered, how trust is granted.
import assert from "node:assert/strict";
import { CANARY } from "../stage.mjs";
import { says } from "../model.mjs";

export default async function trust({ page, view, prompt, model, ask, show, command, picture, say }) {
  // The trust dialog; declined: restricted mode, which says why and offers the Trust editor.
  const dialog = page.locator(".monaco-dialog-box");
  await dialog.waitFor();
  await dialog.getByRole("button", { name: /No, I don/ }).click();
  await show("BreadBoard");
  await view.getByText("Restricted mode: this folder is read and searched").waitFor();
  await prompt.waitFor();
  await picture("restricted");
  say("the view is there, and says that the folder is restricted");

  // The token is set while the server runs: by the editor's own input box, not by the page.
  await command("BreadBoard: Set Model Token");
  const box = page.locator(".quick-input-widget input[type=password]");
  await box.waitFor();
  await box.fill(CANARY);
  await page.keyboard.press("Enter");
  await page.locator(".notification-list-item", { hasText: "The token is stored, and used for http://127.0.0.1:" }).waitFor();
  say("the token is stored");

  // The embedded engine reads, and has no tool that writes or runs.
  model.reply(says("I can only read here."));
  await ask("Make the limit a setting");
  await view.getByText("I can only read here.").waitFor();
  const offered = (model.asked.at(-1).body.tools ?? []).map((tool) => tool.function.name);
  assert.ok(
    offered.includes("read_file") && !offered.includes("propose_patch") && !offered.includes("run_command"),
    `offered: ${offered}`,
  );
  await picture("read-only");
  say("a prompt in a restricted folder is answered, and nothing can be written or run");

  await view.getByRole("button", { name: "Manage trust" }).first().click();
  await page.locator(".workspace-trust-editor").waitFor();
  await page
    .locator(".workspace-trust-editor .workspace-trust-buttons-row")
    .getByRole("button", { name: /^Trust$/ })
    .first()
    .click();
  await view.getByText("Restricted mode").waitFor({ state: "detached" });
  say("trust is granted in the Trust editor, and the page knows");
}
