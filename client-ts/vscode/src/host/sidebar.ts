/**
 * The view in the sidebar: one page, and the gate to it.
 *
 * Owns the life of the page: made, shown, hidden, given up. A hidden page is not kept by the editor; nothing is posted
 * to it, the server is told that nobody listens and that its tabs have no view, and when it is shown again it is made
 * anew and brings them back.
 */
import * as vscode from "vscode";
import { isPageMethod, type HostStatus, type PageMethod } from "../shared/page_methods";
import type { Told } from "./batch";
import { act, type ActionPorts } from "./editor_actions";
import { Gate } from "./gate";
import { newNonce, page } from "./page";

export const VIEW_ID = "breadboard.sidebar";

/** What the view needs. */
export interface SidebarPorts extends ActionPorts {
  readonly extensionUri: vscode.Uri;
  readonly log: vscode.LogOutputChannel;
  announced(method: string): boolean;
  status(): HostStatus & Record<string, unknown>;
}

export class Sidebar implements vscode.WebviewViewProvider, vscode.Disposable {
  private readonly gate: Gate;
  private view: vscode.WebviewView | undefined;
  private ready = false;
  private badge: vscode.ViewBadge | undefined;
  private readonly forPage: { method: PageMethod; params: Record<string, unknown> }[] = [];

  constructor(private readonly ports: SidebarPorts) {
    this.gate = new Gate({
      post: (message) => void this.view?.webview.postMessage(message),
      rpc: (request) => ports.ask("bb/rpc", request),
      editor: async (method, params) => {
        const result = await act(ports, method, params);
        // The page asks for this first, and can then be asked itself.
        if (method === "editor.status") this.becomeReady();
        return result;
      },
      announced: (method) => ports.announced(method),
      violation: (sentence) => ports.log.warn(`[protocol violation] ${sentence}`),
      later: (ms, then) => {
        const timer = setTimeout(then, ms);
        return () => clearTimeout(timer);
      },
    });
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    view.badge = this.badge;
    this.ready = false;
    const root = vscode.Uri.joinPath(this.ports.extensionUri, "dist", "webview");
    view.webview.options = {
      enableScripts: true,
      enableForms: false,
      enableCommandUris: false,
      localResourceRoots: [root],
    };
    const listening = view.webview.onDidReceiveMessage((message: unknown) => void this.gate.receive(message));
    const visibility = view.onDidChangeVisibility(() => this.shown(view.visible));
    view.onDidDispose(() => {
      listening.dispose();
      visibility.dispose();
      if (this.view === view) {
        this.view = undefined;
        this.shown(false);
      }
    });
    this.gate.setOpen(view.visible);
    const address = (file: string): string => view.webview.asWebviewUri(vscode.Uri.joinPath(root, file)).toString();
    view.webview.html = page({
      language: vscode.env.language,
      title: "BreadBoard",
      script: address("main.js"),
      style: address("main.css"),
      codicons: address("codicon.css"),
      cspSource: view.webview.cspSource,
      nonce: newNonce(),
    });
  }

  /** Whether somebody sees it. */
  get visible(): boolean {
    return this.view?.visible === true;
  }

  /** The number at the view. */
  setBadge(count: number, words: string): void {
    if ((this.badge?.value ?? 0) === count) return;
    this.badge = count === 0 ? undefined : { value: count, tooltip: words };
    if (this.view !== undefined) this.view.badge = this.badge;
  }

  /** News of the server. */
  tell(told: Told): void {
    this.gate.tell(told);
  }

  /** State of the host, for the page. */
  tellStatus(): void {
    if (this.ready) void this.gate.ask("page.status", this.ports.status());
  }

  /** What is in front of the user is something else; a page that nobody sees asks when it is shown. */
  tellContext(): void {
    if (this.ready && this.view?.visible === true) void this.gate.ask("page.contextChanged", {});
  }

  /** Tells the page something, where it is there to hear it. */
  tellPage(method: PageMethod, params: Record<string, unknown>): void {
    if (this.ready) void this.gate.ask(method, params);
  }

  /** Asks the page for something, after showing it. */
  async ask(method: PageMethod, params: Record<string, unknown> = {}): Promise<void> {
    if (!isPageMethod(method)) return;
    await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
    if (this.ready && this.view?.visible === true) await this.gate.ask(method, params);
    // It is being made; at most a few: the last ones of a person who pressed a key again.
    else (this.forPage.splice(0, Math.max(0, this.forPage.length - 4)), this.forPage.push({ method, params }));
  }

  dispose(): void {
    this.gate.setOpen(false);
  }

  private becomeReady(): void {
    this.ready = true;
    for (const { method, params } of this.forPage.splice(0)) void this.gate.ask(method, params);
  }

  private shown(visible: boolean): void {
    this.gate.setOpen(visible);
    if (visible) return;
    this.ready = false;
    const tabIds = this.gate.takeTabs();
    // The sessions of its tabs live on, and the next page attaches them.
    if (tabIds.length > 0 && this.ports.announced("bb/tab/detach"))
      this.ports.ask("bb/tab/detach", { tabIds }).catch(() => undefined);
    // Nobody listens: what happens is in the journal, and a stream that nobody reads costs nothing.
    if (this.ports.announced("bb/init")) {
      this.ports.ask("bb/init", { subscribe: { events: false, view: false, tabs: false } }).catch(() => undefined);
    }
  }
}
