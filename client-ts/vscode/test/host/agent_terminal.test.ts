import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { CancellationToken } from "vscode";
import { afterEach, beforeEach, expect, it } from "vitest";
import { AgentTerminal, cleaned, NotRun } from "../../src/host/agent_terminal";
import * as stub from "./vscode_stub";

let folder = "";
beforeEach(() => {
  stub.reset();
  folder = mkdtempSync(path.join(tmpdir(), "bb-terminal-"));
  mkdirSync(path.join(folder, "src"));
  symlinkSync("/", path.join(folder, "out"));
  stub.workspace.workspaceFolders = [{ uri: stub.Uri.file(folder), name: "ws", index: 0 }];
});
afterEach(() => rmSync(folder, { recursive: true }));

function token() {
  const emitter = new stub.EventEmitter<void>();
  const held = { isCancellationRequested: false, onCancellationRequested: emitter.event };
  return {
    token: held as unknown as CancellationToken,
    cancel: () => {
      held.isCancellationRequested = true;
      emitter.fire();
    },
  };
}

/** A terminal, and all that it shows. */
function terminal() {
  let shown = "";
  const subject = new AgentTerminal(() => 1_000);
  return {
    subject,
    shown: () => shown,
    watch: () => stub.answers.terminals[0]?.options.pty.onDidWrite((text) => (shown += text)),
  };
}

it("R002-86 R002-87 R002-88: a command runs in a terminal, is seen there, and its output goes back", async () => {
  const { subject, shown, watch } = terminal();
  const first = subject.run({ command: "true" }, token().token);
  await first;
  watch();
  const ran = await subject.run(
    { command: "echo out; echo err >&2; pwd; exit 3", cwd: "src", env: { X: "1" } },
    token().token,
  );
  expect(ran).toEqual({ exitCode: 3, stdout: `out\n${path.join(folder, "src")}\n`, stderr: "err\n", durationMs: 0 });
  expect(stub.answers.terminals).toHaveLength(1);
  expect(shown()).toContain("$ echo out; echo err >&2; pwd; exit 3");
  expect(shown()).toContain("out\r\n");
  expect(shown()).toContain("err\r\n");
});

it("R000-63: nothing runs in a folder that is not trusted, outside of the workspace, or without one", async () => {
  const { subject } = terminal();
  for (const cwd of ["..", "/", "out"])
    await expect(subject.run({ command: "true", cwd }, token().token)).rejects.toThrow(/outside the workspace/);
  stub.workspace.isTrusted = false;
  await expect(subject.run({ command: "true" }, token().token)).rejects.toThrow(/not trusted/);
  stub.workspace.isTrusted = true;
  stub.workspace.workspaceFolders = undefined;
  await expect(subject.run({ command: "true" }, token().token)).rejects.toBeInstanceOf(NotRun);
  expect(stub.answers.terminals).toEqual([]);
});

it("a stop ends the command and what it started; Ctrl+C in the terminal does the same", async () => {
  const { subject } = terminal();
  // The terminal is there from here on, so that nothing it shows is missed.
  await subject.run({ command: "true" }, token().token);
  const one = token();
  const running = subject.run({ command: "echo begun; sleep 60 & wait" }, one.token);
  await begun();
  one.cancel();
  expect((await running).exitCode).toBe(143);
  const other = subject.run({ command: "sleep 60" }, token().token);
  await begun();
  stub.answers.terminals[0]?.options.pty.handleInput("\u0003");
  expect((await other).exitCode).toBe(143);
});

it("a command cannot drive the terminal by its text", async () => {
  const { subject, shown, watch } = terminal();
  await subject.run({ command: "true" }, token().token);
  watch();
  await subject.run({ command: "true \u001b[2K\u001b]0;x\u0007" }, token().token);
  expect(shown().split("\r\n")[0]).toBe("\u001b[1m$ true \ufffd[2K\ufffd]0;x\ufffd\u001b[0m");
});

it("R000-62: a command inherits what a build needs, and nothing that is ours or named like a secret", () => {
  const needed = ["PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "LANG", "KEYMAP", "CARGO_HOME", "XAUTHORITY"];
  const secret = [
    "BREADBOARD_API_TOKEN",
    "BREADBOARD_API_URL",
    "breadboard_api_url",
    "GITHUB_TOKEN",
    "GITHUB_PAT",
    "NPM_CONFIG__AUTH",
    "OPENAI_API_KEY",
    "MyServiceApiKey",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "PGPASSWORD",
    "MYSQL_PWD",
    "SIGNING_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
  ];
  const of = (names: string[]) => Object.fromEntries(names.map((name) => [name, "x"]));
  expect(cleaned(of([...needed, ...secret]))).toEqual(of(needed));
});

it("R000-62: what a command of the terminal prints of its environment has no secret of the editor's", async () => {
  const secrets = { AWS_ACCESS_KEY_ID: "AKIA", GITHUB_PAT: "ghp", MYSQL_PWD: "pw" };
  const given = { ...secrets, PLAIN_OF_TEST: "seen" };
  Object.assign(process.env, given);
  try {
    const { subject } = terminal();
    const { stdout } = await subject.run({ command: "env" }, token().token);
    const names = stdout.split("\n").map((line) => line.split("=")[0] ?? "");
    expect(Object.keys(given).filter((name) => names.includes(name))).toEqual(["PLAIN_OF_TEST"]);
  } finally {
    for (const name of Object.keys(given)) delete process.env[name];
  }
});

/** Until the command that was sent is a process. */
function begun(): Promise<void> {
  return new Promise((resolve) => void stub.answers.terminals[0]?.options.pty.onDidWrite(() => resolve()));
}
