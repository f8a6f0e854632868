// What people bring along from other agents, each as a user does it: names behind @ of every kind, a file dragged in, a picture pasted,
// the rules of the repository, thoughts, a plan, tokens, what is done without asking, servers of tools, text of a terminal; and no key
// of ours is one of the editor's.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { openFile } from "../editor.mjs";
import { calls, says, spends, thinks } from "../model.mjs";
import { eventually, written } from "../stage.mjs";

const SERVER_OF_TOOLS = fileURLToPath(new URL("../../../../tests/e2e/mcp/server.py", import.meta.url));
/** A picture of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export default async function everyday(stage) {
  await stage.command("View: Close All Editors");
  await stage.command("BreadBoard: New Session");
  await stage.view.locator("textarea[aria-label=Prompt]").and(stage.view.locator(":focus")).waitFor();
  await stage.view.locator(".tab.active", { hasText: "New session" }).waitFor();
  await named(stage);
  await broughtIn(stage);
  await answered(stage);
  await modes(stage);
  await withoutAsking(stage);
  await serversOfTools(stage);
  await marked(stage);
  await terminal(stage);
  await keys(stage);
}

/** Behind `@` there are files, folders, problems, changes and the terminal. (Who tells symbols is no part of this editor.) */
async function named({ prompt, view, picture, say }) {
  for (const [typed, offered] of [
    ["@lib", "lib.rs"],
    ["@sr", "src/"],
    ["@prob", "problems"],
    ["@dif", "diff"],
    ["@term", "terminal"],
  ]) {
    const offer = view.locator(".choices li", { hasText: offered }).first();
    await prompt.fill("");
    await prompt.pressSequentially(typed);
    await offer.waitFor();
    if (offered === "terminal") await picture("mention-words");
    await prompt.press("Escape");
  }
  await prompt.fill("");
  say("behind @ there are files, folders, problems, changes and the terminal");
}

/** A file from the explorer becomes a mention, one from outside an attachment, and a picture from the clipboard goes to the model. */
async function broughtIn(stage) {
  const { prompt, view, model, folder, ask, idle, picture, say } = stage;
  const frame = await stage.sidebarFrame();
  await frame.evaluate((uri) => {
    const data = new DataTransfer();
    data.setData("application/vnd.code.uri-list", uri);
    const composer = document.querySelector(".composer");
    for (const type of ["dragover", "drop"]) composer.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
  }, `file://${path.join(folder, "notes.md")}`);
  await eventually("the file is named", async () => ((await prompt.inputValue()).includes("@notes.md") ? true : undefined));
  await prompt.fill("");
  // What comes from outside of the editor is a file with no address, so it goes along itself
  await frame.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(["from elsewhere\n"], "elsewhere.txt", { type: "text/plain" }));
    // The drop alone: while a file is dragged over a view the editor covers it, until a real mouse lets go.
    document.querySelector(".composer").dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
  });
  const dropped = view.getByRole("list", { name: "Attachments" }).getByText("elsewhere.txt");
  await dropped.waitFor();
  await view.getByRole("button", { name: "Remove elsewhere.txt" }).click();
  await dropped.waitFor({ state: "detached" });
  await frame.evaluate((base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], "pixel.png", { type: "image/png" }));
    const area = document.querySelector("textarea[aria-label=Prompt]");
    area.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
  }, PIXEL);
  await view.getByRole("list", { name: "Attachments" }).getByText("pixel.png").waitFor();
  await picture("pasted");
  model.reply(says("It is one pixel."));
  await ask("beside @notes.md, what is in the picture?");
  await view.locator(".assistant", { hasText: "It is one pixel." }).waitFor();
  await idle();
  const heard = JSON.stringify(model.asked.at(-1).body.messages);
  assert.match(heard, new RegExp(PIXEL.slice(0, 40)), "the model sees the picture");
  assert.match(heard, /# Notes|# Some notes/, "what was dragged in goes with the prompt");
  say("a file was dragged in and a picture pasted, and both went along");
}

/** The rules of the repository are heard; thoughts, the plan and what it took are shown. */
async function answered({ view, model, folder, ask, idle, picture, say }) {
  await writeFile(path.join(folder, "AGENTS.md"), "Say each number in words.\n");
  model.reply(
    says(thinks("Two steps will do.\nFirst I read."), { name: "plan", input: { steps: [{ description: "Read the limit" }, { description: "Say it" }] } }),
    says("The limit is three.", spends(1_234, 56)),
  );
  await ask("what is the limit, step by step?");
  await view.locator(".assistant", { hasText: "The limit is three." }).waitFor();
  await idle();
  assert.match(JSON.stringify(model.asked.at(-1).body.messages[0]), /Say each number in words\./);
  const thought = view.locator("details.reasoning", { hasText: "Two steps will do." }).last();
  assert.equal((await thought.locator("summary").textContent()).trim(), "Two steps will do.");
  const plan = view.locator(".card.plan").last();
  await plan.getByText("Read the limit").waitFor();
  await plan.getByText("Say it").waitFor();
  await view.locator(".turn-mark", { hasText: "1,290 tokens" }).last().waitFor();
  await picture("thoughts-plan-tokens");
  say("the rules of the repository were heard; thoughts, a plan and tokens are shown");
}

/** What is done without asking is chosen, and counts at once. */
async function withoutAsking(stage) {
  const { page, view, card, model, ask, idle, command, picture, say } = stage;
  const choose = async (label) => {
    await command("BreadBoard: Choose What Is Done without Asking");
    const rows = page.locator(".quick-input-list .monaco-list-row");
    await rows.filter({ hasText: label }).first().waitFor();
    await picture("approvals-choice");
    await rows.filter({ hasText: label }).first().click();
    await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  };
  await choose("Allow reads, and edits in the workspace");
  // A file that no other chapter writes.
  await writeFile(path.join(stage.folder, "daily.md"), "Nothing yet.\n");
  const edit = (from, to) =>
    calls("edit_file", { path: "daily.md", old_text: from, new_text: to, reason: "As asked." });
  model.reply(edit("Nothing yet.", "Something."), says("It says something now."));
  await ask("write that there is something");
  await view.locator(".assistant", { hasText: "It says something now." }).waitFor();
  await idle();
  assert.equal(await card.count(), 0, "nobody was asked");
  await written(stage, "daily.md", "Something.");
  await choose("Ask for everything");
  model.reply(edit("Something.", "Nothing yet."), says("It is as it was."));
  await ask("and back");
  await card.getByRole("button", { name: "Allow once" }).waitFor();
  await eventually("it can be allowed", async () =>
    (await card.getByRole("button", { name: "Allow once" }).getAttribute("aria-disabled")) === "false" ? true : undefined,
  );
  await card.getByRole("button", { name: "Allow once" }).press("Enter");
  await view.locator(".assistant", { hasText: "It is as it was." }).waitFor();
  await idle();
  say("edits were made without asking once that was chosen, and asked again when it was taken back");
}

/** A server of tools that the workspace names is shown whole before it is allowed, and then its tools are there. */
async function serversOfTools({ page, work, folder, model, view, ask, idle, command, picture, say }) {
  const heard = path.join(work, "tools-heard");
  const servers = { mcpServers: { echo: { command: "python3", args: [SERVER_OF_TOOLS, heard] } } };
  await writeFile(path.join(folder, ".mcp.json"), JSON.stringify(servers));
  const row = page.locator(".quick-input-list .monaco-list-row", { hasText: "echo" });
  const shows = async (words) => {
    await command("BreadBoard: MCP Servers");
    await row.first().waitFor();
    const there = await row.first().textContent();
    if (there.includes(words)) return true;
    // A machine that has much to do may have been told the command twice.
    await eventually("the list is closed", async () => {
      await page.keyboard.press("Escape");
      return page.locator(".quick-input-widget").waitFor({ state: "hidden", timeout: 2_000 }).then(() => true, () => undefined);
    });
    return undefined;
  };
  // The file is read with the next turn.
  model.reply(says("Hello."));
  await ask("hello");
  await view.locator(".assistant", { hasText: "Hello." }).last().waitFor();
  await idle();
  await eventually("the server is named", () => shows("named by this workspace, not allowed"));
  await picture("mcp-named");
  await row.first().click();
  const dialog = page.locator(".monaco-dialog-box");
  await dialog.getByText("Start the MCP server echo, which a file of this workspace names?").waitFor();
  await dialog.getByText(/server\.py/).waitFor();
  await picture("mcp-asks");
  await dialog.getByRole("button", { name: "Allow and Start" }).click();
  await eventually("its tools are there", () => shows("ready: "));
  await picture("mcp-ready");
  await row.first().click();
  await page.locator(".notification-list-item", { hasText: "The MCP server echo is started again." }).first().waitFor();
  assert.match(await readFile(heard, "utf8"), /initialize/);
  await writeFile(path.join(folder, ".mcp.json"), "{}");
  say("a server of tools was allowed once it was shown, and started again from the list");
}

/** In the mode that plans, the model is offered nothing that writes or runs. */
async function modes({ view, model, ask, idle, picture, say }) {
  const mode = view.locator('.composer-bar select[aria-label="Mode"]');
  const offered = () => model.asked.at(-1).body.tools.map((tool) => tool.function.name);
  const chosen = async (id) => {
    await mode.selectOption(id);
    await eventually(`the mode is ${id}`, async () => ((await mode.inputValue()) === id ? true : undefined));
  };
  await chosen("plan");
  model.reply(says("First I would read it."));
  await ask("how would you go about it?");
  await view.locator(".assistant", { hasText: "First I would read it." }).waitFor();
  await idle();
  const whilePlanning = offered();
  assert.ok(whilePlanning.includes("read_file") && !whilePlanning.includes("run_command"), String(whilePlanning));
  await view.locator('.composer-bar select[aria-label="Model"]').focus();
  await view.locator('.composer-bar select[aria-label="Model"] option', { hasText: " tokens" }).first().waitFor({ state: "attached" });
  await picture("mode-plan");
  await chosen("agent");
  model.reply(says("Now I may."));
  await ask("go on");
  await view.locator(".assistant", { hasText: "Now I may." }).waitFor();
  await idle();
  assert.ok(offered().includes("run_command"), String(offered()));
  say("the mode that plans offers the model nothing that writes or runs, and models say what they can");
}

/** What is marked in an editor goes into the prompt, by its key. */
async function marked({ page, prompt, folder, command, picture, say }) {
  await writeFile(path.join(folder, "src", "tally.ts"), "export function tallyUploads(): number {\n  return 3;\n}\n");
  await openFile(page, "tally.ts");
  await page.locator(".monaco-editor .view-line", { hasText: "tallyUploads" }).first().click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Shift+Alt+q");
  await eventually("the marked lines stand in the prompt", async () => {
    const typed = await prompt.inputValue();
    return typed.includes("src/tally.ts:1-3") && typed.includes("return 3;") ? true : undefined;
  });
  await picture("marked-in-the-editor");
  await prompt.fill("");
  await command("View: Close All Editors");
  say("what is marked in an editor stands in the prompt");
}

/** What is marked in a terminal goes into the prompt. */
async function terminal({ page, prompt, command, picture, say }) {
  await command("Terminal: Create New Terminal");
  const screen = page.locator(".terminal.xterm:visible").first();
  await screen.waitFor();
  await page.locator(".terminal.xterm.focus, .xterm.focus, .terminal-wrapper.active").first().waitFor();
  await page.keyboard.type("echo marked-$((40+2))\n");
  await eventually("the shell answered", async () => {
    await command("Terminal: Select All");
    await command("BreadBoard: Ask about the Selection of the Terminal");
    const typed = await prompt.inputValue();
    if (typed.includes("marked-42")) return true;
    await prompt.fill("");
    await page.locator(".terminal.xterm:visible").first().click();
    return undefined;
  });
  assert.match(await prompt.inputValue(), /^From the terminal:\n```/);
  await picture("terminal-selection");
  await prompt.fill("");
  await command("Terminal: Kill the Active Terminal Instance");
  say("what is marked in a terminal stands in the prompt");
}

/** None of our keys is one of the editor's own. */
async function keys({ page, command, say }) {
  await command("Preferences: Open Default Keyboard Shortcuts (JSON)");
  await page.locator(".monaco-editor .view-line", { hasText: "Override key bindings" }).first().click();
  const text = await eventually("the list is copied", async () => {
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Control+c");
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    return copied.includes("workbench.action.toggleAuxiliaryBar") ? copied : undefined;
  });
  const rows = [...text.matchAll(/\{ "key": "([^"]*)",\s+"command": "([^"]*)"/g)].map(([, key, of]) => ({ key, of }));
  assert.ok(rows.length > 500, `it is the whole list: ${rows.length}`);
  const ours = rows.filter(({ of }) => ["breadboard.open", "breadboard.askSelection", "breadboard.stop"].includes(of));
  assert.equal(ours.length, 3);
  const taken = rows.filter(({ key, of }) => !of.startsWith("breadboard.") && ours.some((one) => one.key === key));
  assert.deepEqual(taken, []);
  await command("View: Close All Editors");
  say("no key of ours is one that the editor has");
}
