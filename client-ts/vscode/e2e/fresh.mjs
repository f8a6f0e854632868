// A VS Code in which nothing was ever set up: from the package of the extension to the first answer of a model, as somebody does it who
// has read nothing, in under two minutes. A story of its own, since the other begins with a model that is chosen.
//
//   WORK, E2E_CACHE, SHOTS  as in run.mjs
import assert from "node:assert/strict";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import path from "node:path";
import { insideOf, openPage, SIDEBAR, startEditor } from "./editor.mjs";
import { says, startModel } from "./model.mjs";

const TWO_MINUTES = 120_000;
const { WORK, E2E_CACHE, SHOTS } = process.env;

const work = await mkdtemp(path.join(WORK, "fresh-"));
const folder = path.join(work, "harbour");
await mkdir(folder);
await writeFile(path.join(folder, "README.md"), "# Harbour\n");
const model = await startModel();
const begun = Date.now();
// Given the extension, installed from its package, and no setting of it
const editor = await startEditor({
  cache: E2E_CACHE,
  work,
  vsixes: [path.join(WORK, "extension.vsix")],
  settings: {},
  env: { NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" },
});
const { browser, page } = await openPage(editor.address, folder);
try {
  const view = insideOf(page, SIDEBAR);
  await page.locator(".monaco-dialog-box").getByRole("button", { name: /Yes, I trust/ }).click();
  // When its view is opened
  await page.locator('.activitybar .action-item:has(a[aria-label^="BreadBoard"])').click();
  // Then it asks who is to answer, and what is chosen is tried before it is used
  const heading = view.getByRole("heading", { name: "Who is to answer?" });
  await heading.waitFor();
  if (SHOTS) {
    await page.mouse.move(900, 600);
    await page.locator(".workbench-hover:visible").waitFor({ state: "detached" });
    await page.locator(".part.sidebar").screenshot({ path: path.join(SHOTS, "fresh-asks.png") });
  }
  await view.getByLabel("Address of the model").fill(model.url);
  await view.getByLabel("Address of the model").press("Enter");
  // Ollama may answer on this machine, with models of its own.
  await view.locator(".setup-outcome").getByLabel("Which model").waitFor();
  await view.locator(".setup-outcome").getByRole("button", { name: "Use it" }).click();
  await heading.waitFor({ state: "detached" });
  // And the model answers
  model.reply(says("It is about a harbour."));
  const prompt = view.getByLabel("Prompt", { exact: true });
  await prompt.fill("What is this project about?");
  await prompt.press("Enter");
  await view.locator(".assistant", { hasText: "It is about a harbour." }).waitFor();
  const took = Date.now() - begun;
  if (SHOTS) await page.screenshot({ path: path.join(SHOTS, "fresh-answered.png") });
  assert.ok(took < TWO_MINUTES, `it took ${took} ms`);
  console.log(`from the package to the first answer of a model in ${(took / 1_000).toFixed(1)} s, with nothing set up before`);
} catch (error) {
  console.error("the story of a new user failed:", error);
  if (SHOTS) await page.screenshot({ path: path.join(SHOTS, "fresh-failed.png") }).catch(() => undefined);
  process.exitCode = 1;
}
await browser.close().catch(() => undefined);
editor.stop();
model.close();
process.exit();
