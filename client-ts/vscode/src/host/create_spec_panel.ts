/**
 * The panel "Create New Spec": one, and a desk behind it.
 *
 * Owns the life of the panel: made, shown again, hidden, restored after a restart of the window, closed. What its
 * messages mean is the desk's. A hidden page is not kept by the editor: it comes back from its own state and the
 * server's draft.
 */
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { IMAGE_ENDINGS } from "../shared/create_spec_messages";
import { CreateSpecDesk } from "./create_spec_desk";
import type { Ask } from "./diffs";
import { newNonce, page } from "./page";
import { plainly } from "./toast";
import { l10n } from "vscode";

export const PANEL_TYPE = "breadboard.createSpec";
export const PANEL_TITLE = l10n.t("Create New Spec");

const KEEP = l10n.t("Keep Draft and Close");
const DISCARD = l10n.t("Discard Draft");

/** What the panel needs. */
export interface PanelPorts {
  readonly extensionUri: vscode.Uri;
  readonly log: Pick<vscode.LogOutputChannel, "warn">;
  readonly ask: Ask;
  /** Whether the server runs, and what to do when it does not. */
  server(): { readonly running: boolean; readonly sentence?: string };
  announced(method: string): boolean;
  /** Shows the session that the prompt of the spec is in. */
  showSession(sessionId: string): void;
}

export class CreateSpecPanel implements vscode.WebviewPanelSerializer, vscode.Disposable {
  private open: { readonly panel: vscode.WebviewPanel; readonly desk: CreateSpecDesk } | undefined;

  constructor(private readonly ports: PanelPorts) {}

  /** Shows the form; there is one at most. */
  show(): void {
    if (this.open !== undefined) {
      this.open.panel.reveal();
      this.open.desk.again();
      return;
    }
    const { running, sentence } = this.ports.server();
    if (!running) throw new Error(sentence ?? l10n.t("The server does not run; restart it."));
    if (!this.ports.announced("bb/createSpec/ready"))
      throw new Error(l10n.t("This server knows nothing of specs; update breadboard-ls."));
    this.adopt(vscode.window.createWebviewPanel(PANEL_TYPE, PANEL_TITLE, vscode.ViewColumn.Active, {}));
  }

  /** The window was restarted with the form open. */
  async deserializeWebviewPanel(panel: vscode.WebviewPanel): Promise<void> {
    if (this.open !== undefined) panel.dispose();
    else this.adopt(panel);
  }

  /** The server came or went. */
  serverChanged(): void {
    void this.open?.desk.serverChanged();
  }

  dispose(): void {
    this.open?.panel.dispose();
  }

  private adopt(panel: vscode.WebviewPanel): void {
    const { webview } = panel;
    const desk = new CreateSpecDesk({
      post: (message) => void webview.postMessage(message),
      ask: this.ports.ask,
      running: () => this.ports.server().running,
      visible: () => panel.visible,
      pickMarkdown: async () => {
        const picked = await vscode.window.showOpenDialog({ canSelectMany: false, filters: { Markdown: ["md"] } });
        return picked?.[0]?.toString();
      },
      pickImages: async () => {
        const picked = await vscode.window.showOpenDialog({
          canSelectMany: true,
          filters: { Images: [...IMAGE_ENDINGS] },
        });
        return picked?.map((uri) => uri.toString());
      },
      askBeforeClosing: async () => {
        const answer = await vscode.window.showWarningMessage(
          l10n.t("Close the new spec? It was not submitted."),
          { modal: true, detail: l10n.t("The text stays as a draft until you discard it. Attached images are not kept.") },
          KEEP,
          DISCARD,
        );
        return answer === KEEP ? "keep" : answer === DISCARD ? "discard" : undefined;
      },
      close: () => panel.dispose(),
      submitted: (sessionId) => this.ports.showSession(sessionId),
      warn: (sentence) => void vscode.window.showWarningMessage(plainly(sentence)),
      violation: (sentence) => this.ports.log.warn(`[protocol violation] ${sentence}`),
      newId: randomUUID,
    });
    this.open = { panel, desk };
    const root = vscode.Uri.joinPath(this.ports.extensionUri, "dist", "webview");
    webview.options = { enableScripts: true, enableForms: false, enableCommandUris: false, localResourceRoots: [root] };
    const listening = [
      webview.onDidReceiveMessage((message: unknown) => void desk.receive(message)),
      panel.onDidChangeViewState(() => {
        if (!panel.visible) desk.hidden();
      }),
    ];
    panel.onDidDispose(() => {
      for (const registration of listening) registration.dispose();
      this.open = undefined;
      desk.gone();
    });
    const address = (file: string): string => webview.asWebviewUri(vscode.Uri.joinPath(root, file)).toString();
    // Last: the page says that it is ready as soon as it is, and somebody must listen by then.
    webview.html = page({
      language: vscode.env.language,
      title: PANEL_TITLE,
      script: address("create_spec.js"),
      style: address("create_spec.css"),
      codicons: address("codicon.css"),
      cspSource: webview.cspSource,
      nonce: newNonce(),
    });
  }
}
