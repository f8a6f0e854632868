// A workspace of two folders that have a file of the same path: links, the comparison, the edit and a place in an answer are
// of the folder that is meant.
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { calls, says } from "../model.mjs";
import { eventually } from "../stage.mjs";

const OF = (name) => `pub const NAME: &str = "${name}";\npub const LIMIT: u32 = 3;\n`;

export default async function folders(stage) {
  const { work, model, withAnotherWindow, picture, say } = stage;
  for (const name of ["api", "web"]) {
    await mkdir(path.join(work, "several", name, "src"), { recursive: true });
    await writeFile(path.join(work, "several", name, "src", "lib.rs"), OF(name));
  }
  const workspace = path.join(work, "several", "both.code-workspace");
  await writeFile(workspace, JSON.stringify({ folders: [{ path: "api" }, { path: "web" }] }));
  await withAnotherWindow(workspace, async ({ page, view, card, ask, show, idle }) => {
    await page.locator(".monaco-dialog-box").getByRole("button", { name: /Yes, I trust/ }).click();
    await withFolders(page, show, say);
    await show("BreadBoard");
    await view.getByLabel("Prompt", { exact: true }).waitFor();
    await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
    // Trust that was just given is heard a moment later; before that the agent is offered no change of a file.
    await view.locator(".banner", { hasText: "Restricted mode" }).waitFor({ state: "detached" });

    model.reply(
      calls("propose_patch", {
        file_path: "web/src/lib.rs",
        edits: [{ old_text: "LIMIT: u32 = 3", new_text: "LIMIT: u32 = 5" }],
        rationale: "Five in the web.",
      }),
      says("See web/src/lib.rs:2, and not `api/src/lib.rs:1`."),
    );
    await ask("five in the web");
    await card.waitFor();
    await card.locator(".path, code", { hasText: "web/src/lib.rs" }).first().waitFor();
    await card.getByRole("button", { name: "Compare" }).click();
    const right = page.locator(".monaco-diff-editor .modified .view-lines");
    await right.getByText('"web"').waitFor();
    await right.getByText("5").waitFor();
    assert.equal(await card.getByText(/changed since/).count(), 0);
    await picture("two-folders-compare", page);
    await card.getByRole("button", { name: "Allow once" }).click();
    await view.locator(".assistant", { hasText: "See web/src/lib.rs:2" }).waitFor();
    await idle();
    const file = (name) => readFile(path.join(work, "several", name, "src", "lib.rs"), "utf8");
    await eventually("it is written", async () => ((await file("web")).includes("= 5") ? true : undefined));
    assert.deepEqual([await file("api"), await file("web")], [OF("api"), OF("web").replace("= 3", "= 5")]);
    say("the edit was compared and written in the folder that was named");

    const opens = async (link, name, line) => {
      await link.click();
      await page.locator(".monaco-editor .view-line", { hasText: `"${name}"` }).first().waitFor();
      await page.locator(".statusbar-item", { hasText: `Ln ${line}, Col 1` }).waitFor();
    };
    await view.locator(".approval.allowed .path", { hasText: "web/src/lib.rs" }).click();
    await page.locator(".monaco-editor .view-line", { hasText: '"web"' }).first().waitFor();
    await opens(view.locator(".assistant a", { hasText: "api/src/lib.rs:1" }), "api", 1);
    await opens(view.locator(".assistant a", { hasText: "web/src/lib.rs:2" }), "web", 2);
    await picture("two-folders-places", page);
    say("the card and the places of the answer open the file of their folder");

    // Without a folder in front it may be of any: the user says which.
    model.reply(says("Or is it `src/lib.rs:2`?"));
    await ask("and without a folder?");
    await view.locator(".assistant a", { hasText: /^src\/lib\.rs:2$/ }).click();
    const rows = page.locator(".quick-input-list .monaco-list-row");
    await rows.filter({ hasText: "api" }).waitFor();
    await picture("two-folders-which", page);
    await rows.filter({ hasText: "api" }).click();
    await page.locator(".monaco-editor .view-line", { hasText: '"api"' }).first().waitFor();
    say("a path that both folders have is asked about");
  });
  await stage.page.bringToFront();
}

/**
 * Waits until the editor itself has both folders. Now and then it reads the file of a workspace before it can, shows an empty
 * Explorer and tells nobody of folders, until the window is loaded again.
 */
async function withFolders(page, show, say) {
  const row = (name) => page.locator(`.explorer-folders-view [role=treeitem][aria-label^="${name}"]`).first();
  for (let tries = 1; ; tries += 1) {
    await show("Explorer");
    const there = await Promise.all([row("api").waitFor({ timeout: 10_000 }), row("web").waitFor({ timeout: 10_000 })]).then(
      () => true,
      () => false,
    );
    if (there) return;
    assert.ok(tries < 4, "the editor opens the workspace with its folders");
    say("the editor opened the workspace without its folders, and is loaded again");
    await page.reload({ waitUntil: "domcontentloaded" });
    await page.locator(".monaco-workbench").waitFor();
    // What was trusted was a workspace of no folder: it is asked again.
    const trust = page.locator(".monaco-dialog-box").getByRole("button", { name: /Yes, I trust/ });
    await trust.click({ timeout: 10_000 }).catch(() => undefined);
  }
}
