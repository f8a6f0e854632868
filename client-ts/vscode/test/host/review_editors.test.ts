/** Proposed changes in the editor: what its lenses say, when a change may be accepted, and what closes with the answer. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type * as RealVscode from "vscode";
import * as stub from "./vscode_stub";

const { ReviewDesk } = await import("../../src/host/review_desk");
const { ReviewEditors, REVIEW_SCHEME } = await import("../../src/host/review_editors");

let folder: string;
beforeEach(() => {
  stub.reset();
  folder = mkdtempSync(path.join(tmpdir(), "review-"));
  mkdirSync(path.join(folder, "ws"));
  for (const name of ["a.rs", "b.rs"]) writeFileSync(path.join(folder, "ws", name), "x");
  stub.workspace.workspaceFolders = [{ uri: stub.Uri.file(path.join(folder, "ws")), name: "ws", index: 0 }];
  stub.workspace.texts.clear();
});
afterEach(() => rmSync(folder, { recursive: true }));

const hunk = (id: string, oldStart: number, content: string) => ({
  id,
  oldStart,
  oldLines: 1,
  newStart: oldStart,
  newLines: 1,
  content,
  state: "proposed",
});
const PATCH = {
  patchId: "patch-one",
  sessionId: "s",
  requestId: "r",
  digest: "sha256:d",
  status: "pending",
  files: [
    {
      filePath: "a.rs",
      change: "modify",
      outcome: "pending",
      hunks: [hunk("1", 1, "-a\n+A\n"), hunk("2", 9, "-gone\n+here\n"), hunk("3", 3, ` c\n${"+tall\n".repeat(50)}`)],
    },
    { filePath: "b.rs", change: "modify", outcome: "pending", hunks: [hunk("4", 1, "-b\n+B\n")] },
  ],
};

/** An editor of so many lines that shows a document of ours. */
async function opened(texts: Record<string, string>) {
  for (const [name, text] of Object.entries(texts)) stub.workspace.texts.set(`file://${path.join(folder, "ws", name)}`, text);
  let patch = PATCH;
  const asked: unknown[] = [];
  const server: Record<string, (params: any) => unknown> = {
    "bb/patch/get": () => ({ patch }),
    "bb/patch/list": () => ({ patches: [] }),
    "bb/patch/decide": () => ({ patchId: "patch-one", files: [] }),
    "bb/openDiff": ({ filePath }) => ({
      title: "t",
      left: { uri: `file://${folder}/ws/${filePath}` },
      right: { uri: `bb-diff:${filePath}` },
      unified: "",
      added: 1,
      removed: 1,
      truncated: false,
    }),
  };
  const ask = async (method: string, params: unknown) => {
    asked.push([method, params]);
    return server[method]?.(params);
  };
  const desk = new ReviewDesk({ ask, announced: () => true, changed: (patchId) => editors.changed(patchId) });
  const editors = new ReviewEditors({ ask, desk });
  const shownIn: { uri: stub.Uri; editor: any }[] = [];
  vi.spyOn(stub.workspace, "openTextDocument").mockImplementation(async (uri: unknown) => {
    const of = uri as stub.Uri;
    const text =
      of.scheme === REVIEW_SCHEME
        ? await editors.provideTextDocumentContent(of as unknown as RealVscode.Uri)
        : (stub.workspace.texts.get(of.toString()) ?? "");
    return { uri: of, getText: () => text, lineCount: text.split("\n").length } as never;
  });
  vi.spyOn(stub.window, "showTextDocument").mockImplementation(async (...[document]: unknown[]) => {
    const at = new stub.Position(0, 0);
    const known = shownIn.find(({ uri }) => uri.toString() === (document as { uri: stub.Uri }).uri.toString());
    const editor = known?.editor ?? {
      document,
      selection: new stub.Selection(at, at),
      visibleRanges: [new stub.Range(0, 0, 19, 0)],
      revealRange: ({ start }: stub.Range) => (editor.visibleRanges = [new stub.Range(start.line, 0, start.line + 19, 0)]),
      setDecorations: () => undefined,
    };
    if (known === undefined) shownIn.push({ uri: (document as { uri: stub.Uri }).uri, editor });
    stub.window.activeTextEditor = editor;
    stub.window.visibleTextEditors = [editor];
    return editor as never;
  });
  await editors.show("s", "patch-one");
  return {
    editors,
    desk,
    asked,
    settle: async () => {
      patch = { ...PATCH, status: "partly" };
      await desk.heard({ sessions: [] } as never);
      await new Promise((resolve) => setTimeout(resolve));
    },
    active: () => stub.window.activeTextEditor as any,
    said: () => stub.done.filter(([what]) => what === "status").map(([, text]) => text),
  };
}
const A = "a\nb\nc\nd\n";

it("lenses say which change it is, what can be done with it, and what was decided", async () => {
  const { editors, active, desk } = await opened({ "a.rs": A, "b.rs": "b\n" });
  const lenses = () =>
    editors.provideCodeLenses(active().document).map((lens) => {
      const { range, command } = lens as unknown as stub.CodeLens;
      return `${range.start.line}: ${command.title}`;
    });
  const words = lenses();
  expect(words.slice(0, 5)).toEqual([
    "0: 4 of 4 changes to decide",
    "0: Accept file",
    "0: Reject file",
    "0: Side by side",
    "0: All files",
  ]);
  expect(words.slice(5, 10)).toEqual([
    "0: Change 1 of 4",
    "0: $(check) Accept",
    "0: $(close) Reject",
    "0: $(arrow-up) Previous",
    "0: $(arrow-down) Next",
  ]);
  // Its lines are gone: it can be rejected and no more
  expect(words.filter((word) => word.includes("Does not fit")).length).toBe(1);
  desk.choose("patch-one", ["1"], "accepted");
  expect(lenses().slice(5, 8)).toEqual(["0: Change 1 of 4", "0: $(check) Accepted", "0: Decide anew"]);
});

it("a change that does not fit is not accepted, and one that is taller than the editor is read to its end first", async () => {
  const { editors, desk, active, said } = await opened({ "a.rs": A, "b.rs": "b\n" });
  await editors.decide("accepted", undefined, "2");
  expect([desk.get("patch-one")?.choices.size, said().at(-1)]).toEqual([
    0,
    "$(warning) The file has changed where this belongs; undo that in the file, or reject the change.",
  ]);
  await editors.decide("rejected", undefined, "2");
  active().visibleRanges = [new stub.Range(0, 0, 19, 0)];
  for (let presses = 0; presses < 3; presses += 1) {
    await editors.decide("accepted", undefined, "3");
    if (presses < 2) expect(said().at(-1)).toBe("Read the change to its end first, then accept it.");
  }
  expect(desk.get("patch-one")?.choices.get("3")).toBe("accepted");
});

it("moving goes over the files, and what is left is shown before anything is sent", async () => {
  const { editors, active, asked, desk, said } = await opened({ "a.rs": A, "b.rs": "b\n" });
  await editors.move(-1, undefined, "1");
  expect(active().document.uri.path).toBe("/Proposed: b.rs");
  await editors.decide("accepted");
  await editors.apply();
  expect(asked.filter(([method]: any) => method === "bb/patch/decide")).toEqual([]);
  expect([said().at(-1), active().document.uri.path]).toEqual(["3 of 4 changes to decide first.", "/Proposed: a.rs"]);
  await editors.decideFile("rejected");
  expect(said().at(-1)).toBe("$(check-all) All is decided. Ctrl+Enter: Accept 1 of 4 changes.");
  await editors.apply();
  expect(asked.filter(([method]: any) => method === "bb/patch/decide").length).toBe(1);
  expect([desk.all(), said().at(-1)]).toEqual([[], "$(check) 1 of 4 changes accepted."]);
});

it("all files are shown in the editor's own view of several, and an answer closes all that is of the edit", async () => {
  const { editors, settle } = await opened({ "a.rs": A, "b.rs": "b\n" });
  await editors.compareAll();
  const [command, title, sides] = stub.done.find(([what]) => what === "vscode.changes") as [string, string, stub.Uri[][]];
  expect([command, title, sides.map((side) => side.map(String))]).toEqual([
    "vscode.changes",
    "Proposed changes (patch-on)",
    ["a.rs", "b.rs"].map((name) => [`file://${folder}/ws/${name}`, `file://${folder}/ws/${name}`, `bb-diff:${name}`]),
  ]);
  const uri = (stub.window.activeTextEditor as any).document.uri;
  const tab = (input: unknown, label: string) => ({ input, label });
  const mine = tab(new stub.TabInputText(uri), "Proposed: a.rs");
  const several = tab(undefined, title);
  const other = tab(new stub.TabInputText(stub.Uri.file("/x")), "x");
  stub.window.tabGroups.all = [{ tabs: [mine, several, other] }] as never;
  await settle();
  expect(stub.done.filter(([what]) => what === "closeTabs")).toEqual([["closeTabs", [mine, several]]]);
  // And one that a window brings back later says so
  const text = await editors.provideTextDocumentContent(uri);
  expect(text).toBe("This edit waits for no answer any more; close this tab.\n");
});
