// The story of a user, in a real VS Code with a real server and a model of our own. Each step says what it proves.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { command, openPage, startEditor, viewOf } from "./editor.mjs";
import { calls, gate, says, startModel } from "./model.mjs";

const { WORK: work, E2E_CACHE: cache, SHOTS: shots } = process.env;
const CANARY = "sk-canary-7f3a9c1e5b2d";
const begun = Date.now();
const say = (text) => console.log(`${((Date.now() - begun) / 1000).toFixed(1).padStart(6)} ${text}`);

const folder = path.join(work, "ws");
await mkdir(path.join(folder, "src"), { recursive: true });
await mkdir(path.join(folder, ".vscode"));
await writeFile(path.join(folder, "src", "lib.rs"), "pub fn retries() -> u32 {\n    3\n}\n");
await writeFile(path.join(folder, "notes.md"), "# Notes\n\nNothing yet.\n");
// A hostile repository: what it says about programs and models must count for nothing.
await writeFile(
  path.join(folder, ".vscode", "settings.json"),
  JSON.stringify({
    "breadboard.server.path": path.join(folder, "evil.sh"),
    "breadboard.model": { name: "evil", url: "http://127.0.0.1:9" },
    "breadboard.engine": { kind: "acp", command: path.join(folder, "evil.sh") },
  }),
);
await writeFile(path.join(folder, "evil.sh"), `#!/bin/sh\ntouch ${path.join(work, "evil-ran")}\n`, { mode: 0o755 });
for (const args of [
  ["init", "-q"],
  ["add", "-A"],
  ["-c", "user.name=e2e", "-c", "user.email=e2e@example.invalid", "commit", "-qm", "start"],
])
  spawnSync("git", args, { cwd: folder });

const model = await startModel();
const editor = await startEditor({
  cache,
  work,
  vsix: path.join(work, "extension.vsix"),
  settings: {
    "breadboard.model": { provider: "openai", name: "story", url: model.url },
    "breadboard.stateDir": path.join(work, "state"),
  },
  env: { NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" },
});
const { browser, page } = await openPage(editor.address, folder);
let shot = 0;
const picture = async (name) => {
  if (shots) await page.screenshot({ path: path.join(shots, `${String((shot += 1)).padStart(2, "0")}-${name}.png`) });
};
const consoleText = [];
page.on("console", (message) => consoleText.push(message.text()));

try {
  const view = viewOf(page);
  const prompt = view.getByLabel("Prompt", { exact: true });

  // The trust dialog; declined: restricted mode, which says why and offers the Trust editor.
  const dialog = page.locator(".monaco-dialog-box");
  await dialog.waitFor();
  await dialog.getByRole("button", { name: /No, I don/ }).click();
  await page.locator('.activitybar .action-item a[aria-label^="BreadBoard"]').click();
  await view.getByText("Restricted mode: this folder is read and searched").waitFor();
  await prompt.waitFor();
  await picture("restricted");
  say("the view is there, and says that the folder is restricted");

  // The token is set while the server runs: by the editor's own input box, not by the page.
  await command(page, "BreadBoard: Set Model Token");
  const box = page.locator(".quick-input-widget input[type=password]");
  await box.waitFor();
  await box.fill(CANARY);
  await page.keyboard.press("Enter");
  await page.locator(".notification-list-item", { hasText: "The token is stored" }).waitFor();
  say("the token is stored");

  // In a folder that is not trusted the embedded engine reads, and has no tool that writes or runs.
  model.reply(says("I can only read here."));
  await prompt.fill("change something");
  await prompt.press("Enter");
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

  // A round trip, streaming: the first half is on the page before the second exists.
  const half = gate();
  model.reply(
    says(
      "# Answer\n\nThe **first** half",
      half,
      " and the second.\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n",
      "<img src=x onerror=alert(1)> [place](src/lib.rs:2)\n",
    ),
  );
  await prompt.fill("say something");
  await prompt.press("Enter");
  await view.locator(".assistant", { hasText: "first half" }).waitFor();
  assert.equal(await view.getByText("and the second").count(), 0);
  await picture("streaming");
  half.open();
  await view.locator(".assistant", { hasText: "first half and the second." }).waitFor();
  await view.locator(".assistant .code code", { hasText: "fn main() {}" }).waitFor();
  await view.locator(".assistant a", { hasText: "place" }).waitFor();
  assert.equal(await view.locator(".assistant img").count(), 0, "HTML of an answer is text");
  assert.equal(model.asked.at(-1).authorization, `Bearer ${CANARY}`);
  await view.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  await picture("answered");
  say("the answer streamed, as Markdown, and its HTML is text");
  await view.locator(".assistant a", { hasText: "place" }).click();
  await page.locator(".tab", { hasText: "lib.rs" }).waitFor();
  say("a link of the answer opens the file");

  // An edit: the card shows it, the diff opens in the editor, the answer writes it.
  const patch = {
    file_path: "src/lib.rs",
    edits: [{ old_text: "    3\n", new_text: "    5\n" }],
    rationale: "Five tries are better.",
    acceptance_criteria: ["`retries` gives 5."],
  };
  model.reply(calls("propose_patch", patch), says("It is five now."));
  await prompt.fill("five please");
  await prompt.press("Enter");
  const card = view.locator(".approval.pending");
  await card.waitFor();
  await card.locator(".diff .added", { hasText: "+    5" }).waitFor();
  await page.locator(".statusbar-item", { hasText: "BreadBoard: 1" }).waitFor();
  await picture("approval");
  await view.locator(".patch").getByRole("button", { name: "Compare" }).click();
  await page.locator(".monaco-diff-editor").waitFor();
  await page.locator(".monaco-diff-editor .line-insert").first().waitFor();
  await picture("native-diff");
  say("the edit is shown in the card and in the editor's own diff view");
  assert.equal(await readFile(path.join(folder, "src", "lib.rs"), "utf8"), "pub fn retries() -> u32 {\n    3\n}\n");
  await card.getByRole("button", { name: "Allow once" }).click();
  await view.getByText("It is five now.").waitFor();
  await view.locator(".approval.allowed").waitFor();
  assert.equal(await written("src/lib.rs", "5"), "pub fn retries() -> u32 {\n    5\n}\n");
  say("allowed once, it is written");

  // A command: in the editor's terminal, where the user sees it.
  model.reply(calls("run_command", { command: "echo from-the-terminal", reason: "to see" }), says("It ran."));
  await prompt.fill("run it");
  await prompt.press("Enter");
  await card.getByRole("button", { name: "Allow once" }).waitFor();
  await card.getByRole("button", { name: /session/ }).click();
  await card.locator(".rule input").waitFor();
  await picture("rule");
  await card.getByRole("button", { name: "Allow once" }).click();
  await view.getByText("It ran.").waitFor();
  await page.locator(".terminal-tab, .tabs-list .terminal-tabs-entry, .single-terminal-tab, .xterm").first().waitFor();
  const toldModel = JSON.stringify(model.asked.at(-1).body.messages.at(-1));
  assert.match(toldModel, /from-the-terminal/);
  await picture("terminal");
  say("a command ran in the terminal, and its output came back");

  // Hidden in mid-stream: nothing is lost, nothing is there twice.
  const hidden = gate();
  const rest = gate();
  model.reply(says("one ", hidden, "two ", rest, "three"));
  await prompt.fill("count");
  await prompt.press("Enter");
  await view.locator(".assistant", { hasText: "one" }).last().waitFor();
  await page.locator('.activitybar .action-item a[aria-label^="Explorer"]').click();
  await page
    .locator("iframe.webview.ready")
    .waitFor({ state: "detached" })
    .catch(() => undefined);
  hidden.open();
  await page.locator('.activitybar .action-item a[aria-label^="BreadBoard"]').click();
  await view.locator(".assistant", { hasText: "one two" }).waitFor();
  rest.open();
  await view.locator(".assistant", { hasText: "one two three" }).waitFor();
  assert.equal(await view.locator(".assistant", { hasText: "one two three" }).count(), 1);
  assert.equal(await view.locator(".user", { hasText: "count" }).count(), 1);
  await picture("shown-again");
  say("hidden and shown in mid-stream: whole, and once");

  // A prompt while a turn runs waits; it can be edited and taken away. A draft and an ask survive the reload of the
  // window.
  const slow = gate();
  model.reply(says("working ", slow, "done"));
  await prompt.fill("take your time");
  await prompt.press("Enter");
  await view.locator(".assistant", { hasText: "working" }).waitFor();
  await prompt.fill("and then this");
  await prompt.press("Enter");
  await view.locator(".queue", { hasText: "and then this" }).waitFor();
  await view.getByRole("button", { name: "Edit the waiting prompt" }).click();
  await view.getByLabel("Text of the waiting prompt").fill("and then that");
  await view.getByRole("button", { name: "Save" }).click();
  await view.locator(".queue", { hasText: "and then that" }).waitFor();
  await picture("queue");
  await view.getByRole("button", { name: "Remove it" }).click();
  await view.locator(".queue").waitFor({ state: "detached" });
  slow.open();
  await view.locator(".assistant", { hasText: "working done" }).waitFor();
  say("a second prompt waits, is edited and taken away");

  model.reply(
    calls("propose_patch", {
      file_path: "notes.md",
      edits: [{ old_text: "Nothing yet.", new_text: "Something." }],
      rationale: "Because.",
      acceptance_criteria: [],
    }),
    says("Written."),
  );
  await prompt.fill("note it");
  await prompt.press("Enter");
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

  // Panes.
  for (const name of ["Tasks", "Files", "Run", "Debug"]) {
    await view.getByRole("tab", { name: new RegExp(`^${name}`) }).click();
    if (name === "Files")
      await view
        .getByRole("button", { name: /notes\.md/ })
        .first()
        .waitFor();
    if (name === "Run") await view.locator(".summary").first().waitFor();
    if (name === "Debug") await view.locator("[data-seq]").first().waitFor();
    await picture(`pane-${name.toLowerCase()}`);
  }
  await view.getByRole("tab", { name: /^Chat/ }).click();
  say("all five panes");

  // @-mention.
  await prompt.fill("");
  await prompt.pressSequentially("@not");
  await view.getByRole("option", { name: /notes\.md/ }).waitFor();
  await picture("mention");
  await prompt.press("Enter");
  assert.equal(await prompt.inputValue(), "@notes.md ");
  say("a file is named by its first letters");

  // The token is nowhere that a page, or a reader of the disk's caches, could see it.
  const frames = await Promise.all(
    page
      .frames()
      .map((frame) =>
        frame
          .evaluate(
            () =>
              document.documentElement.outerHTML +
              JSON.stringify({ ...localStorage }) +
              JSON.stringify({ ...sessionStorage }),
          )
          .catch(() => ""),
      ),
  );
  assert.ok(frames.length >= 3, "the frames of the view were read");
  assert.ok(
    frames.every((text) => !text.includes(CANARY)),
    "the token is on the page",
  );
  assert.ok(
    consoleText.every((text) => !text.includes(CANARY)),
    "the token is in the console",
  );
  for (const place of [path.join(work, "state"), path.join(editor.data, "logs"), path.join(folder)])
    assert.equal(await find(place, CANARY), undefined, `the token is in ${place}`);
  say("the token is nowhere on the page, in storage, in the journal or in the logs");

  assert.ok(!(await readdir(work)).includes("evil-ran"), "a program of the repository was run");
  assert.equal(
    consoleText.filter((text) => /protocol violation|Content Security Policy.*webview/i.test(text)).length,
    0,
    consoleText.join("\n"),
  );
  await command(page, "Preferences: Toggle between Light/Dark Themes").catch(() => undefined);
  await picture("light");
  say("done");
  await close(0);
} catch (error) {
  console.error(error);
  if (shots) await page.screenshot({ path: path.join(shots, "failed.png") }).catch(() => undefined);
  console.error(consoleText.slice(-20).join("\n"));
  await close(1);
}

/** Waits until the file on disk has this, and gives it. */
async function written(file, text) {
  for (let tries = 0; tries < 200; tries += 1) {
    const now = await readFile(path.join(folder, file), "utf8");
    if (now.includes(text)) return now;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${file} never had ${text}`);
}

async function find(place, text) {
  for (const entry of await readdir(place, { recursive: true, withFileTypes: true }).catch(() => [])) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath ?? entry.path, entry.name);
    if ((await readFile(file)).includes(text)) return file;
  }
  return undefined;
}

async function close(code) {
  await browser.close().catch(() => undefined);
  editor.stop();
  model.close();
  process.exit(code);
}
