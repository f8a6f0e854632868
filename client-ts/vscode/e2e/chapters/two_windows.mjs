// Two windows of one folder: each has the sessions of both, also after the one that was there first was closed and the other
// one reloaded, and after the server was started anew.
import assert from "node:assert/strict";
import { reload } from "../editor.mjs";
import { says } from "../model.mjs";

const SAID = "Said in the second window.";

export default async function twoWindows({ page, view, model, folder, editor, withAnotherWindow, command, show, picture, say }) {
  const started = (window) => window.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
  const before = await titles(view);
  await withAnotherWindow(undefined, async (other) => {
    await other.show("BreadBoard");
    await other.prompt.waitFor();
    await started(other.view);
    await other.newSession();
    model.reply(says(SAID));
    await other.ask("remember the second window");
    await other.view.getByText(SAID).waitFor();
    assert.deepEqual(await titles(other.view), ["remember the second window", ...before]);
    await picture("second-window", other.page);
    say(`the second window has its own session and the ${before.length} of the first`);

    // The first one is closed, and only then the second one reloaded.
    await page.goto("about:blank");
    await reload(other.page);
    await other.prompt.waitFor();
    await started(other.view);
    await other.view.getByText(SAID).waitFor();
    assert.deepEqual(await titles(other.view), ["remember the second window", ...before]);
    await other.view.getByRole("button", { name: "All sessions" }).click();
    await other.view.locator(".sessions").waitFor();
    await picture("second-window-alone", other.page);
    say("the first window was closed and the second reloaded: nothing is gone");
  }).finally(async () => {
    await page.goto(`${editor.address}/?folder=${folder}`, { waitUntil: "domcontentloaded" });
    await page.locator(".monaco-workbench").waitFor();
  });
  await show("BreadBoard");
  await view.getByLabel("Prompt", { exact: true }).waitFor();
  await started(view);
  assert.deepEqual(await titles(view), ["remember the second window", ...before]);

  const strip = () => view.locator(".strip [role=tab]").allTextContents();
  const tabs = await strip();
  await command("BreadBoard: Restart the Server");
  // It may be there again before anybody looks.
  await view.locator(".banner", { hasText: /server is (?:starting|stopped)/ }).waitFor({ timeout: 3_000 }).catch(() => undefined);
  await started(view);
  assert.deepEqual([await strip(), await titles(view)], [tabs, ["remember the second window", ...before]]);
  await picture("server-anew");
  say("the first window has all again, and keeps it when the server is started anew");
}

/** The titles of all sessions, newest first. */
async function titles(view) {
  await view.getByRole("button", { name: "All sessions" }).click();
  const sessions = view.locator(".sessions li > .link");
  await sessions.first().waitFor();
  const found = await sessions.allTextContents();
  await view.getByRole("button", { name: "All sessions" }).click();
  return found;
}
