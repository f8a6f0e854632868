// Where the agent meets the editor: `@` finds a file by any part of its path and a symbol that a language server knows, the lightbulb explains, the menu of Source Control writes
// the message of a commit, the changes of a branch are reviewed, and a turn that failed while nobody looked is told.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { openFile } from "../editor.mjs";
import { eventually } from "../stage.mjs";
import { breaks, gate, says } from "../model.mjs";

export default async function natives({ page, view, model, folder, prompt, idle, command, show, picture, say }) {
  await command("View: Close All Editors");
  await command("BreadBoard: New Session");
  // It is in front once its prompt has the focus.
  await view.locator("textarea[aria-label=Prompt]").and(view.locator(":focus")).waitFor();
  await view.locator(".tab.active", { hasText: "New session" }).waitFor();
  await view.locator(".welcome").waitFor();
  await prompt.fill("");
  await prompt.pressSequentially("see @srclib");
  await view.locator(".choices li", { hasText: "lib.rs" }).first().waitFor();
  await picture("mention");
  await prompt.press("Enter");
  await eventually("the file is named", async () => ((await prompt.inputValue()) === "see @src/lib.rs " ? true : undefined));
  await prompt.fill("");
  await prompt.pressSequentially("@pro");
  await view.locator(".choices li", { hasText: "problems" }).waitFor();
  await prompt.press("Escape");
  await prompt.fill("");
  say("a part of a path finds the file, and a word the problems");

  await symbols({ page, view, model, folder, prompt, idle, picture, say });

  await command("View: Close All Editors");
  await openFile(page, "lib.rs");
  await page.locator(".monaco-editor .view-line", { hasText: "retries" }).first().click();
  await page.keyboard.press("Control+a");
  model.reply(says("It is the number of retries."));
  await command("Refactor...");
  const widget = page.locator(".action-widget");
  await widget.getByText("Explain with BreadBoard").waitFor();
  await picture("lightbulb");
  await widget.getByText("Explain with BreadBoard").click();
  await view.locator(".assistant", { hasText: "It is the number of retries." }).waitFor();
  await idle();
  const heard = JSON.stringify(model.asked.at(-1).body.messages.at(-1));
  assert.match(heard, /src\/lib\.rs/);
  say("the lightbulb has the agent explain what is marked");

  await writeFile(path.join(folder, "staged.txt"), "staged\n");
  spawnSync("git", ["add", "staged.txt"], { cwd: folder });
  model.reply(says("Add a staged file\n\nIt shows that what is staged is read."));
  const before = model.asked.length;
  await command("BreadBoard: Write the Commit Message");
  const asked = await eventually("the model was asked for the message", () => model.asked[before]);
  assert.match(JSON.stringify(asked.body.messages.at(-1)), /\+staged/);
  await show("Source Control");
  await page.locator(".scm-view .monaco-editor .view-line", { hasText: "Add a staged file" }).waitFor();
  await picture("commit-message");
  say("the message of the commit stands in its field");

  // A branch with a commit of its own is reviewed, and nothing else.
  const run = (...args) => spawnSync("git", ["-c", "user.name=e2e", "-c", "user.email=e2e@example.invalid", ...args], { cwd: folder });
  const trunk = spawnSync("git", ["branch", "--show-current"], { cwd: folder, encoding: "utf8" }).stdout.trim();
  run("checkout", "-q", "-b", "work");
  run("commit", "-qm", "Add a staged file");
  await show("BreadBoard");
  model.reply(says("staged.txt:1 says nothing of why it is there."));
  const reviews = model.asked.length;
  await command("Git: Refresh");
  await command("BreadBoard: Review the Branch's Changes");
  const review = JSON.stringify((await eventually("the model is asked for a review", () => model.asked[reviews])).body.messages.at(-1));
  assert.match(review, new RegExp(`the branch \\\\?.?work\\\\?.? changes since \\\\?.?${trunk}`));
  assert.match(review, /staged\.txt[\s\S]*\+staged/);
  await view.locator(".assistant", { hasText: "says nothing of why" }).waitFor();
  await idle();
  await picture("branch-review");
  run("checkout", "-q", trunk);
  say("what the branch changes is reviewed in the chat");

  // Nobody looks when the connection to the model breaks.
  await show("BreadBoard");
  const unseen = gate();
  const asks = model.asked.length;
  model.reply(says("It begins", unseen, breaks));
  await prompt.fill("this will fail");
  await prompt.press("Enter");
  await eventually("the model was asked", () => (model.asked.length > asks ? true : undefined));
  await show("Explorer");
  await view.locator(".assistant").first().waitFor({ state: "detached" });
  unseen.open();
  const toast = page.locator(".notification-toast", { hasText: "failed" });
  await toast.waitFor();
  await picture("failed-told");
  await toast.getByRole("button", { name: "Show It" }).click();
  await view.locator(".notice.error, .notice.warning").last().waitFor();
  await command("View: Close All Editors");
  say("a turn that failed while nobody looked is told, and one click away");
}

/** An extension of the story answers, as a language server does, what is declared in its files. */
async function symbols({ page, view, model, folder, prompt, idle, picture, say }) {
  await writeFile(path.join(folder, "src", "gate.rs"), "pub fn open_the_gate() -> u32 {\n    let key_of_brass = 4;\n    key_of_brass\n}\n");
  await writeFile(path.join(folder, "src", "house.rs"), "pub struct House;\nimpl House {\n    pub fn ring_the_bell(&self) {}\n}\n");
  await openFile(page, "house.rs");
  const choices = view.locator(".choices li");
  const typed = async (word) =>
    eventually(`${word} is found`, async () => {
      await prompt.fill("");
      await prompt.pressSequentially(`what does @${word}`);
      return choices.first().waitFor({ timeout: 3_000 }).then(() => true, () => undefined);
    });
  // One in the file in sight, which only a question about that file finds, and one in a file that is not open.
  await typed("#ring_the_b");
  assert.match(await choices.first().innerText(), /ring_the_bell[\s\S]*House · src\/house\.rs/);
  await typed("open_the_g");
  const choice = choices.filter({ hasText: "open_the_gate" });
  assert.match(await choice.innerText(), /open_the_gate[\s\S]*src\/gate\.rs/);
  await picture("mention-symbol");
  await choice.click();
  await eventually("the symbol is named", async () => ((await prompt.inputValue()) === "what does @symbol:open_the_gate " ? true : undefined));
  await view.locator(".context-chips li", { hasText: "open_the_gate" }).waitFor();
  await picture("symbol-chip");
  model.reply(says("It opens the gate."));
  await prompt.press("Enter");
  await view.locator(".assistant", { hasText: "It opens the gate." }).waitFor();
  await idle();
  const heard = JSON.stringify(model.asked.at(-1).body.messages.at(-1));
  assert.match(heard, /src\/gate\.rs/);
  assert.match(heard, /key_of_brass/);
  say("a symbol that a language server knows is found, shown, and what it is goes to the model");
}
