// A real VS Code and a real Neovim on one host, on one session. One is killed in mid-turn: the other misses nothing and answers what
// the host asks, and the first has everything, once, when it is back. First VS Code is killed, then Neovim. Each is told who else is
// there, and a session that Neovim makes appears in VS Code by itself.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { pairWith, startHost } from "../host.mjs";
import { gate } from "../model.mjs";
import { startNeovim } from "../neovim.mjs";
import { serverOfTheWindow } from "../stage.mjs";

const TITLE = "greet from VS Code";
const OWN_TITLE = "greet in a session of its own";

export default async function oneHost(stage) {
  const { view, page, card, editor, work, folder, server, model, picture, ask, idle, say } = stage;
  const program = process.env.E2E_NVIM;
  assert.ok(program, "no Neovim was found; run.sh says why");
  const host = await startHost(server, [
    "--workspace",
    folder,
    "--state-dir",
    path.join(work, "one-host"),
    "--trust",
    "--model=story",
    "--model-provider=openai",
    `--model-url=${model.url}`,
  ]);
  const neovim = () =>
    startNeovim({
      program,
      server,
      folder,
      place: path.join(work, "nvim"),
      host: host.url,
      tokenFile: path.join(work, "one-host", "host", "token"),
    });
  const started = () => view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
  const open = async () => {
    await page.goto(`${editor.address}/?folder=${folder}`, { waitUntil: "domcontentloaded" });
    await page.locator(".monaco-workbench").waitFor();
  };
  let other;
  try {
    await pairWith(stage, host);
    await stage.reloadWindow();
    await started();
    await stage.newSession();

    // A turn of VS Code is under way, and Neovim looks on.
    const first = gate();
    model.reply(...greets("first.txt", "Half of the first. ", first, "The first is written."));
    await ask(TITLE);
    await view.locator(".assistant", { hasText: "Half of the first." }).waitFor();
    other = await neovim();
    await other.choose(TITLE);
    await other.sees("Half of the first.");
    say("Neovim is on the session, and has what was said so far");

    // VS Code is killed: its extensions, the server that they started, and the window.
    await kill(stage);
    await page.goto("about:blank");
    first.open();
    await other.waits();
    await other.answer("a");
    assertOnce(await other.sees("The first is written."), [TITLE, "Half of the first.", "The first is written."]);
    await other.idle();
    assert.equal(await readFile(path.join(folder, "first.txt"), "utf8"), "hello\n");
    say("VS Code was killed in mid-turn; Neovim allowed what the host asked and saw the turn to its end");

    await open();
    await stage.show("BreadBoard");
    await view.getByLabel("Prompt", { exact: true }).waitFor();
    await started();
    await view.locator(".assistant", { hasText: "The first is written." }).waitFor();
    await view.locator(".approval.allowed").waitFor();
    assertOnce(await transcript(view), [TITLE, "Half of the first.", "The first is written."]);
    assert.equal(await view.getByText(/may have holes/).count(), 0);
    await picture("back-at-the-host");
    say("VS Code is back and has everything, once");
    // Not before it was killed: which pane is open is kept a moment after it is opened.
    await view.getByRole("tab", { name: "Run", exact: true }).click();
    await view.getByText(/2 clients are connected: .*Neovim/).waitFor();
    await picture("who-is-there");
    await view.getByRole("tab", { name: "Chat", exact: true }).click();
    say("VS Code tells that Neovim is there");

    // The other way round.
    const second = gate();
    model.reply(...greets("second.txt", "Half of the second. ", second, "The second is written."));
    await other.ask("greet from Neovim");
    await view.locator(".assistant", { hasText: "Half of the second." }).waitFor();
    await other.kill();
    second.open();
    await card.getByRole("button", { name: "Allow once" }).click();
    await view.locator(".assistant", { hasText: "The second is written." }).waitFor();
    await idle();
    assert.equal(await readFile(path.join(folder, "second.txt"), "utf8"), "hello\n");
    assertOnce(await transcript(view), ["greet from Neovim", "Half of the second.", "The second is written."]);
    say("Neovim was killed in mid-turn; VS Code allowed what the host asked and saw the turn to its end");

    other = await neovim();
    await other.choose(TITLE);
    const shown = await other.sees("The second is written.");
    assertOnce(shown, [TITLE, "The first is written.", "greet from Neovim", "Half of the second.", "The second is written."]);
    assert.doesNotMatch(shown, /lost|missing|cannot be known/i);
    say("Neovim is back and has everything, once");

    // A session that Neovim makes, in which something waits.
    const third = gate();
    model.reply(...greets("third.txt", "Half of the third. ", third, "The third is written."));
    await view.getByRole("button", { name: "All sessions" }).click();
    await other.makeSession();
    await other.ask(OWN_TITLE);
    const entry = view.locator(".sessions li", { hasText: OWN_TITLE });
    await entry.locator(".hint", { hasText: "running" }).waitFor();
    third.open();
    await entry.locator(".hint", { hasText: "waiting" }).waitFor();
    await picture("appeared-by-itself");
    say("a session that Neovim made appeared in VS Code by itself, with what goes on in it");
    await entry.getByRole("button", { name: OWN_TITLE, exact: true }).click();
    await card.getByRole("button", { name: "Allow once" }).click();
    await view.locator(".assistant", { hasText: "The third is written." }).waitFor();
    await idle();
    await other.sees("The third is written.");
    say("VS Code opened it, and allowed what was asked there");
  } catch (error) {
    say(`Neovim shows:\n${await other?.shown().catch(String)}`);
    throw error;
  } finally {
    await other?.kill();
    host.stop();
    await editor.machine({});
    // Not a reload: the window may be closed. The next chapter finds the view as others leave it, and a window that is up.
    await open();
    await stage.show("BreadBoard");
    await view.getByLabel("Prompt", { exact: true }).waitFor();
    await started();
  }
}

/** A turn that says something, waits, asks to write a file, and ends. */
const greets = (file, half, waits, end) => [
  { steps: [half, waits, { name: "propose_patch", input: { file_path: file, rationale: "It greets.", new_content: "hello\n" } }] },
  { steps: [end] },
];

/** All rows of the chat that are on the page, as text. */
async function transcript(view) {
  return (await view.locator(".row").allInnerTexts()).join("\n");
}

function assertOnce(shown, texts) {
  for (const text of texts) assert.equal(shown.split(text).length - 1, 1, `"${text}" stands once in\n${shown}`);
}

/** Kills the process that runs the extensions, and the server that it started, as a crash of the machine's memory would. */
async function kill(stage) {
  const found = await serverOfTheWindow(stage);
  const status = await readFile(`/proc/${found}/status`, "utf8");
  process.kill(Number(/^PPid:\s*(\d+)/m.exec(status)[1]), "SIGKILL");
  // It may have ended with its editor already.
  try {
    process.kill(found, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}
