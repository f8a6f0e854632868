/** Code actions on what is marked and on problems, and their prompts. */
import type * as vscode from "vscode";
import { beforeEach, expect, it, vi } from "vitest";
import * as stub from "./vscode_stub";

vi.mock("vscode", () => import("./vscode_stub"));
const { EditorNatives } = await import("../../src/host/editor_natives");

const LINES = ["fn a() {", "    b();", "}"];
const document = {
  uri: stub.Uri.file("/ws/src/a.rs"),
  languageId: "rust",
  lineAt: (line: number) => ({ range: new stub.Range(line, 0, line, LINES[line]?.length ?? 0) }),
  getText: (range: stub.Range) => LINES.slice(range.start.line, range.end.line + 1).join("\n"),
} as unknown as vscode.TextDocument;
const problem = { message: "cannot find\n function `b`", range: new stub.Range(1, 4, 1, 5), source: "rustc", severity: 0 };
const range = (from: number, to: number, column = 1) => new stub.Range(from, 0, to, column) as unknown as vscode.Range;
const actions = (at: vscode.Range, diagnostics: unknown[]) =>
  new EditorNatives()
    .provideCodeActions(document, at, { diagnostics, only: undefined, triggerKind: 1 } as unknown as vscode.CodeActionContext)
    .map(({ title, command }) => [title, command?.command]);

beforeEach(() => {
  stub.reset();
  stub.workspace.textDocuments = [document] as never;
  stub.languages.problems = [problem];
});

it("a problem can be fixed and explained, what is marked explained, tested and added to the chat", () => {
  expect(actions(range(1, 1, 0), [problem])).toEqual([
    ["Fix with BreadBoard", "breadboard.fix"],
    ["Explain with BreadBoard", "breadboard.explain"],
  ]);
  expect(actions(range(0, 2), [])).toEqual([
    ["Explain with BreadBoard", "breadboard.explain"],
    ["Write tests with BreadBoard", "breadboard.writeTests"],
    ["Add to the chat of BreadBoard", "breadboard.askSelection"],
  ]);
  expect(actions(range(1, 1, 0), [])).toEqual([]);
});

it("the prompt names the lines with their text, and a fix what the editor says of them", () => {
  const natives = new EditorNatives();
  expect(natives.prompt("fix", [document.uri, range(1, 1)])).toBe(
    "/fix @/ws/src/a.rs:2-2\n```rust\n    b();\n```\n\nThe editor says:\n- line 2: cannot find function `b` (rustc)\n",
  );
  expect(natives.prompt("test", [document.uri, range(1, 1)])).toBe("/test @/ws/src/a.rs:2-2\n```rust\n    b();\n```\n");
  expect(() => natives.prompt("fix", [document.uri, range(0, 0, 0)])).toThrow("There is no problem here");
});
