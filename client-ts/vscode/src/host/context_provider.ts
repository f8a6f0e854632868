/**
 * `bb/context/provide`: what is in front of the user, for the context of a prompt.
 *
 * Owns the answer and the last command of a terminal with shell integration. Lines count from 1 and characters from 0. Reads no
 * file and runs nothing; the server decides what goes.
 */
import type { ServerRequests } from "@breadboard-ls/sdk";
import * as vscode from "vscode";

type Provide = ServerRequests["bb/context/provide"];
type Context = Provide["result"];

/** Most problems and files that are told of. */
const MOST_PROBLEMS = 200;
const MOST_FILES = 50;
/** Most characters that are kept of what a command printed: its end. */
const MOST_OUTPUT = 32 * 1024;
/** How long nothing changes before it is told that something did. */
const QUIET_MS = 250;

/** The shell integration of newer editors, as far as it is used: the types that we build with are older. */
interface Execution {
  readonly commandLine: { readonly value: string };
  read(): AsyncIterable<string>;
}
interface ShellIntegration {
  onDidStartTerminalShellExecution?(hear: (event: { execution: Execution }) => void): vscode.Disposable;
  onDidEndTerminalShellExecution?(
    hear: (event: { execution: Execution; exitCode: number | undefined }) => void,
  ): vscode.Disposable;
}

const SEVERITIES = ["error", "warning", "information", "hint"];

export class ContextProvider implements vscode.Disposable {
  private readonly listening: vscode.Disposable[] = [];
  private last: NonNullable<Context["terminal_output"]> | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `changed` hears, a moment later, that what is in front of the user is something else. */
  constructor(private readonly changed: () => void) {
    const { window, languages } = vscode;
    this.listening.push(
      window.onDidChangeActiveTextEditor(this.later),
      window.onDidChangeTextEditorSelection(this.later),
      languages.onDidChangeDiagnostics(this.later),
    );
    // Older editors have none to listen to.
    const shell = window as unknown as ShellIntegration;
    for (const listening of [
      shell.onDidStartTerminalShellExecution?.(({ execution }) => void this.hear(execution)),
      shell.onDidEndTerminalShellExecution?.(({ execution, exitCode }) => this.ended(execution, exitCode)),
    ])
      if (listening !== undefined) this.listening.push(listening);
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const one of this.listening) one.dispose();
  }

  readonly provide = ({ wants }: Provide["params"]): Context => {
    const wanted = (name: string): boolean => wants.includes(name);
    const editor = frontEditor();
    return {
      ...(wanted("active_editor") && editor !== undefined ? { active_editor: active(editor) } : {}),
      ...(wanted("open_editors") ? { open_editors: openEditors() } : {}),
      ...(wanted("diagnostics") ? { diagnostics: problems() } : {}),
      ...(wanted("terminal_output") && this.last !== undefined ? { terminal_output: this.last } : {}),
    };
  };

  private readonly later = (): void => {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.changed, QUIET_MS);
  };

  /** What a command prints, while it prints it. */
  private async hear(execution: Execution): Promise<void> {
    const running = { command: execution.commandLine.value, exit_code: null, stdout: "", stderr: "" };
    this.last = running;
    for await (const piece of execution.read()) {
      running.stdout = plain(running.stdout + piece).slice(-MOST_OUTPUT);
      if (this.last?.command === running.command) this.last = { ...this.last, stdout: running.stdout };
    }
  }

  private ended(execution: Execution, exitCode: number | undefined): void {
    const { last } = this;
    if (last === undefined || last.command !== execution.commandLine.value) return;
    this.last = { ...last, exit_code: exitCode ?? null, timestamp: new Date().toISOString() };
    this.later();
  }
}

/** The editor of a file that was used last: the sidebar may have the focus. */
function frontEditor(): vscode.TextEditor | undefined {
  const { activeTextEditor, visibleTextEditors } = vscode.window;
  const ofFile = (editor: vscode.TextEditor | undefined): boolean => editor?.document.uri.scheme === "file";
  return ofFile(activeTextEditor) ? activeTextEditor : visibleTextEditors.find(ofFile);
}

function active({ document, selection, visibleRanges }: vscode.TextEditor): NonNullable<Context["active_editor"]> {
  const place = ({ line, character }: vscode.Position) => ({ line: line + 1, character });
  const [first] = visibleRanges;
  const last = visibleRanges.at(-1);
  return {
    file_path: document.uri.toString(),
    language: document.languageId,
    selection: { start: place(selection.start), end: place(selection.end) },
    ...(first === undefined || last === undefined
      ? {}
      : { visible_range: { start: first.start.line + 1, end: last.end.line + 1 } }),
  };
}

function openEditors(): NonNullable<Context["open_editors"]> {
  const seen = new Set(vscode.window.visibleTextEditors.map(({ document }) => document.uri.toString()));
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const uris = tabs.flatMap(({ input }) =>
    input instanceof vscode.TabInputText && input.uri.scheme === "file" ? [input.uri.toString()] : [],
  );
  const dirty = new Set(
    vscode.workspace.textDocuments.filter(({ isDirty }) => isDirty).map(({ uri }) => uri.toString()),
  );
  return [...new Set(uris)]
    .slice(0, MOST_FILES)
    .map((uri) => ({ file_path: uri, is_dirty: dirty.has(uri), visible: seen.has(uri) }));
}

function problems(): NonNullable<Context["diagnostics"]> {
  const all = vscode.languages.getDiagnostics().filter(([uri]) => uri.scheme === "file");
  return all
    .flatMap(([uri, found]) =>
      found.map(({ severity, message, range, source }) => ({
        file_path: uri.toString(),
        severity: SEVERITIES[severity] ?? "error",
        message,
        line: range.start.line + 1,
        character: range.start.character,
        ...(source === undefined ? {} : { source }),
      })),
    )
    .sort((one, other) => SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity))
    .slice(0, MOST_PROBLEMS);
}

/** Without colours, marks of the shell integration, and returns to the beginning of a line. */
function plain(text: string): string {
  return text
    .replace(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, "")
    .replace(/\x1b\[[0-?]*[ -/]*[@-~]/g, "")
    .replace(/\r\n/g, "\n");
}
