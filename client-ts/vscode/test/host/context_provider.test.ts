import { beforeEach, expect, it } from "vitest";
import { ContextProvider } from "../../src/host/context_provider";
import * as stub from "./vscode_stub";

beforeEach(stub.reset);

const place = (line: number, character: number) => new stub.Position(line, character);
const door = stub.Uri.file("/w/door.rs");

/** An editor with a file in front, a problem in it, and a terminal whose commands can be heard. */
function desk() {
  const started = new stub.EventEmitter<unknown>();
  const ended = new stub.EventEmitter<unknown>();
  Object.assign(stub.window, {
    activeTextEditor: {
      document: { uri: door, languageId: "rust" },
      selection: { start: place(1, 4), end: place(2, 0) },
      visibleRanges: [new stub.Range(place(0, 0), place(9, 0)), new stub.Range(place(19, 0), place(29, 0))],
    },
    visibleTextEditors: [{ document: { uri: door } }],
    onDidChangeActiveTextEditor: new stub.EventEmitter<unknown>().event,
    onDidChangeTextEditorSelection: new stub.EventEmitter<unknown>().event,
    onDidStartTerminalShellExecution: started.event,
    onDidEndTerminalShellExecution: ended.event,
  });
  stub.window.tabGroups.all = [{ tabs: [{ input: new stub.TabInputText(door) }, { input: {} }] }];
  Object.assign(stub.languages, {
    onDidChangeDiagnostics: new stub.EventEmitter<unknown>().event,
    getDiagnostics: () => [
      [door, [{ severity: 1, message: "unused", range: new stub.Range(place(0, 1), place(0, 2)) }]],
      [door, [{ severity: 0, message: "no `turn`", range: new stub.Range(place(2, 4), place(2, 8)), source: "rustc" }]],
      [stub.Uri.parse("output:x"), [{ severity: 0, message: "x", range: new stub.Range(place(0, 0), place(0, 0)) }]],
    ],
  });
  return { started, ended };
}

it("R002-32 R002-34 R002-35: tells what is in front, from line 1, and only what is wanted", () => {
  desk();
  const provider = new ContextProvider(() => undefined);
  expect(provider.provide({ wants: ["active_editor", "open_editors", "diagnostics", "terminal_output"] })).toEqual({
    active_editor: {
      file_path: "file:///w/door.rs",
      language: "rust",
      selection: { start: { line: 2, character: 4 }, end: { line: 3, character: 0 } },
      visible_range: { start: 1, end: 30 },
    },
    open_editors: [{ file_path: "file:///w/door.rs", is_dirty: false, visible: true }],
    diagnostics: [
      { file_path: "file:///w/door.rs", severity: "error", message: "no `turn`", line: 3, character: 4, source: "rustc" },
      { file_path: "file:///w/door.rs", severity: "warning", message: "unused", line: 1, character: 1 },
    ],
  });
  expect(provider.provide({ wants: [] })).toEqual({});
  provider.dispose();
});

it("R002-36: tells the last command of a terminal with its exit code, without colours", async () => {
  const { started, ended } = desk();
  const provider = new ContextProvider(() => undefined);
  const execution = {
    commandLine: { value: "npm test" },
    async *read() {
      yield "\x1b[31mFAIL\x1b[0m a\r\n";
      yield "1 failed\x1b]633;D;1\x07";
    },
  };
  started.fire({ execution });
  await new Promise((resolve) => setTimeout(resolve));
  ended.fire({ execution, exitCode: 1 });
  const { terminal_output: told } = provider.provide({ wants: ["terminal_output"] });
  expect(told).toMatchObject({ command: "npm test", exit_code: 1, stdout: "FAIL a\n1 failed", stderr: "" });
  expect(told?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  provider.dispose();
});
