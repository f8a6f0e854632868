// A host is paired with by the code in its terminal: its token is in no setting, and after the restart that the editor offers the
// turns run there.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { pairWith, startHost } from "../host.mjs";
import { says } from "../model.mjs";
import { fileWith } from "../stage.mjs";

export default async function pairing(stage) {
  const { view, page, editor, work, folder, server, model, command, picture, ask, idle, say } = stage;
  const host = await startHost(server, [
    "--workspace",
    folder,
    "--state-dir",
    path.join(work, "host"),
    "--trust",
    "--model=story",
    "--model-provider=openai",
    `--model-url=${model.url}`,
  ]);
  try {
    await pairWith(stage, host);
    await picture("paired");
    const token = (await readFile(path.join(work, "host", "host", "token"), "utf8")).trim();
    assert.equal(await fileWith(path.join(editor.data, "Machine"), token), undefined, "the token is in a setting");
    assert.equal(await fileWith(path.join(editor.data, "logs"), token), undefined, "the token is in a log");
    say("a host was paired with by its code, and its token is in no setting and no log");

    await stage.reloadWindow();
    await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
    await command("BreadBoard: New Session");
    // It is in front once its prompt has the focus.
    await view.locator("textarea[aria-label=Prompt]").and(view.locator(":focus")).waitFor();
    model.reply(says("Hello from the host."));
    await ask("Say hello.");
    await view.locator(".assistant", { hasText: "Hello from the host." }).waitFor();
    await idle();
    await picture("turn-at-the-host");
    say("a turn ran at the host");
  } finally {
    host.stop();
    await editor.machine({});
    await stage.reloadWindow();
    await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
  }
}
