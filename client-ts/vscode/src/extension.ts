/**
 * The extension: wiring, and the commands of the editor.
 *
 * Owns which part gets which other one. Decides nothing that a part could decide.
 */
import type { Requests, ServerNotifications } from "@breadboard-ls/sdk";
import { paramsFault } from "@breadboard-ls/sdk";
import * as vscode from "vscode";
import { AgentTerminal } from "./host/agent_terminal";
import { CODE_SCHEME, CodeDocuments } from "./host/apply_code";
import { chooseApprovals, tellApprovals } from "./host/approvals_picker";
import { Attention } from "./host/attention";
import { type Told, type Topic } from "./host/batch";
import { ContextProvider } from "./host/context_provider";
import { CreateSpecPanel, PANEL_TYPE } from "./host/create_spec_panel";
import { branchReview } from "./host/branch_review";
import { CommitWriter } from "./host/commit_message";
import { Credentials } from "./host/credentials";
import { DIFF_SCHEME, DiffDocuments, showDiff } from "./host/diffs";
import { EditorNatives } from "./host/editor_natives";
import { showMcpServers } from "./host/mcp_servers";
import { pairWithHost } from "./host/pairing";
import { Remembered } from "./host/remembered";
import { ReviewDesk } from "./host/review_desk";
import { ReviewEditors } from "./host/review_editors";
import { ServerConnection } from "./host/server_connection";
import { chosenBefore, openSetup } from "./host/setup_editor";
import { readNotify, readUserSettings } from "./host/settings";
import { Sidebar, VIEW_ID } from "./host/sidebar";
import { StatusBar } from "./host/status_bar";
import { TURN_SCHEME, TurnDiffs } from "./host/turn_diffs";
import { undoTurn } from "./host/turn_undo";
import { plainly } from "./host/toast";
import { askForToken, tellOfToken } from "./host/token_prompt";
import { newest } from "./shared/newest";
import type { HostStatus } from "./shared/page_methods";
import { l10n } from "vscode";

let connection: ServerConnection | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("BreadBoard", { log: true });
  const credentials = new Credentials(context.secrets);
  const terminal = new AgentTerminal();
  const statusBar = new StatusBar();
  let state: ServerNotifications["bb/state"] | undefined;
  let engine: ServerNotifications["bb/connection"] | undefined;

  const provider = new ContextProvider(() => sidebar.tellContext());
  const server = new ServerConnection({
    extensionPath: context.extensionPath,
    log,
    credentials,
    terminal,
    toldOfToken: (sentence, wanted) => {
      log[wanted === undefined ? "info" : "warn"](sentence);
      void tellOfToken(sentence, wanted);
    },
    context: provider,
    heard,
  });
  connection = server;
  const ask = server.request.bind(server);

  const status = (): HostStatus & Record<string, unknown> => ({
    ...server.status(),
    trusted: vscode.workspace.isTrusted,
    roots: (vscode.workspace.workspaceFolders ?? []).map(({ name }) => name),
    sendWithModifier: vscode.workspace.getConfiguration("breadboard").get("sendWithModifier") === true,
    unchosen: !chosenBefore(context),
  });
  const isRunning = (): boolean =>
    state?.running === true || (state?.sessions ?? []).some((session) => session.status === "running");
  const setup = openSetup({ context, server, credentials, isRunning, changed: () => sidebar.tellStatus() });
  const desk = new ReviewDesk({
    ask,
    announced: (method) => server.announced(method),
    changed: (patchId, chosen) => {
      reviews.changed(patchId);
      void vscode.commands.executeCommand("setContext", "breadboard.reviewing", desk.all().length > 0);
      const choices = desk.get(patchId)?.choices;
      for (const hunkId of chosen) sidebar.tellPage("page.hunkChosen", { patchId, hunkId, choice: choices?.get(hunkId) ?? "none" });
    },
  });
  const reviews = new ReviewEditors({ ask, desk });
  const turns = new TurnDiffs(ask);
  const code = new CodeDocuments();
  const sidebar = new Sidebar({
    extensionUri: context.extensionUri,
    log,
    ask,
    status,
    review: {
      show: (sessionId, patchId, hunkId) => reviews.show(sessionId, patchId, undefined, hunkId),
      choices: async (sessionId, patchId) =>
        [...((await desk.open(sessionId, patchId))?.choices ?? [])].map(([id, choice]) => ({ id, choice })),
      choose: (patchId, hunkId, choice) => desk.choose(patchId, [hunkId], choice),
    },
    code,
    setup,
    turnDiff: (of, filePath, root) => (filePath === undefined ? turns.showAll(of) : turns.show(of, filePath, root)),
    announced: (method) => server.announced(method),
    restart: () => server.restart(),
    remembered: new Remembered(
      vscode.Uri.joinPath(context.storageUri ?? context.globalStorageUri, "page.json").fsPath,
      (sentence) => log.warn(sentence),
    ),
    showLog: () => log.show(true),
    setToken: (scope) => askForToken(scope, server),
  });

  const specs = new CreateSpecPanel({
    extensionUri: context.extensionUri,
    log,
    ask,
    server: () => {
      const { server: now, sentence } = server.status();
      return { running: now === "running", ...(sentence === undefined ? {} : { sentence }) };
    },
    announced: (method) => server.announced(method),
    showSession: (sessionId) => void sidebar.ask("page.showSession", { sessionId }),
  });

  const attention = new Attention({
    ask,
    visible: () => sidebar.visible,
    notify: () => readNotify(vscode.workspace.getConfiguration("breadboard")),
    badge: (count, words) => sidebar.setBadge(count, words),
    say: async (sentence, button) => (await vscode.window.showInformationMessage(plainly(sentence), button)) === button,
    show: (sessionId, requestId) =>
      void (requestId === undefined
        ? sidebar.ask("page.showSession", { sessionId })
        : sidebar.ask("page.showAsk", { sessionId, requestId })),
    failed: (sentence) => log.warn(sentence),
  });

  const natives = new EditorNatives();
  const commits = new CommitWriter(ask);

  function heard(method: string, params: unknown): void {
    if ((method === "bb/state" || method === "bb/connection") && paramsFault(method, params) === undefined) {
      if (method === "bb/state") {
        state = params as typeof state;
        void attention.heard(state);
        void desk.heard(state);
        commits.heard(state as ServerNotifications["bb/state"]);
      } else if ((params as { sessionId?: string }).sessionId === undefined) engine = params as typeof engine;
    }
    // The gate checks it, and says what does not fit.
    sidebar.tell({ topic: method as Topic, payload: params } as Told);
    if (method === "bb/state" || method === "bb/connection") draw();
  }

  function draw(): void {
    const host = status();
    statusBar.show({
      host,
      ...(state === undefined ? {} : { state }),
      ...(engine === undefined ? {} : { connection: engine }),
    });
    const running = host.server === "running" && isRunning();
    void vscode.commands.executeCommand("setContext", "breadboard.running", running);
  }

  let seenGeneration = 0;
  context.subscriptions.push(
    provider,
    natives,
    log,
    terminal,
    statusBar,
    sidebar,
    reviews,
    specs,
    server.onDidChange(() => {
      const { server: now, generation } = server.status();
      if (now !== "running") {
        state = engine = undefined;
        void attention.heard(undefined);
        void desk.heard(undefined);
      }
      draw();
      sidebar.tellStatus();
      specs.serverChanged();
      if (now === "running" && generation !== seenGeneration) {
        seenGeneration = generation;
        void firstState();
      }
    }),
    vscode.window.registerWebviewViewProvider(VIEW_ID, sidebar),
    vscode.window.registerWebviewPanelSerializer(PANEL_TYPE, specs),
    vscode.workspace.registerTextDocumentContentProvider(DIFF_SCHEME, new DiffDocuments(ask)),
    vscode.workspace.registerTextDocumentContentProvider(TURN_SCHEME, turns),
    vscode.workspace.registerTextDocumentContentProvider(CODE_SCHEME, code),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      void server.tellTrust();
      draw();
      sidebar.tellStatus();
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => sidebar.tellStatus()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("breadboard.sendWithModifier")) sidebar.tellStatus();
      if (
        (change.affectsConfiguration("breadboard.approvals") || change.affectsConfiguration("breadboard.commands")) &&
        server.announced("bb/approvals/set")
      )
        void tellApprovals(ask).catch(refuse);
      // What a workspace says of these changes nothing, and is no reason to ask.
      if (change.affectsConfiguration("breadboard") && !setup.isChanging && server.settingsChanged()) void followSettings();
    }),
  );

  /** For the status bar, before any page asks; a page that is there asks anew itself. */
  async function firstState(): Promise<void> {
    try {
      // Not `bb/init`: it would choose what the page hears.
      const { sessions } = (await ask("bb/listSessions", {})) as Requests["bb/listSessions"]["result"];
      if (state === undefined) void attention.heard((state = { sessions }));
      await desk.heard(state);
      await reviews.closeStale();
      draw();
      sidebar.tellStatus();
    } catch (error) {
      log.error(`The first request failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Another model is given to the server as it runs; for anything else a restart is offered. */
  async function followSettings(): Promise<void> {
    sidebar.tellStatus();
    const taken = await server.takeModel().catch((error: unknown) => (refuse(error), false));
    if (!taken && server.settingsChanged()) await offerRestart();
  }

  async function offerRestart(): Promise<void> {
    const restart = l10n.t("Restart");
    if (
      (await vscode.window.showInformationMessage(
        l10n.t("The settings of the server changed; they count after a restart of it."),
        restart,
      )) === restart
    )
      await server.restart();
  }

  async function told(work: Promise<unknown>, done: string): Promise<void> {
    try {
      await work;
      void vscode.window.showInformationMessage(done);
    } catch (error) {
      refuse(error);
    }
  }

  function refuse(error: unknown): void {
    void vscode.window.showErrorMessage(plainly(error instanceof Error ? error.message : String(error)));
  }

  async function stop(): Promise<void> {
    const sessions = (state?.sessions ?? []).filter(
      (session) => session.status === "running" || session.status === "waiting",
    );
    const active = sessions.find(({ sessionId }) => sessionId === state?.activeSessionId) ?? newest(sessions);
    if (active === undefined) void vscode.window.showInformationMessage(l10n.t("No turn is running."));
    else await ask("bb/stop", { sessionId: active.sessionId });
  }

  async function diffWithHead(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const folder = editor && vscode.workspace.getWorkspaceFolder(editor.document.uri);
    const sessionId = state?.activeSessionId ?? newest(state?.sessions)?.sessionId;
    if (!editor || !folder) throw new Error(l10n.t("Open a file of the workspace first."));
    if (sessionId === undefined) throw new Error(l10n.t("Start a session first; a diff belongs to one."));
    const several = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
    await showDiff(ask, {
      sessionId,
      filePath: vscode.workspace.asRelativePath(editor.document.uri, false),
      ...(several ? { root: folder.name } : {}),
    });
  }

  /** The files of the newest turn that changed some, in one view. */
  async function turnChanges(): Promise<void> {
    const sessionId = state?.activeSessionId ?? newest(state?.sessions)?.sessionId;
    if (sessionId === undefined) throw new Error(l10n.t("No session has changed anything yet."));
    const { turn } = (await ask("bb/turn/changes", { sessionId })) as Requests["bb/turn/changes"]["result"];
    await turns.showAll({ sessionId, turn });
  }

  /** Takes the newest turn that changed something back, after showing what that does. */
  async function undo(): Promise<void> {
    const sessionId = state?.activeSessionId ?? newest(state?.sessions)?.sessionId;
    if (sessionId === undefined) throw new Error(l10n.t("No session has changed anything yet."));
    await undoTurn(
      {
        ask,
        confirm: (question, detail, buttons) =>
          Promise.resolve(vscode.window.showWarningMessage(question, { modal: true, detail }, ...buttons)),
        say: async (sentence, button) => {
          const buttons = button === undefined ? [] : [button];
          return (await vscode.window.showInformationMessage(plainly(sentence), ...buttons)) !== undefined;
        },
        show: (turn) => turns.showAll({ sessionId, turn }),
      },
      sessionId,
    );
  }

  async function showRequest(): Promise<void> {
    if (!(await attention.showOldest())) void vscode.window.showInformationMessage(l10n.t("No request waits for an answer."));
  }

  async function menu(): Promise<void> {
    const host = status();
    const waiting = (state?.sessions ?? []).some(({ pendingPermissionCount }) => (pendingPermissionCount ?? 0) > 0);
    const entries: (vscode.QuickPickItem & { command: string })[] = [
      ...(waiting
        ? [{ label: l10n.t("$(bell-dot) Show the request that waits"), command: "breadboard.showRequest" }]
        : []),
      { label: l10n.t("$(comment-discussion) Open the agent view"), command: "breadboard.open" },
      { label: l10n.t("$(add) New session"), command: "breadboard.newSession" },
      { label: l10n.t("$(history) All sessions"), command: "breadboard.showSessions" },
      { label: l10n.t("$(notebook-template) Create a spec"), command: "breadboard.createSpec" },
      { label: l10n.t("$(debug-stop) Stop the running turn"), command: "breadboard.stop" },
      ...(host.trusted
        ? []
        : [
            {
              label: l10n.t("$(workspace-trusted) Manage workspace trust"),
              description: l10n.t("the folder is not trusted"),
              command: "breadboard.manageTrust",
            },
          ]),
      { label: l10n.t("$(account) Choose who answers"), command: "breadboard.setup" },
      { label: l10n.t("$(shield) Choose what is done without asking"), command: "breadboard.approvals" },
      { label: l10n.t("$(plug) MCP servers"), command: "breadboard.mcpServers" },
      { label: l10n.t("$(settings-gear) Settings"), command: "breadboard.openSettings" },
      { label: l10n.t("$(plug) Pair with a host"), command: "breadboard.pairWithHost" },
      { label: l10n.t("$(key) Set engine token"), command: "breadboard.setEngineToken" },
      { label: l10n.t("$(key) Set model token"), command: "breadboard.setModelToken" },
      {
        label: l10n.t("$(refresh) Restart the server"),
        ...(host.sentence ? { detail: host.sentence } : {}),
        command: "breadboard.restart",
      },
      { label: l10n.t("$(output) Show the log"), command: "breadboard.showLog" },
    ];
    const picked = await vscode.window.showQuickPick(entries, {
      title: "BreadBoard",
      placeHolder: host.server === "running" ? l10n.t("The server runs.") : (host.sentence ?? l10n.t("The server is {0}.", host.server)),
    });
    if (picked !== undefined) await vscode.commands.executeCommand(picked.command);
  }

  /** Shows the edit that waits; where several do, the one that is picked. */
  async function reviewEdit(sessionId?: unknown, patchId?: unknown, at?: unknown, hunkId?: unknown): Promise<void> {
    if (typeof sessionId === "string" && typeof patchId === "string")
      return reviews.show(sessionId, patchId, typeof at === "number" ? at : undefined, typeof hunkId === "string" ? hunkId : undefined);
    await desk.heard(state);
    const waiting = desk.all();
    if (waiting.length === 0) throw new Error(l10n.t("No proposed edit waits that can be decided change by change."));
    const items = waiting.map((review) => ({
      label: review.patch.files.map(({ filePath }) => filePath).join(", "),
      ...(review.patch.rationale == null ? {} : { detail: plainly(review.patch.rationale) }),
      review,
    }));
    const picked = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { placeHolder: l10n.t("Which edit?") });
    if (picked !== undefined) await reviews.show(picked.review.sessionId, picked.review.patch.patchId);
  }

  async function pair(): Promise<void> {
    const configuration = vscode.workspace.getConfiguration("breadboard");
    const said = await pairWithHost({
      engine: () => readUserSettings(configuration).engine,
      ask: async (question) => vscode.window.showInputBox({ ...question, ignoreFocusOut: true }),
      program: () => server.program(),
      keep: (token, place) => credentials.keep("engine", token, place),
      choose: async (engine) => configuration.update("engine", engine, vscode.ConfigurationTarget.Global),
      handOver: (token) => server.sendToken("engine", token),
    });
    if (said !== undefined) void vscode.window.showInformationMessage(plainly(said));
  }

  const commands: Record<string, (...args: unknown[]) => unknown> = {
    "breadboard.open": () => sidebar.ask("page.focus"),
    "breadboard.newSession": () => sidebar.ask("page.newSession"),
    "breadboard.showSessions": () => sidebar.ask("page.showSessions"),
    "breadboard.setup": () => sidebar.ask("page.setup"),
    "breadboard.openSettings": () => vscode.commands.executeCommand("workbench.action.openSettings", "breadboard"),
    "breadboard.askSelection": (...args) => sidebar.ask("page.compose", { text: natives.mentionOf(args) }),
    "breadboard.explain": (...args) => sidebar.ask("page.ask", { text: natives.prompt("explain", args) }),
    "breadboard.fix": (...args) => sidebar.ask("page.ask", { text: natives.prompt("fix", args) }),
    "breadboard.writeTests": (...args) => sidebar.ask("page.ask", { text: natives.prompt("test", args) }),
    "breadboard.askTerminalSelection": () =>
      natives.terminalSelection().then((text) => sidebar.ask("page.compose", { text })),
    "breadboard.commitMessage": (...args) => commits.write(args[0]),
    "breadboard.reviewBranch": (...args) => branchReview(args[0]).then((text) => sidebar.ask("page.ask", { text })),
    "breadboard.find": () => sidebar.ask("page.find"),
    "breadboard.continueWith": () => sidebar.ask("page.continueWith"),
    "breadboard.exportSession": () => sidebar.ask("page.export"),
    "breadboard.createSpec": () => specs.show(),
    "breadboard.stop": stop,
    "breadboard.showRequest": () => showRequest(),
    "breadboard.approvals": () => chooseApprovals(ask),
    "breadboard.mcpServers": () => showMcpServers(ask),
    "breadboard.menu": menu,
    "breadboard.diffWithHead": diffWithHead,
    "breadboard.pairWithHost": pair,
    "breadboard.setEngineToken": () => askForToken("engine", server),
    "breadboard.setModelToken": () => askForToken("model", server),
    "breadboard.clearEngineToken": () => told(credentials.clear("engine", server.sendToken), l10n.t("The token is forgotten.")),
    "breadboard.clearModelToken": () => told(credentials.clear("model", server.sendToken), l10n.t("The token is forgotten.")),
    "breadboard.restart": () => server.restart(),
    "breadboard.showLog": () => log.show(),
    "breadboard.reviewEdit": (...args) => reviewEdit(...args),
    "breadboard.acceptHunk": (...args) => reviews.decide("accepted", ...words(args)),
    "breadboard.rejectHunk": (...args) => reviews.decide("rejected", ...words(args)),
    "breadboard.undecideHunk": (...args) => reviews.decide(undefined, ...words(args)),
    "breadboard.nextHunk": (...args) => reviews.move(1, ...words(args)),
    "breadboard.previousHunk": (...args) => reviews.move(-1, ...words(args)),
    "breadboard.acceptFile": (...args) => reviews.decideFile("accepted", words(args)[0]),
    "breadboard.rejectFile": (...args) => reviews.decideFile("rejected", words(args)[0]),
    "breadboard.applyReview": (...args) => reviews.apply(words(args)[0]),
    "breadboard.compareProposal": (...args) => reviews.compare(words(args)[0]),
    "breadboard.reviewAllFiles": (...args) => reviews.compareAll(words(args)[0]),
    "breadboard.turnChanges": () => turnChanges(),
    "breadboard.undoTurn": () => undo(),
    "breadboard.manageTrust": () => vscode.commands.executeCommand("workbench.trust.manage"),
  };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(
      vscode.commands.registerCommand(name, async (...args: unknown[]) => {
        try {
          await run(...args);
        } catch (error) {
          refuse(error);
        }
      }),
    );
  }

  draw();
  await server.restart();
}

export async function deactivate(): Promise<void> {
  await connection?.dispose();
  connection = undefined;
}

/** What a lens names with its command: a document, and a change in it. */
function words(args: readonly unknown[]): [string | undefined, string | undefined] {
  const word = (at: number): string | undefined => (typeof args[at] === "string" ? args[at] : undefined);
  return [word(0), word(1)];
}
