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
