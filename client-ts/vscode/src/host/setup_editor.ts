/**
 * The choice of who answers, with what the editor has for it: settings, secret storage, dialogs, the server's program.
 *
 * Owns which setting is written and how the program is run; what is tried and kept is the desk's to say.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Credentials } from "./credentials";
import type { ServerConnection } from "./server_connection";
import { readUserSettings } from "./settings";
import { hasChosen, SetupDesk } from "./setup_desk";
import { l10n } from "vscode";

/** Where it is remembered that somebody wants no model. */
const CHOSEN = "breadboard.chosen";
/** How long the program may take: an agent may have to be unpacked first. */
const LONGEST_MS = 150_000;
/** Most that it may print. */
const MOST_PRINTED = 4 * 1024 * 1024;

const configuration = (): vscode.WorkspaceConfiguration => vscode.workspace.getConfiguration("breadboard");

/** Whether somebody has said who is to answer. */
export function chosenBefore(context: Pick<vscode.ExtensionContext, "globalState">): boolean {
  return (
    hasChosen(readUserSettings(configuration())) ||
    process.env["BREADBOARD_API_URL"] !== undefined ||
    context.globalState.get(CHOSEN) === true
  );
}

export interface SetupEditorPorts {
  readonly context: Pick<vscode.ExtensionContext, "globalState">;
  readonly server: ServerConnection;
  readonly credentials: Credentials;
  isRunning(): boolean;
  /** What the page knows of the host is something else. */
  changed(): void;
}

export function openSetup({ context, server, credentials, isRunning, changed }: SetupEditorPorts): SetupDesk {
  return new SetupDesk({
    ask: (method, params) => server.request(method, params),
    settings: () => readUserSettings(configuration()),
    run: async (args, env) => run(server.program(), args, env),
    askKey: (title, prompt) =>
      Promise.resolve(vscode.window.showInputBox({ title, prompt, password: true, ignoreFocusOut: true })),
    storedToken: (scope, place) => credentials.tokenFor(scope, place),
    keepToken: (scope, token, place) => server.keepToken(scope, token, place),
    update: async (key, value) => {
      await configuration().update(key, value, vscode.ConfigurationTarget.Global);
    },
    takeModel: () => server.takeModel(),
    restart: () => server.restart(),
    running: isRunning,
    trusted: () => vscode.workspace.isTrusted,
    folder: () => vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === "file")?.uri.fsPath,
    chose: async () => {
      await context.globalState.update(CHOSEN, true);
    },
    changed,
  });
}

/** Runs the program to its end, with a state of its own that is gone afterwards; gives what it printed. */
async function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const state = await mkdtemp(path.join(tmpdir(), "breadboard-try-"));
  try {
    return await new Promise<string>((resolve, reject) => {
      execFile(
        program,
        [...args, "--state-dir", state],
        { env: { ...process.env, ...env }, timeout: LONGEST_MS, maxBuffer: MOST_PRINTED, windowsHide: true },
        // A report of what failed comes with an exit code of its own.
        (error, stdout, stderr) =>
          stdout.trim() !== "" ? resolve(stdout) : reject(new Error(stderr.trim() || (error?.message ?? l10n.t("it said nothing")))),
      );
    });
  } finally {
    await rm(state, { recursive: true, force: true });
  }
}
