/**
 * `bb/terminal/run`: runs an allowed command where the user sees it, and captures what it prints.
 *
 * Owns one terminal of the editor, in which commands run one after the other. Decides nothing: the user allowed the
 * command before the server sent it. Refuses folders outside the workspace.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import * as path from "node:path";
import { StringDecoder } from "node:string_decoder";
import * as vscode from "vscode";
import withheld from "../../../../src/core/domain/policy/withheld_environment.json";

/** Params of `bb/terminal/run`. */
export interface TerminalRun {
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly cwd?: string | null;
  readonly env?: Readonly<Record<string, string>> | null;
}

/** Its answer. */
export interface TerminalRan {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

/**
 * Most characters that are kept of one stream: what an agent reads of a flood is its start, and the user saw the rest.
 */
export const MOST_CAPTURED = 1024 * 1024;
/** Most commands that wait: an agent has one turn a session, so more than this is a fault. */
export const MOST_WAITING = 16;

/** Why a command was not run. */
export class NotRun extends Error {}

export class AgentTerminal implements vscode.Disposable {
  private readonly write = new vscode.EventEmitter<string>();
  private readonly closed = new vscode.EventEmitter<void>();
  private terminal: vscode.Terminal | undefined;
  private opened: Promise<void> = Promise.resolve();
  private running: ChildProcess | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(private readonly now: () => number = () => Date.now()) {}

  /** Runs it after those before it. Rejects with `NotRun` when it cannot be started. */
  async run(params: TerminalRun, token: vscode.CancellationToken): Promise<TerminalRan> {
    if (!vscode.workspace.isTrusted)
      throw new NotRun("This workspace is not trusted, so no command is run; trust it first.");
    const cwd = confined(params.cwd ?? ".", vscode.workspace.workspaceFolders ?? []);
    if (this.waiting >= MOST_WAITING)
      throw new NotRun(`${MOST_WAITING} commands wait for the terminal already; wait until one has run.`);
    this.waiting += 1;
    const turn = this.last.then(async () => {
      if (token.isCancellationRequested) throw new NotRun("The command was cancelled before it began.");
      await this.open();
      return await this.start(params, cwd, token);
    });
    this.last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      this.waiting -= 1;
    }
  }

  dispose(): void {
    this.end();
    this.terminal?.dispose();
    this.write.dispose();
    this.closed.dispose();
  }

  private async open(): Promise<void> {
    if (this.terminal === undefined) {
      let ready = (): void => undefined;
      this.opened = new Promise((resolve) => (ready = resolve));
      const pty: vscode.Pseudoterminal = {
        onDidWrite: this.write.event,
        onDidClose: this.closed.event,
        open: () => ready(),
        close: () => {
          this.terminal = undefined;
          this.end();
          // A terminal that is closed before it is drawn must not hold its command for ever.
          ready();
        },
        handleInput: (data) => {
          if (data.includes("\u0003")) this.end();
        },
      };
      this.terminal = vscode.window.createTerminal({
        name: "BreadBoard",
        pty,
        iconPath: new vscode.ThemeIcon("comment-discussion"),
      });
    }
    this.terminal.show(true);
    await this.opened;
  }

  private start(params: TerminalRun, cwd: string, token: vscode.CancellationToken): Promise<TerminalRan> {
    return new Promise((resolve, reject) => {
      const begun = this.now();
      this.write.fire(`\x1b[1m$ ${printable(params.command)}\x1b[0m\r\n`);
      const posix = process.platform !== "win32";
      const args = params.args ?? [];
      const child = spawn(params.command, [...args], {
        cwd,
        env: { ...cleaned(process.env), ...params.env },
        // The line is one for a shell; with arguments of its own it is a program.
        shell: args.length === 0,
        stdio: ["ignore", "pipe", "pipe"],
        // A group of its own, so that a stop reaches what the shell started.
        detached: posix,
        windowsHide: true,
      });
      this.running = child;
      const stdout = new Captured((text) => this.write.fire(text));
      const stderr = new Captured((text) => this.write.fire(text));
      child.stdout.on("data", (data: Buffer) => stdout.take(data));
      child.stderr.on("data", (data: Buffer) => stderr.take(data));
      const cancel = token.onCancellationRequested(() => this.end());
      child.once("error", (error) => {
        cancel.dispose();
        this.running = undefined;
        this.write.fire(`\x1b[31m${printable(error.message)}\x1b[0m\r\n\r\n`);
        reject(new NotRun(`The command could not be started: ${error.message}`));
      });
      child.once("close", (code, signal) => {
        cancel.dispose();
        this.running = undefined;
        // As shells count: an end by a signal is no success.
        const exitCode = code ?? 128 + (signal === "SIGKILL" ? 9 : 15);
        this.write.fire(`\x1b[2m(exit ${exitCode})\x1b[0m\r\n\r\n`);
        resolve({
          exitCode,
          stdout: stdout.text(),
          stderr: stderr.text(),
          durationMs: Math.max(0, this.now() - begun),
        });
      });
    });
  }

  private end(): void {
    const child = this.running;
    if (child?.pid === undefined || child.exitCode !== null) return;
    try {
      if (process.platform === "win32") child.kill();
      else process.kill(-child.pid, "SIGTERM");
    } catch {
      child.kill("SIGKILL");
    }
  }
}

class Captured {
  private readonly decoder = new StringDecoder("utf8");
  private kept = "";
  private dropped = 0;

  constructor(private readonly show: (text: string) => void) {}

  take(data: Buffer): void {
    const text = this.decoder.write(data);
    this.show(text.replace(/\r?\n/g, "\r\n"));
    const room = MOST_CAPTURED - this.kept.length;
    this.kept += text.slice(0, Math.max(0, room));
    this.dropped += Math.max(0, text.length - Math.max(0, room));
  }

  text(): string {
    const text = this.kept + (this.dropped === 0 ? this.decoder.end() : "");
    return this.dropped === 0 ? text : `${text}\n[${this.dropped} more characters are in the terminal]`;
  }
}

/** The folder of a command: inside the workspace, also after links are followed. */
export function confined(cwd: string, folders: readonly Pick<vscode.WorkspaceFolder, "uri">[]): string {
  const first = folders[0];
  if (first === undefined) throw new NotRun("No folder is open, so there is nowhere to run the command; open one.");
  const wanted = path.resolve(first.uri.fsPath, cwd);
  const real = existing(wanted);
  const inside = folders.some((folder) => {
    const root = existing(folder.uri.fsPath);
    return real === root || real.startsWith(root.endsWith(path.sep) ? root : root + path.sep);
  });
  if (!inside) throw new NotRun(`The folder \`${cwd}\` is outside the workspace, so the command was not run there.`);
  return wanted;
}

function existing(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

/** Names that a command does not inherit: the server's own list, so that it is one wherever a command runs. */
const WITHHELD = new RegExp(withheld.map((pattern) => `^${pattern.replaceAll("*", ".*")}$`).join("|"), "is");

/** The environment of a command: ours without what holds a secret. */
export function cleaned(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !WITHHELD.test(name)));
}

/** Without what would drive the terminal: a command must look like what it is. */
function printable(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd").replace(/\r?\n/g, "\r\n");
}
