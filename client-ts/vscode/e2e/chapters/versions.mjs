// The extension with servers of other releases, each the real one behind `tests/clients/other_version.mjs`: what an older one lacks is said
// and not offered, what a newer one says does no harm, and one of another version of the wire is refused with what to do. Then a program
// that is no server.
import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import path from "node:path";
import { calls, says } from "../model.mjs";
import { eventually, written } from "../stage.mjs";

const STAND_IN = path.resolve(import.meta.dirname, "../../../../tests/clients/other_version.mjs");

/** Lines of the requirements catalogue that this chapter holds (tests/requirements.rs reads them). */
export const proves = ["R000-70", "R000-72"];

export default async function versions(stage) {
  const { page, view, card, model, editor, server, work, ask, command, idle, picture, say } = stage;
  // One program whose release a file names, so that a restart is enough for another one.
  const program = path.join(work, "other-release");
  const release = (name) => writeFile(path.join(work, "release"), name);
  await writeFile(
    program,
    `#!/bin/sh\nexec ${JSON.stringify(process.execPath)} ${JSON.stringify(STAND_IN)} "$(cat ${JSON.stringify(path.join(work, "release"))})" ${JSON.stringify(server)} "$@"\n`,
  );
  await chmod(program, 0o755);
  await release("older");
  await editor.machine({ "breadboard.server.path": program });
  const started = () => view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
  /** Asks for an edit of the notes, and answers with this button. */
  const edited = async (from, to, button) => {
    model.reply(
      calls("propose_patch", { file_path: "notes.md", edits: [{ old_text: from, new_text: to }], rationale: "To see." }),
      says(`It says ${to}.`),
    );
    await ask(`write ${to}`);
    const answer = card.locator(".buttons button", { hasText: button });
    await eventually("it can be answered", async () => {
      // What nobody knows comes behind it, and pushes its beginning out of sight until that was seen.
      await card.locator("header").evaluate((head) => head.scrollIntoView());
      return (await answer.getAttribute("aria-disabled")) === "false" ? true : undefined;
    });
    await answer.click();
    await view.locator(".assistant", { hasText: `It says ${to}.` }).waitFor();
    await idle();
  };
  const notes = await written(stage, "notes.md", "# Notes");
  const first = notes.trim().split("\n").at(-1);
  try {
    await stage.reloadWindow();
    const older = view.locator(".banner", { hasText: "The server breadboard-ls 0.0.9 is older than this extension" });
    await older.waitFor();
    await picture("older-server");
    await older.locator("summary").click();
    await older.getByText("showing and taking back what a turn changed").waitFor();
    await picture("older-server-what");
    // Not by the number of tabs: twelve may be open, and then the oldest goes.
    await command("BreadBoard: New Session");
    await view.locator(".tab.active", { hasText: "New session" }).waitFor();
    await view.locator(".welcome").waitFor();
    await edited(first, "noted with an older server", "Allow once");
    await picture("older-server-edited");
    // It does not ask for what it changes to be saved.
    await command("File: Save All");
    await written(stage, "notes.md", "noted with an older server");
    assert.deepEqual(await view.locator(".banner.error").allInnerTexts(), []);
    await view.locator(".turn-changes", { hasText: "This server does not tell what a turn changed" }).waitFor();
    assert.deepEqual(await view.locator(".turn-changes button").allInnerTexts(), []);
    await view.locator(".banner", { hasText: "is older than" }).getByRole("button", { name: "Dismiss" }).click();
    await older.waitFor({ state: "detached" });
    say("with an older server an edit is made, and what does not work is said");

    await release("newer");
    await command("BreadBoard: Restart the Server");
    // It says so in every session.
    await view.getByText("Cast a spell").first().waitFor();
    await edited("noted with an older server", "noted with a newer one", "Allow on Sundays");
    await written(stage, "notes.md", "noted with a newer one");
    assert.deepEqual(await view.locator(".banner.error, .banner.warning").allInnerTexts(), []);
    await picture("newer-server");
    say("with a newer server an edit is made by an answer that this extension does not know");

    for (const [name, said] of [
      ["broken", /speaks version 2 of the protocol and this extension version 1; update the extension, or clear the setting/],
      ["ancient", /speaks version 0 of the protocol and this extension version 1; update the server, or clear the setting/],
    ]) {
      await release(name);
      await command("BreadBoard: Restart the Server");
      await view.locator(".banner.error", { hasText: said }).waitFor();
      await picture(`${name}-server`);
    }
    say("a server of another version of the protocol is refused with what to do");

    await writeFile(program, "#!/bin/sh\nexit 0\n");
    await command("BreadBoard: Restart the Server");
    await view.locator(".banner", { hasText: "did not answer as the server does; correct the setting or clear it" }).waitFor();
    // Said once, and not by the library in words of its own besides.
    assert.deepEqual(await page.locator(".notifications-toasts", { hasText: "couldn't create connection" }).allInnerTexts(), []);
    await picture("no-server");
    say("a program that is no server is named, with what to do");
  } finally {
    await editor.machine({});
    await stage.reloadWindow();
    await started();
  }
}
