import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as vscode from "vscode";
import { afterEach, beforeEach, expect, it } from "vitest";
import { act } from "../../src/host/editor_actions";
import { MOST_REMEMBERED, Remembered } from "../../src/host/remembered";
import { pageParamsFault } from "../../src/shared/page_methods";
import * as stub from "./vscode_stub";

let folder = "";
beforeEach(() => {
  stub.reset();
  folder = mkdtempSync(path.join(tmpdir(), "bb-actions-"));
  mkdirSync(path.join(folder, "ws"));
  writeFileSync(path.join(folder, "ws", "a.txt"), "a");
  writeFileSync(path.join(folder, "secret"), "s");
  symlinkSync(path.join(folder, "secret"), path.join(folder, "ws", "link"));
  stub.workspace.workspaceFolders = [{ uri: stub.Uri.file(path.join(folder, "ws")), name: "ws", index: 0 }];
});
afterEach(() => rmSync(folder, { recursive: true }));

const asked: unknown[] = [];
const troubles: string[] = [];
const ports = (answer: unknown = {}) => ({
  ask: async (method: string, params: unknown) => {
    asked.push([method, params]);
    return answer;
  },
  status: () => ({}),
  remembered: new Remembered(path.join(folder, "state", "page.json"), (sentence) => troubles.push(sentence)),
  restart: async () => undefined,
  showLog: () => undefined,
  review: {
    show: async (...where: unknown[]) => void stub.done.push(["review", ...where]),
    choices: async () => [{ id: "h1", choice: "accepted" as const }],
    choose: (...choice: unknown[]) => void stub.done.push(["choose", ...choice]),
  },
  code: { apply: async () => undefined },
  setup: {
    look: async () => ({ agents: [], providers: [], now: "" }),
    check: async () => ({ ok: true }),
    choose: async () => ({ counts: "now" as const }),
  },
  turnDiff: async (...of: unknown[]) => void stub.done.push(["turnDiff", ...of]),
  setToken: async (scope: string) => void stub.done.push(["setToken", scope]),
});

it("opens files of the workspace and no others, also not through a link", async () => {
  await act(ports(), "editor.openFile", { path: "a.txt", line: 3 });
  expect(stub.done[0]?.[1]?.toString()).toBe(`file://${path.join(folder, "ws", "a.txt")}`);
  await expect(act(ports(), "editor.openFile", { path: "gone.txt" })).rejects.toMatchObject({
    code: "not_found",
    message: "There is no file `gone.txt` in this workspace; it may have been moved or deleted.",
  });
  for (const name of ["../secret", "/etc/passwd", "link"]) {
    await expect(act(ports(), "editor.openFile", { path: name })).rejects.toMatchObject({
      code: "path_outside_workspace",
    });
  }
  expect(stub.done).toHaveLength(1);
});

it("in several folders opens the file that is meant, and asks where two have it", async () => {
  for (const name of ["web/src", "ws/src"]) mkdirSync(path.join(folder, name), { recursive: true });
  for (const name of ["web/src/b.txt", "web/src/both.txt", "ws/src/both.txt"])
    writeFileSync(path.join(folder, name), "x");
  stub.workspace.workspaceFolders = ["ws", "web"].map((name, index) => ({
    uri: stub.Uri.file(path.join(folder, name)),
    name,
    index,
  }));
  const opened = async (params: Record<string, unknown>) => {
    stub.done.length = 0;
    await act(ports(), "editor.openFile", params);
    return stub.done.map(([, uri]) => path.relative(folder, (uri as stub.Uri).fsPath));
  };
  expect(await opened({ path: "src/b.txt", line: 1, column: 3 })).toEqual(["web/src/b.txt"]);
  expect(stub.done[0]?.[2]).toMatchObject({ selection: { start: { line: 0, character: 2 } } });
  expect(await opened({ path: "web/src/both.txt" })).toEqual(["web/src/both.txt"]);
  expect(await opened({ path: "src/both.txt", root: "ws" })).toEqual(["ws/src/both.txt"]);
  expect(stub.picks).toEqual([]);
  stub.answers.pick = 1;
  expect(await opened({ path: "src/both.txt" })).toEqual(["web/src/both.txt"]);
  expect(stub.picks).toEqual([["ws", "web"]]);
  delete stub.answers.pick;
  expect(await opened({ path: "src/both.txt" })).toEqual([]);
});

it("opens the one file whose path ends as it was named, asks where several do, and takes the folder's name in front", async () => {
  mkdirSync(path.join(folder, "ws/crates/core/src"), { recursive: true });
  mkdirSync(path.join(folder, "ws/crates/cli/src"), { recursive: true });
  const core = path.join(folder, "ws/crates/core/src/lib.rs");
  const cli = path.join(folder, "ws/crates/cli/src/lib.rs");
  for (const file of [core, cli]) writeFileSync(file, "x");
  const opened = async (name: string) => {
    stub.done.length = 0;
    await act(ports(), "editor.openFile", { path: name, line: 1 });
    return stub.done.map(([, uri]) => (uri as stub.Uri).fsPath);
  };
  stub.answers.files = [stub.Uri.file(core)];
  expect([await opened("src/lib.rs"), stub.searches]).toEqual([[core], ["**/src/lib.rs"]]);
  stub.answers.files = [stub.Uri.file(core), stub.Uri.file(cli)];
  stub.answers.pick = 1;
  expect([await opened("[src]/lib.rs"), stub.searches.at(-1)]).toEqual([[cli], "**/[[]src[]]/lib.rs"]);
  // What is found through a link may lie elsewhere.
  stub.answers.files = [stub.Uri.file(path.join(folder, "ws", "link"))];
  await expect(opened("lib.rs")).rejects.toMatchObject({ code: "path_outside_workspace" });
  expect(await opened("ws/a.txt")).toEqual([path.join(folder, "ws/a.txt")]);
});

it("a token is asked for by the editor, and only for what has one", async () => {
  await act(ports(), "editor.setToken", { scope: "model" });
  expect(stub.done).toEqual([["setToken", "model"]]);
  expect(pageParamsFault("editor.setToken", { scope: "other" })).toBe("`scope` must be `engine` or `model`");
});

it("opens addresses of the web outside, and no other kind of link", async () => {
  await act(ports(), "editor.openLink", { uri: "https://example.org/x" });
  expect(stub.done).toEqual([["openExternal", "https://example.org/x"]]);
  for (const uri of ["command:workbench.action.quit", "javascript:alert(1)", "vscode://x", "data:text/html,x"]) {
    await expect(act(ports(), "editor.openLink", { uri })).rejects.toMatchObject({ code: "unsupported" });
  }
});

it("D10: a command is typed into a terminal and not run, and no more than one line of it", async () => {
  await act(ports(), "editor.openTerminal", { command: "codex login" });
  expect([stub.answers.terminals.length, stub.done]).toEqual([1, [["sendText", "codex login", false]]]);
  for (const command of ["codex login\nrm -rf ~", "a\rb", "\u001b[2Jx"])
    await expect(act(ports(), "editor.openTerminal", { command })).rejects.toMatchObject({ code: "unsupported" });
  expect([stub.answers.terminals.length, stub.done.length]).toEqual([1, 1]);
});

it("R000-32: a diff opens in the editor's own diff view, with sides of the contract only", async () => {
  const result = (left: string) => ({
    title: "a.txt",
    left: { uri: left },
    right: { uri: "file:///ws/a.txt" },
    unified: "",
    added: 0,
    removed: 0,
    truncated: false,
  });
  await act(ports(result("bb-diff:/x")), "editor.showDiff", { sessionId: "s", filePath: "a.txt" });
  expect(stub.done.map(([command, left, right, title]) => [command, String(left), String(right), title])).toEqual([
    ["vscode.diff", "bb-diff:/x", "file:///ws/a.txt", "a.txt"],
  ]);
  await expect(
    act(ports(result("command:x")), "editor.showDiff", { sessionId: "s", filePath: "a.txt" }),
  ).rejects.toThrow(/neither a file nor/);
});

it("closes the comparison with a change that was answered, and no other tab", async () => {
  const result = { left: "file:///ws/a.txt", right: "bb-diff:/x" };
  const answer = {
    title: "a.txt",
    left: { uri: result.left },
    right: { uri: result.right },
    unified: "",
    added: 1,
    removed: 0,
    truncated: false,
  };
  const params = { sessionId: "s", filePath: "a.txt", beforeRef: "disk", afterRef: "patch:1" };
  await act(ports(answer), "editor.showDiff", params);
  const tab = (right: string) => ({
    input: new stub.TabInputTextDiff(stub.Uri.parse(result.left), stub.Uri.parse(right)),
  });
  const compared = tab(result.right);
  stub.window.tabGroups.all = [{ tabs: [tab("bb-diff:/other"), compared] }, { tabs: [{ input: undefined }] }];
  stub.done.length = 0;
  for (const afterRef of ["patch:2", "patch:1", "patch:1"]) await act(ports(), "editor.closeDiff", { afterRef });
  expect(stub.done).toEqual([["closeTabs", [compared]]]);
});

it("R003-55: the whole of an output is an artifact that the editor opens", async () => {
  asked.length = 0;
  await act(
    ports({ artifactPath: "out.log", uri: "file:///state/out.log", bytes: 3, sha256: "00" }),
    "editor.openArtifact",
    { sessionId: "s", artifactPath: "out.log" },
  );
  expect(asked).toEqual([["bb/downloadArtifact", { sessionId: "s", artifactPath: "out.log" }]]);
  expect(stub.done.map(([command, uri]) => [command, String(uri)])).toEqual([["vscode.open", "file:///state/out.log"]]);
});

it("files are attached by reference; a picker that is cancelled attaches none", async () => {
  stub.answers.open = [stub.Uri.file("/x/a b.png")];
  expect(
    await act(ports({ attachmentId: "at1", bytes: 5, mime: "image/png" }), "editor.pickAttachments", {
      sessionId: "s",
    }),
  ).toEqual({ attachments: [{ attachmentId: "at1", name: "a b.png", bytes: 5 }], leftOut: 0 });
  delete stub.answers.open;
  expect(await act(ports(), "editor.pickAttachments", { sessionId: "s" })).toEqual({ attachments: [], leftOut: 0 });
});

it("code of an answer is inserted as it is, at every cursor", async () => {
  const edits: unknown[] = [];
  stub.window.activeTextEditor = {
    selections: [1, 2],
    edit: async (run: (edit: unknown) => void) => (
      run({ replace: (at: unknown, text: string) => edits.push([at, text]) }),
      true
    ),
  };
  await act(ports(), "editor.insert", { text: "${x} $1" });
  expect(edits).toEqual([
    [1, "${x} $1"],
    [2, "${x} $1"],
  ]);
  stub.window.activeTextEditor = undefined;
  await expect(act(ports(), "editor.insert", { text: "x" })).rejects.toMatchObject({ code: "unsupported" });
  expect(vscode.window.visibleTextEditors).toEqual([]);
});

it("R001-60 R001-68: what a page wants to find again is on the disk at once, the newest of many", async () => {
  const actions = ports();
  expect(await act(actions, "editor.status", {})).toEqual({});
  await Promise.all(["one", "two", "three"].map((state) => act(actions, "editor.remember", { state })));
  expect(await act(ports(), "editor.status", {})).toEqual({ remembered: "three" });
  await act(actions, "editor.remember", { state: "x".repeat(MOST_REMEMBERED + 1) });
  expect(await act(ports(), "editor.status", {})).toEqual({ remembered: "three" });
  expect(troubles).toEqual([expect.stringContaining("larger than 4 MiB")]);
});

it("compares a file of a turn, or all of them", async () => {
  await act(ports(), "editor.turnDiff", { sessionId: "s", turn: 4, filePath: "a", root: "web" });
  await act(ports(), "editor.turnDiffs", { sessionId: "s", turn: 4 });
  expect(stub.done).toEqual([
    ["turnDiff", { sessionId: "s", turn: 4 }, "a", "web"],
    ["turnDiff", { sessionId: "s", turn: 4 }, undefined, undefined],
  ]);
});

it("shows an edit that waits, and has its choices in common with the page", async () => {
  await act(ports(), "editor.review", { sessionId: "s", patchId: "p", hunkId: null });
  await act(ports(), "editor.review", { sessionId: "s", patchId: "p", hunkId: "h2" });
  await act(ports(), "editor.chooseHunk", { patchId: "p", hunkId: "h2", choice: "rejected" });
  await act(ports(), "editor.chooseHunk", { patchId: "p", hunkId: "h2", choice: "none" });
  expect(stub.done).toEqual([
    ["review", "s", "p", undefined],
    ["review", "s", "p", "h2"],
    ["choose", "p", "h2", "rejected"],
    ["choose", "p", "h2", undefined],
  ]);
  expect(await act(ports(), "editor.hunkChoices", { sessionId: "s", patchId: "p" })).toEqual({
    choices: [{ id: "h1", choice: "accepted" }],
  });
});
