// A real VS Code in a browser: starts code-server with the extension, opens a page, finds its parts, changes its
// settings. Waits for what is on the page; knows nothing of the story.
import { spawn, spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { chromium, selectors } from "playwright-core";

/** How long the editor may take for one thing; test machines are busy. */
const PATIENCE = Number(process.env.PATIENCE ?? 45_000);

const QUIET = {
  "chat.disableAIFeatures": true,
  "remote.autoForwardPorts": false,
  "workbench.startupEditor": "none",
  "workbench.editor.useModal": "off",
  "telemetry.telemetryLevel": "off",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": "off",
  "extensions.ignoreRecommendations": true,
  "update.mode": "none",
  "workbench.tips.enabled": false,
  "git.openRepositoryInParentFolders": "never",
  "security.workspace.trust.startupPrompt": "always",
  "security.workspace.trust.banner": "never",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "security.workspace.trust.untrustedFiles": "open",
  // The picker of the editor itself: a page has no hands for the dialog of a desktop.
  "files.simpleDialog.enable": true,
  // As a VS Code on a desktop begins; code-server saves by itself, and would hide that an edit was not.
  "files.autoSave": "off",
  "window.autoDetectColorScheme": false,
  "workbench.colorTheme": "Light 2026",
  // A page may take the focus a moment after the click that led to it (the form of a new spec does, when it refuses to be
  // submitted). A palette that was opened in between would close, and what the story types into it would go nowhere.
  "workbench.quickOpen.closeOnFocusLost": false,
};

export async function startEditor({ cache, work, vsixes, settings, env, args = [] }) {
  const data = path.join(work, "data");
  await mkdir(path.join(data, "User"), { recursive: true });
  await mkdir(path.join(work, "home"), { recursive: true });
  await mkdir(path.join(data, "Machine"), { recursive: true });
  await writeFile(path.join(data, "User", "settings.json"), JSON.stringify(QUIET));
  // Where the editor runs elsewhere than the window, settings of machine scope are read from that machine's own.
  const machine = (changes) =>
    writeFile(path.join(data, "Machine", "settings.json"), JSON.stringify({ ...settings, ...changes }));
  await machine({});
  const environment = {
    ...process.env,
    HOME: path.join(work, "home"),
    PATH: `${cache}/n24/bin:${process.env.PATH}`,
    ...env,
  };
  const program = [
    `${cache}/cs/node_modules/code-server/out/node/entry.js`,
    "--auth",
    "none",
    "--disable-telemetry",
    "--disable-update-check",
    "--disable-getting-started-override",
    "--user-data-dir",
    data,
    "--extensions-dir",
    path.join(work, "ext"),
    "--config",
    path.join(work, "config.yaml"),
    ...args,
  ];
  const installed = spawnSync(`${cache}/n24/bin/node`, [...program, ...vsixes.flatMap((vsix) => ["--install-extension", vsix])], {
    env: environment,
    encoding: "utf8",
  });
  if (installed.status !== 0)
    throw new Error(`the extension was not installed: ${installed.stdout}${installed.stderr}`);
  const port = await freePort();
  const child = spawn(`${cache}/n24/bin/node`, [...program, "--bind-addr", `127.0.0.1:${port}`], {
    env: environment,
    detached: true,
    stdio: "ignore",
  });
  const address = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries += 1) {
    try {
      if ((await fetch(`${address}/healthz`)).ok) break;
    } catch {
      if (tries > 200) throw new Error("code-server does not answer");
    }
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  return {
    address,
    data,
    /** Writes the settings of the machine, over those that it was started with; they count after a reload. */
    machine,
    stop: () => {
      try {
        process.kill(-child.pid, "SIGTERM");
      } catch {
        // It is gone.
      }
    },
  };
}

export async function openPage(address, folder, prepare) {
  await selectors.register("webview", webviewEngine, { contentScript: true });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await prepare?.(context, page);
  await page.goto(`${address}/?folder=${folder}`, { waitUntil: "domcontentloaded" });
  return { browser, context, page };
}

// All webviews lie over the workbench side by side, and what tells them apart is the title of the page within.
export const SIDEBAR = "webview=BreadBoard";
export const PANEL = "webview=Create New Spec";

/** Finds the frame of a webview by that title; code-server serves them from the editor's own origin. */
function webviewEngine() {
  const titled = (root, title) =>
    [...root.querySelectorAll("iframe.webview.ready")].filter(
      (outer) => outer.contentDocument?.querySelector("iframe#active-frame")?.contentDocument?.title === title,
    );
  return { query: (root, title) => titled(root, title)[0] ?? null, queryAll: titled };
}

/** The page of a view or a panel, inside its two frames. */
export const insideOf = (page, outer) => page.frameLocator(outer).frameLocator("iframe#active-frame");

/** The same as a frame that can be asked to evaluate. */
export async function frameOf(page, outer) {
  const host = await (await page.locator(outer).elementHandle()).contentFrame();
  return (await host.locator("iframe#active-frame").elementHandle()).contentFrame();
}

/** Tries of one command: a palette closes when the focus goes elsewhere, and the editor moves it while it starts. */
const TRIES = 3;

/** Runs a command of the palette. */
export async function command(page, title) {
  for (let left = TRIES - 1; ; left -= 1) {
    try {
      return await choose(page, title);
    } catch (error) {
      if (left === 0) throw error;
      await page.keyboard.press("Escape");
      await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
    }
  }
}

/** Types a command into the palette and clicks it; throws where the palette closed before. */
async function choose(page, title) {
  const timeout = PATIENCE / TRIES;
  const typed = `>${title}`;
  const widget = page.locator(".quick-input-widget");
  const input = page.locator(".quick-input-widget input");
  // Not what stands first: what is most like the words is not always what has these words.
  const row = page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first();
  await page.keyboard.press("F1");
  await input.waitFor({ timeout });
  await input.fill(typed, { timeout });
  const closed = widget.waitFor({ state: "hidden", timeout }).then(() => {
    throw new Error(`The palette closed while "${title}" was looked for.`);
  });
  await Promise.race([row.waitFor({ timeout }), closed]);
  const there = await input.inputValue({ timeout });
  if (there !== typed) throw new Error(`The palette has "${there}" where "${typed}" was typed.`);
  await row.click({ timeout });
}

/** Chooses a colour theme, as a user does. */
export async function theme(page, name) {
  await command(page, "Preferences: Color Theme");
  const row = page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first();
  await page.locator(".quick-input-widget input[placeholder*=Theme]").fill(name);
  await row.click();
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}

/** Opens a file of the workspace, as a user does who knows its name. A list that was made before the file was there never shows it, so it is asked for again. */
export async function openFile(page, name) {
  const row = page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first();
  const within = 5_000;
  for (let tries = 1; ; tries += 1) {
    await command(page, "Go to File...");
    await page.locator(".quick-input-widget input").fill(name);
    try {
      await row.click({ timeout: within * tries });
      break;
    } catch (error) {
      if (tries === 6) throw error;
      await page.keyboard.press("Escape");
      await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
    }
  }
  await page.locator(".tabs-container .tab.active", { hasText: name }).waitFor();
}

/** Reloads the window as the editor does it: what is to be kept is written first. */
export async function reload(page) {
  const loaded = page.waitForEvent("domcontentloaded");
  await command(page, "Developer: Reload Window");
  await loaded;
  await page.locator(".monaco-workbench").waitFor();
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
      .once("error", reject)
      .listen(0, "127.0.0.1", () => {
        const { port } = server.address();
        server.close(() => resolve(port));
      });
  });
}
