/** As much of `vscode` as the host touches, with what it was asked to do written down. */
import path from "node:path";

type Listener<T> = (event: T) => unknown;

export class EventEmitter<T> {
  private readonly listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>) => {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  };
  fire(event: T): void {
    for (const listener of [...this.listeners]) listener(event);
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
    private readonly slashes = "",
    readonly query = "",
  ) {}
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    const query = this.query === "" ? "" : `?${this.query}`;
    return this.scheme === "file" ? `file://${this.path}` : `${this.scheme}:${this.slashes}${this.path}${query}`;
  }
  static from({ scheme, path, query }: { scheme: string; path: string; query?: string }): Uri {
    return new Uri(scheme, path, "", query);
  }
  static file(file: string): Uri {
    return new Uri("file", file);
  }
  static parse(text: string, strict = false): Uri {
    const [, scheme, slashes, rest] = /^([a-z][a-z0-9+.-]*):(\/\/)?(.*)$/i.exec(text) ?? [];
    if (scheme === undefined && strict) throw new Error("no scheme");
    const [path = "", query = ""] = (rest ?? text).split("?");
    return new Uri(scheme ?? "file", path, slashes ?? "", query);
  }
  static joinPath(base: Uri, ...parts: string[]): Uri {
    return new Uri(base.scheme, path.posix.join(base.path, ...parts));
  }
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}
export class Range {
  readonly start: Position;
  readonly end: Position;
  get isEmpty(): boolean {
    return this.start.line === this.end.line && this.start.character === this.end.character;
  }
  constructor(start: Position | number, end: Position | number, line?: number, character?: number) {
    const isNumbers = typeof start === "number";
    this.start = isNumbers ? new Position(start, end as number) : start;
    this.end = isNumbers ? new Position(line ?? 0, character ?? 0) : (end as Position);
  }
}
export class Selection extends Range {
  get active(): Position {
    return this.end;
  }
}
export class CodeLens {
  constructor(
    readonly range: Range,
    readonly command: { title: string; command: string; arguments?: unknown[] },
  ) {}
}
export const TextEditorRevealType = { AtTop: 3, InCenterIfOutsideViewport: 2 };
export const OverviewRulerLane = { Full: 7 };
export const languages = {
  /** What the editor says of every file. */
  problems: [] as unknown[],
  registerCodeLensProvider: () => ({ dispose: () => undefined }),
  registerCodeActionsProvider: () => ({ dispose: () => undefined }),
  getDiagnostics: () => languages.problems,
};
export class CodeActionKind {
  static readonly QuickFix = new CodeActionKind("quickfix");
  static readonly Refactor = new CodeActionKind("refactor");
  constructor(readonly value: string) {}
}
export class CodeAction {
  command?: { title: string; command: string; arguments?: unknown[] };
  diagnostics?: unknown[];
  constructor(
    readonly title: string,
    readonly kind: CodeActionKind,
  ) {}
}
export const extensions = { git: undefined as unknown, getExtension: () => extensions.git };
export class ThemeIcon {
  constructor(readonly id: string) {}
}
export class ThemeColor {
  constructor(readonly id: string) {}
}
export const ViewColumn = { Active: -1 };
export const StatusBarAlignment = { Left: 1, Right: 2 };
export const ProgressLocation = { SourceControl: 1, Notification: 15 };

/** What was done, in order. */
export const done: unknown[][] = [];
/** What the next dialogs answer. */
export const answers: { open?: Uri[]; input?: string; warning?: string; message?: string; pick?: number; files?: Uri[]; terminals: { options: { name: string; pty: Pty } }[] } = { terminals: [] };

/** What each picker was asked for. */
export const dialogs: unknown[] = [];
/** The labels that each quick pick offered. */
export const picks: string[][] = [];
/** The globs that files were looked for by. */
export const searches: string[] = [];
/** The panels that were made. */
export const panels: WebviewPanel[] = [];

/** A panel, with what was posted to its page. */
export class WebviewPanel {
  visible = true;
  disposed = false;
  reveals = 0;
  readonly posted: unknown[] = [];
  private readonly received = new EventEmitter<unknown>();
  private readonly viewState = new EventEmitter<void>();
  private readonly gone = new EventEmitter<void>();
  readonly onDidChangeViewState = this.viewState.event;
  readonly onDidDispose = this.gone.event;
  readonly webview = {
    options: {} as unknown,
    html: "",
    cspSource: "https://cdn.example",
    onDidReceiveMessage: this.received.event,
    postMessage: async (message: unknown) => this.posted.push(message),
    asWebviewUri: (uri: { path: string }) => ({ toString: () => `https://cdn.example${uri.path}` }),
  };
  constructor(readonly made: unknown[]) {}
  reveal(): void {
    this.reveals += 1;
  }
  /** The page says something. */
  say(message: unknown): void {
    this.received.fire(message);
  }
  show(visible: boolean): void {
    this.visible = visible;
    this.viewState.fire();
  }
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.gone.fire();
  }
}

export interface Pty {
  open(): void;
  close(): void;
  handleInput(text: string): void;
  onDidWrite(listener: (text: string) => void): unknown;
}

/** What the user and the workspace say. */
export const configuration = { user: {} as Record<string, unknown>, workspace: {} as Record<string, unknown> };

export const workspace = {
  getConfiguration: () => ({
    inspect: (key: string) => ({
      key,
      globalValue: configuration.user[key],
      workspaceValue: configuration.workspace[key],
    }),
    get: (key: string) => configuration.workspace[key] ?? configuration.user[key],
  }),
  isTrusted: true,
  textDocuments: [] as { uri: Uri; version: number; isDirty: boolean; save(): Promise<boolean> }[],
  workspaceFolders: undefined as { uri: Uri; name: string; index: number }[] | undefined,
  getWorkspaceFolder: ({ fsPath }: Uri) =>
    workspace.workspaceFolders?.find(({ uri }) => fsPath.startsWith(`${uri.fsPath}/`)),
  asRelativePath: ({ fsPath }: Uri, _withFolder: boolean) => {
    const folder = workspace.workspaceFolders?.find(({ uri }) => fsPath.startsWith(`${uri.fsPath}/`));
    return folder === undefined ? fsPath : fsPath.slice(folder.uri.fsPath.length + 1);
  },
  /** The files that the next searches find, and the globs that were asked for. */
  findFiles: async (glob: string) => {
    searches.push(glob);
    return answers.files ?? [];
  },
  /** What the documents of an address hold; of any other it is a new one. */
  texts: new Map<string, string>(),
  openTextDocument: async (options: unknown) => {
    const text = options instanceof Uri ? workspace.texts.get(options.toString()) : undefined;
    if (options instanceof Uri && text !== undefined) return { uri: options, getText: () => text, lineCount: text.split("\n").length };
    done.push(["openTextDocument", options]);
    return { uri: Uri.parse("untitled:1") };
  },
  registerTextDocumentContentProvider: () => ({ dispose: () => undefined }),
  onDidChangeTextDocument: () => ({ dispose: () => undefined }),
  onDidCloseTextDocument: () => ({ dispose: () => undefined }),
};
export class TabInputText {
  constructor(readonly uri: Uri) {}
}
export class TabInputTextDiff {
  constructor(
    readonly original: Uri,
    readonly modified: Uri,
  ) {}
}
export const window = {
  tabGroups: {
    all: [] as { tabs: { input: unknown }[] }[],
    close: async (tabs: unknown) => void done.push(["closeTabs", tabs]),
  },
  onDidChangeVisibleTextEditors: () => ({ dispose: () => undefined }),
  onDidChangeTextEditorVisibleRanges: () => ({ dispose: () => undefined }),
  createTextEditorDecorationType: () => ({ dispose: () => undefined }),
  setStatusBarMessage: (text: string) => {
    done.push(["status", text]);
    return { dispose: () => undefined };
  },
  activeTextEditor: undefined as unknown,
  visibleTextEditors: [] as unknown[],
  showTextDocument: async (...args: unknown[]) => void done.push(["showTextDocument", ...args]),
  showOpenDialog: async (options: unknown) => {
    dialogs.push(options);
    return answers.open;
  },
  showInputBox: async (options: unknown) => {
    dialogs.push(options);
    return answers.input;
  },
  showQuickPick: async <T extends { label: string }>(items: T[]): Promise<T | undefined> => {
    picks.push(items.map(({ label }) => label));
    return answers.pick === undefined ? undefined : items[answers.pick];
  },
  showInformationMessage: async (...args: unknown[]) => {
    done.push(["showInformationMessage", ...args]);
    return answers.message;
  },
  showWarningMessage: async (...args: unknown[]) => {
    done.push(["showWarningMessage", ...args]);
    return answers.warning;
  },
  createWebviewPanel: (...args: unknown[]) => {
    const panel = new WebviewPanel(args);
    panels.push(panel);
    return panel;
  },
  withProgress: async (_options: unknown, task: (progress: unknown, token: unknown) => Promise<unknown>) =>
    task({}, { isCancellationRequested: false }),
  createTerminal: (options: { name: string; pty: Pty }) => {
    answers.terminals.push({ options });
    return {
      // One without a program of ours is the user's shell.
      show: () => queueMicrotask(() => (options.pty as Pty | undefined)?.open()),
      sendText: (text: string, run: boolean) => void done.push(["sendText", text, run]),
      dispose: () => undefined,
    };
  },
};
export const commands = {
  executeCommand: async (...args: unknown[]) => void done.push(args),
};
export const env = {
  language: "en",
  clipboard: { writeText: async (text: string) => void done.push(["clipboard", text]) },
  openExternal: async (uri: Uri) => void done.push(["openExternal", uri.toString()]),
};

/** Begins anew. */
export function reset(): void {
  configuration.user = {};
  configuration.workspace = {};
  done.length = 0;
  answers.terminals.length = 0;
  delete answers.open;
  delete answers.warning;
  delete answers.message;
  delete answers.pick;
  delete answers.input;
  delete answers.files;
  searches.length = 0;
  picks.length = 0;
  dialogs.length = 0;
  panels.length = 0;
  workspace.isTrusted = true;
  workspace.textDocuments = [];
  workspace.workspaceFolders = undefined;
  window.activeTextEditor = undefined;
  window.tabGroups.all = [];
}

/** As the editor is in English: the sentence itself, with its values. */
export const l10n = {
  t: (message: string, ...values: readonly (string | number | boolean)[]): string =>
    message.replace(/\{(\d)\}/g, (_, at: string) => String(values[Number(at)] ?? "")),
};
