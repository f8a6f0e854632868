// What is in front of the user goes with a prompt: it is shown as chips, one is taken away, and the model hears the rest.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { says } from "../model.mjs";

export const proves = ["R002-95", "R002-100"];

export default async function context(stage) {
  const { view, model, folder, page, ask, command, picture, say } = stage;
  await command("View: Close All Editors");
  await writeFile(path.join(folder, "src", "door.rs"), "fn open() {\n    let key = 1;\n    turn(key);\n}\n");
  await page.keyboard.press("Control+P");
  await page.keyboard.type("door.rs");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "door.rs" }).first().waitFor();
  await page.keyboard.press("Enter");
  const line = page.locator(".monaco-editor .view-line", { hasText: "let key" }).first();
  await line.click();
  // Once to the first letter, once more to the beginning of the line.
  await page.keyboard.press("Home");
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+ArrowDown");
  const chips = view.getByRole("list", { name: "Goes with the prompt" });
  await chips.getByText(/door\.rs:2-2/).waitFor();
  await picture("context-chips");
  const away = chips.getByRole("button", { name: /^Leave out: Open/ });
  // By the keyboard alone.
  await away.focus();
  await page.keyboard.press("Enter");
  await away.waitFor({ state: "detached" });
  model.reply(says("It turns the key."));
  await ask("what is this line for");
  await view.getByText("It turns the key.").waitFor();
  const heard = JSON.stringify(model.asked.at(-1).body.messages.at(-1));
  assert.match(heard, /Selected in the editor: `src\/door\.rs:2-2`/);
  assert.match(heard, /let key = 1;/);
  assert.doesNotMatch(heard, /Open in the editor/);
  const went = view.locator(".went-along").last();
  await went.locator("summary").click();
  await went.getByRole("button", { name: /selection: src\/door\.rs:2-2/ }).waitFor();
  await picture("context-went-along");
  say("what is in front goes with a prompt, what was taken away does not, and both can be seen");
}
