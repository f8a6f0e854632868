// A VS Code that is shown in German: the menus, the sentences of the host and the pages are German, and no page of them complains
// to axe-core or has anything stand out at 250 pixels or twice the size. A story of its own, since a window has one language.
//
//   WORK, E2E_CACHE, SHOTS  as in run.mjs
import assert from "node:assert/strict";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import path from "node:path";
import { beyond, scan } from "./chapters/accessibility.mjs";
import { command, frameOf, insideOf, openPage, SIDEBAR, startEditor } from "./editor.mjs";
import { calls, says, startModel } from "./model.mjs";

const { WORK, E2E_CACHE, SHOTS } = process.env;
const work = await mkdtemp(path.join(WORK, "german-"));
const folder = path.join(work, "hafen");
await mkdir(folder);
await writeFile(path.join(folder, "README.md"), "# Hafen\n");
// As a language pack is known to the editor; this one translates nothing, so that what is looked at are words of ours.
const translations = path.join(work, "vscode.i18n.json");
await writeFile(translations, JSON.stringify({ version: "1.0.0", contents: {} }));
const pack = { hash: "story", label: "Deutsch", extensions: [{ extensionIdentifier: { id: "story.german" }, version: "1.0.0" }], translations: { vscode: translations } };
await mkdir(path.join(work, "data"));
await writeFile(path.join(work, "data", "languagepacks.json"), JSON.stringify({ de: pack }));
const model = await startModel();
const editor = await startEditor({
  cache: E2E_CACHE,
  work,
  vsixes: [path.join(WORK, "extension.vsix")],
  settings: {},
  env: { NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" },
  args: ["--locale", "de"],
});
const { browser, page } = await openPage(editor.address, folder);
const picture = async (name) => void (SHOTS && (await page.screenshot({ path: path.join(SHOTS, `german-${name}.png`) })));
try {
  const view = insideOf(page, SIDEBAR);
  await page.locator(".monaco-dialog-box").getByRole("button", { name: /Yes, I trust/ }).click();
  await page.locator('.activitybar .action-item:has(a[aria-label^="BreadBoard"])').click();
  const found = [];
  const look = async (what) => {
    const frame = await frameOf(page, SIDEBAR);
    found.push(...(await scan(frame, "--vscode-sideBar-background")).map((fault) => `${what}: ${fault}`), ...(await beyond(frame, what)));
    const text = await frame.locator("body").innerText();
    const english = text.match(/\b(?:the|waits?|which|agent asks|choose|answer(?:s|ed)|session|allowed)\b/gi) ?? [];
    found.push(...english.map((word) => `${what}: the English word "${word}" in: ${text.replace(/\s+/g, " ").slice(0, 400)}`));
  };
  // The choice of who answers.
  await view.getByRole("heading", { name: "Wer soll antworten?" }).waitFor();
  await view.getByRole("heading", { name: "Mit einem Schlüssel" }).waitFor();
  await picture("setup");
  await look("setup");
  await view.getByLabel("Adresse des Modells").fill(model.url);
  await view.getByLabel("Adresse des Modells").press("Enter");
  await view.locator(".setup-outcome").getByLabel("Welches Modell").waitFor();
  await view.locator(".setup-outcome").getByRole("button", { name: "Verwenden" }).click();
  const prompt = view.getByLabel("Eingabe", { exact: true });
  // A conversation with a request that waits.
  model.reply(
    says("Es geht um einen Hafen.\n\n- [x] gelesen\n\n```rust\nfn main() {}\n```\n"),
    calls("propose_patch", { file_path: "README.md", edits: [{ old_text: "# Hafen", new_text: "# Der Hafen" }], rationale: "Ein Titel.", acceptance_criteria: [] }),
    says("Gut."),
  );
  await prompt.fill("Worum geht es hier?");
  await prompt.press("Enter");
  await view.locator(".assistant", { hasText: "Es geht um einen Hafen." }).waitFor();
  await view.getByRole("button", { name: "Anhalten" }).waitFor({ state: "detached" });
  await prompt.fill("Und nun ein Titel.");
  await prompt.press("Enter");
  const card = view.locator(".approval.pending");
  await card.getByText("Der Agent möchte eine Datei ändern").waitFor();
  await picture("asks");
  await card.getByRole("button", { name: "Einmal erlauben" }).waitFor();
  // What the server says itself: why it asks, and later that the model failed.
  await card.getByText("Gefragt, denn Ihre Einstellung fragt nach allem; es ändert Dateien.").waitFor();
  // The host and the manifest.
  await command(page, "BreadBoard: Menü zeigen");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Die wartende Anfrage zeigen" }).waitFor();
  await picture("menu");
  await page.keyboard.press("Escape");
  await card.locator('.buttons button[aria-disabled="false"]', { hasText: "Einmal erlauben" }).click();
  await view.locator(".assistant", { hasText: "Gut." }).waitFor();
  await view.getByText("README.md schreiben").waitFor();
  // The model has no reply left, and fails.
  await prompt.fill("Und jetzt?");
  await prompt.press("Enter");
  await view.locator(".notice", { hasText: /Das Modell bei .* hat versagt \(HTTP 500\).*fragen Sie noch einmal\./ }).waitFor();
  await picture("fails");
  const frame = await frameOf(page, SIDEBAR);
  found.push(...(await scan(frame, "--vscode-sideBar-background")), ...(await beyond(frame, "chat")));
  assert.deepEqual(found, []);
  console.log("in German: the choice of who answers, a request and why it is asked, a failure of the model, the menu and the palette; no complaint of axe-core, and nothing stands out");
} catch (error) {
  console.error("the story in German failed:", error);
  console.error((await insideOf(page, SIDEBAR).locator("body").innerText({ timeout: 5_000 }).catch(String)).slice(-1_500));
  await picture("failed").catch(() => undefined);
  process.exitCode = 1;
}
await browser.close().catch(() => undefined);
editor.stop();
model.close();
process.exit();
