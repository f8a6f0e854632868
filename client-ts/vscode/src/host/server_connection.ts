/**
 * The server process and the language client on it.
 *
 * Owns starting, stopping, starting again, and what is said of it. Forwards requests and notifications; knows nothing
 * of pages. Never reads what a workspace says about programs: `settings` and `server_binary` decide that.
 */
import { accessSync, constants, statSync } from "node:fs";
import { type Announcement, BreadboardError } from "@breadboard-ls/sdk";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  type InitializeParams,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  State,
  TransportKind,
} from "vscode-languageclient/node";
import type { HostStatus, ServerState } from "../shared/page_methods";
import { type AgentTerminal, NotRun, type TerminalRun } from "./agent_terminal";
import { fitServer } from "./compatibility";
import type { ContextProvider } from "./context_provider";
import { type Credentials, placeInWords, placeOf, type Scope } from "./credentials";
import { saveDocument } from "./document_saver";
import { RestartPolicy } from "./restart_policy";
import { findServer, type FoundServer, type MissingServer } from "./server_binary";
import { initializationOptions, needingRestart, readHarmless, readUserSettings, type UserSettings } from "./settings";
import { l10n } from "vscode";
import { errorWords } from "../shared/server_words";
import { pageLanguage } from "./page";

/** How long a server may take to say goodbye before it is ended. */
const GOODBYE_MS = 2_000;

/** What the connection needs. */
export interface ServerPorts {
  readonly extensionPath: string;
  readonly log: vscode.LogOutputChannel;
  readonly credentials: Credentials;
  readonly terminal: AgentTerminal;
  readonly context: ContextProvider;
  /** Tells the user what became of a token that was stored; `wanted` names the one that should be set anew. */
  toldOfToken(sentence: string, wanted?: Scope): void;
  /** Hears every `bb/*` notification. */
  heard(method: string, params: unknown): void;
}

/** The language client, announcing what this extension does for the server. */
class Client extends LanguageClient {
  /** What went wrong is said once, by whoever started it and in words for a person; the library's own go to the log. */
  override error(text: string, data?: unknown): void {
    super.error(text, data, false);
  }

  protected override fillInitializeParams(params: InitializeParams): void {
    super.fillInitializeParams(params);
    const workspace = params.capabilities.workspace as Record<string, unknown> | undefined;
    // Sides of diffs are read by `diffs` with `bb/textDocument`; two providers for one scheme would be one too many.
    if (workspace !== undefined) delete workspace["textDocumentContent"];
    // Our own item in the status bar says that a turn runs; a second one with the name of a tool would spin beside it.
    if (params.capabilities.window !== undefined) params.capabilities.window.workDoneProgress = false;
    params.capabilities.experimental = {
      ...(params.capabilities.experimental as object | undefined),
      breadboard: { terminalRun: true, documentSave: true, contextProvide: true },
    };
  }
}

export class ServerConnection implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  /** State, sentence or announcement changed. */
  readonly onDidChange = this.changed.event;

  private readonly policy = new RestartPolicy();
  private client: Client | undefined;
  private timer: NodeJS.Timeout | undefined;
  private announcement: Announcement | undefined;
  private state: ServerState = "stopped";
  private sentence: string | undefined;
  private generation = 0;
  private startedWith: UserSettings | undefined;
  /** The program that was started last. */
  private runs: FoundServer | undefined;
  private agents: readonly string[] = [];
  private disposed = false;
  /** Whether the server has the token that is stored. */
  private tokenIsHanded = true;
  private working: Promise<void> = Promise.resolve();

  constructor(private readonly ports: ServerPorts) {}

  /** What a page or the status bar shows. */
  status(): Pick<HostStatus, "server" | "sentence" | "generation" | "methods" | "agents" | "program"> {
    return {
      server: this.state,
      ...(this.sentence === undefined ? {} : { sentence: this.sentence }),
      generation: this.generation,
      methods: this.announcement?.methods ?? [],
      ...(this.announcement === undefined || this.runs === undefined
        ? {}
        : { program: { name: this.announcement.server, from: this.runs.from } }),
      agents: this.agents,
    };
  }

  announced(method: string): boolean {
    return this.announcement?.methods.includes(method) ?? false;
  }

  /** Starts, or starts anew; what the user asked for counts no earlier ends. */
  restart(): Promise<void> {
    this.policy.forget();
    return this.serially(async () => {
      await this.stop();
      await this.start();
    });
  }

  async request(method: string, params: unknown, token?: vscode.CancellationToken): Promise<unknown> {
    const { client } = this;
    if (client === undefined || this.state !== "running") {
      throw new BreadboardError("disconnected", this.sentence ?? l10n.t("The server does not run; restart it."));
    }
    try {
      // A token that is absent must not be an argument: it would be sent as a second positional parameter.
      return await (token === undefined
        ? client.sendRequest<unknown>(method, params)
        : client.sendRequest<unknown>(method, params, token));
    } catch (error) {
      throw inWords(BreadboardError.from(error));
    }
  }

  /** Says that the user trusts the workspace; a server that is starting hears it as soon as it runs. */
  async tellTrust(): Promise<void> {
    await this.notify("bb/workspaceTrust", { trusted: true });
  }

  private async notify(method: string, params: unknown): Promise<void> {
    if (this.client !== undefined && this.state === "running") await this.client.sendNotification(method, params);
  }

  /**
   * Sends one token; `null` forgets it. With no server there is nothing to send it to: it is handed over at the next
   * start.
   */
  readonly sendToken = async (scope: Scope, token: string | null): Promise<void> => {
    if (this.state === "running") await this.request("bb/setCredentials", { scope, token });
  };

  /** Where a token given now would go; absent while nothing is chosen that takes one. */
  place(scope: Scope): string | undefined {
    return placeOf(scope, this.settings(), process.env);
  }

  /** Keeps a token for a place, and hands it over where that can be done now; says which of both came of it. */
  async setToken(scope: Scope, token: string, place: string | undefined): Promise<string> {
    await this.ports.credentials.keep(scope, token, place);
    if (place === undefined)
      return scope === "model"
        ? l10n.t("The token is stored; it is used once a model of the built-in engine is chosen in the settings.")
        : l10n.t("The token is stored; it is used once an engine that takes one is chosen in the settings.");
    const words = placeInWords(place);
    if (this.state !== "running") return l10n.t("The token is stored; it is used for {0} once the server runs.", words);
    // The server binds it to what it was started with, which the settings may not be any more.
    if (this.startedWith === undefined || placeOf(scope, this.startedWith, process.env) !== place)
      return l10n.t("The token is stored; it is used for {0} once the server was restarted.", words);
    try {
      await this.sendToken(scope, token);
    } catch (error) {
      throw new Error(l10n.t("The token is stored, but the server did not take it: {0}", message(error)));
    }
    return l10n.t("The token is stored, and used for {0} from now on.", words);
  }

  /** The server's program, for what it does besides serving. Throws the sentence that says why there is none. */
  program(): string {
    const found = this.found(this.settings());
    if (found.kind === "missing") throw new Error(found.sentence);
    return found.command;
  }

  async dispose(): Promise<void> {
    this.disposed = true;
    await this.serially(() => this.stop());
    this.changed.dispose();
  }

  private found(settings: UserSettings): FoundServer | MissingServer {
    return findServer({
      setting: settings.serverPath,
      extensionPath: this.ports.extensionPath,
      env: process.env,
      platform: process.platform,
      isProgram,
    });
  }

  private serially(work: () => Promise<void>): Promise<void> {
    this.working = this.working.then(work, work);
    return this.working;
  }

  /** Whether the user's settings are others than those that the server was started with. */
  settingsChanged(): boolean {
    const told = (settings: UserSettings): string => JSON.stringify(needingRestart(settings));
    return this.startedWith !== undefined && told(this.startedWith) !== told(this.settings());
  }

  /**
   * Gives the running server the model of the settings, with its key, where nothing else of them changed. `false` where that
   * needs a restart: another engine, or no model any more.
   */
  async takeModel(): Promise<boolean> {
    const { startedWith } = this;
    const settings = this.settings();
    if (startedWith === undefined || this.state !== "running" || settings.model === undefined) return false;
    if ((settings.engine?.kind ?? "embedded") !== "embedded" || process.env["BREADBOARD_API_URL"] !== undefined) return false;
    const without = ({ model: _, ...rest }: UserSettings): string => JSON.stringify(needingRestart({ ...rest, model: undefined }));
    if (without(startedWith) !== without(settings)) return false;
    if (JSON.stringify(startedWith.model) === JSON.stringify(settings.model) && this.tokenIsHanded) return true;
    await this.request("bb/models/set", settings.model);
    this.startedWith = settings;
    await this.handTokens(settings);
    return true;
  }

  /** Keeps a token that is sent when its place is taken. */
  async keepToken(scope: Scope, token: string, place: string): Promise<void> {
    this.tokenIsHanded = false;
    await this.ports.credentials.keep(scope, token, place);
  }

  private settings(): UserSettings {
    return readUserSettings(vscode.workspace.getConfiguration("breadboard"));
  }

  private async start(): Promise<void> {
    if (this.disposed) return;
    const settings = this.settings();
    this.startedWith = settings;
    // Those that this server knows, whatever the settings say by now.
    this.agents = Object.keys(settings.agents ?? {});
    const found = this.found(settings);
    if (found.kind === "missing") {
      this.become("failed", found.sentence);
      return;
    }
    this.runs = found;
    this.ports.log.info(`Starting ${found.command} (from ${found.from}).`);
    this.become("starting");
    const { isTrusted } = vscode.workspace;
    const client = new Client(
      "breadboard",
      "BreadBoard",
      { command: found.command, args: ["--stdio"], transport: TransportKind.stdio },
      this.options(settings, isTrusted),
    );
    this.client = client;
    let ended: (() => void) | undefined;
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Stopped && this.client === client) ended?.();
    });
    this.listen(client);
    try {
      await client.start();
    } catch (error) {
      if (this.client !== client) return;
      this.client = undefined;
      this.ports.log.error(`The server did not start: ${String(error)}`);
      const sentence =
        found.from === "setting"
          ? l10n.t("The program `{0}` of the setting breadboard.server.path did not answer as the server does; correct the setting or clear it.", found.command)
          : l10n.t("The server `{0}` did not start ({1}); the log has more.", found.command, message(error));
      this.again(sentence, "never_ran");
      return;
    }
    const fit = fitServer(client.initializeResult, found);
    if ("sentence" in fit) {
      this.client = undefined;
      await client.stop(GOODBYE_MS).catch(() => undefined);
      this.become("failed", fit.sentence);
      return;
    }
    ended = () => {
      this.client = undefined;
      this.again(l10n.t("The server ended unexpectedly; the log has more."), "ran");
    };
    if (!client.isRunning()) return ended();
    this.announcement = fit;
    this.policy.started(Date.now());
    this.generation += 1;
    // Before anybody else may ask something that needs it.
    this.state = "running";
    if (vscode.workspace.isTrusted && !isTrusted) await this.tellTrust();
    await this.handTokens(settings);
    this.become("running");
  }

  private async handTokens(settings: UserSettings): Promise<void> {
    this.tokenIsHanded = true;
    for (const scope of ["engine", "model"] as const) {
      const place = placeOf(scope, settings, process.env);
      const words = place === undefined ? "" : placeInWords(place);
      try {
        const handed = await this.ports.credentials.handOver(scope, place, this.sendToken);
        if (handed === "sent_first")
          this.ports.toldOfToken(l10n.t("The {0} token that you stored is used for {1} from now on.", scope, words));
        if (handed === "other_place")
          this.ports.toldOfToken(
            l10n.t("The stored {0} token was given for another address than {1}, so it was not sent there.", scope, words),
            scope,
          );
      } catch (error) {
        this.ports.toldOfToken(l10n.t("The server did not take the stored {0} token: {1}", scope, message(error)), scope);
      }
    }
  }

  private again(sentence: string, before: "ran" | "never_ran"): void {
    this.announcement = undefined;
    if (this.disposed) return;
    const verdict = this.policy.ended(Date.now());
    if (verdict.kind === "give_up") {
      this.become(
        "failed",
        before === "never_ran"
          ? `${sentence} ${l10n.t("It was tried {0} times.", verdict.ends)}`
          : l10n.t("The server ended {0} times in a row; read the log, ", verdict.ends) +
            l10n.t("then restart it with \"BreadBoard: Restart the Server\"."),
      );
      return;
    }
    this.become("waiting", l10n.t("{0} Trying again ({1}).", sentence, verdict.attempt));
    this.timer = setTimeout(() => void this.serially(() => this.start()), verdict.afterMs);
  }

  private async stop(): Promise<void> {
    clearTimeout(this.timer);
    const { client } = this;
    this.client = undefined;
    this.announcement = undefined;
    if (client !== undefined) {
      try {
        await client.stop(GOODBYE_MS);
      } catch (error) {
        this.ports.log.warn(`The server did not end as it should: ${message(error)}`);
      }
    }
    this.become("stopped");
  }

  private become(state: ServerState, sentence?: string): void {
    this.state = state;
    this.sentence = sentence;
    if (sentence !== undefined) this.ports.log[state === "failed" ? "error" : "warn"](sentence);
    if (!this.disposed) this.changed.fire();
  }

  private options(settings: UserSettings, isTrusted: boolean): LanguageClientOptions {
    const harmless = () => readHarmless(vscode.workspace.getConfiguration("breadboard"));
    return {
      documentSelector: [{ scheme: "file" }],
      outputChannel: this.ports.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: initializationOptions(settings, harmless(), isTrusted),
      synchronize: { configurationSection: "breadboard.delivery" },
      middleware: {
        workspace: {
          // What a workspace may say goes to the server, and nothing else: no address, no program, no environment.
          configuration: (params) => params.items.map((item) => (item.section === "breadboard" ? harmless() : null)),
          didChangeConfiguration: async () => {
            await this.notify("workspace/didChangeConfiguration", { settings: { breadboard: harmless() } });
          },
        },
      },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        // When it is started again is the policy's to say.
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
    };
  }

  private listen(client: Client): void {
    for (const method of ["bb/connection", "bb/state", "bb/events", "bb/view", "bb/tab"]) {
      client.onNotification(method, (params: unknown) => this.ports.heard(method, params));
    }
    client.onRequest("bb/document/save", saveDocument);
    client.onRequest("bb/context/provide", this.ports.context.provide);
    client.onRequest("bb/terminal/run", async (params: TerminalRun, token: vscode.CancellationToken) => {
      try {
        return await this.ports.terminal.run(params, token);
      } catch (error) {
        if (error instanceof NotRun) throw new BreadboardError("unsupported", error.message);
        throw error;
      }
    });
  }
}

function isProgram(file: string): boolean {
  try {
    if (!statSync(file).isFile()) return false;
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The error in the language of the editor. */
function inWords(error: BreadboardError): BreadboardError {
  const message = errorWords(error, pageLanguage(vscode.env.language));
  return message === error.message ? error : new BreadboardError(error.code, message, error.details, { cause: error });
}
