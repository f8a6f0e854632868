/**
 * The item in the status bar.
 *
 * Owns its words. Pure but for the item itself.
 */
import type { ServerNotifications } from "@breadboard-ls/sdk";
import * as vscode from "vscode";
import type { HostStatus } from "../shared/page_methods";
import { serverWords } from "../shared/server_words";
import { pageLanguage } from "./page";
import { l10n } from "vscode";

/** What the item is made from. */
export interface Seen {
  readonly host: Pick<HostStatus, "server" | "sentence" | "trusted">;
  readonly state?: ServerNotifications["bb/state"];
  readonly connection?: ServerNotifications["bb/connection"];
}

/** What it says. */
export interface Said {
  readonly text: string;
  readonly tooltip: string;
  readonly tone: "plain" | "warning" | "error";
  /** What a click does: shows what waits, where something does. */
  readonly command?: "breadboard.showRequest";
}

export function say(seen: Seen): Said {
  const { host, state, connection } = seen;
  if (host.server === "failed")
    return { text: "$(error) BreadBoard", tooltip: host.sentence ?? l10n.t("The server does not run."), tone: "error" };
  if (host.server === "waiting")
    return {
      text: "$(sync~spin) BreadBoard",
      tooltip: host.sentence ?? l10n.t("The server is started again."),
      tone: "warning",
    };
  if (host.server === "starting")
    return { text: "$(sync~spin) BreadBoard", tooltip: l10n.t("The server is starting."), tone: "plain" };
  if (host.server === "stopped")
    return { text: "$(circle-slash) BreadBoard", tooltip: l10n.t("The server is stopped."), tone: "plain" };
  const pending =
    (state?.sessions ?? []).reduce((sum, session) => sum + (session.pendingPermissionCount ?? 0), 0) ||
    (state?.pendingPermissionCount ?? 0);
  if (pending > 0)
    return {
      text: `$(bell-dot) BreadBoard: ${pending}`,
      tooltip: pending === 1 ? l10n.t("One request waits for your answer.") : l10n.t("{0} requests wait for your answer.", pending),
      tone: "warning",
      command: "breadboard.showRequest",
    };
  if (connection?.status === "error")
    return {
      text: "$(debug-disconnect) BreadBoard",
      tooltip: connection.lastError == null ? l10n.t("The engine does not answer.") : serverWords(connection.lastError, pageLanguage(vscode.env.language)),
      tone: "error",
    };
  if (connection?.status === "connecting")
    return {
      text: "$(sync~spin) BreadBoard",
      tooltip: l10n.t("Connecting to the engine{0}.", connection.retryCount ? l10n.t(" (try {0})", connection.retryCount) : ""),
      tone: "plain",
    };
  const running = (state?.sessions ?? []).filter(({ status }) => status === "running").length;
  if (running > 0 || state?.running === true)
    return {
      text: "$(loading~spin) BreadBoard",
      tooltip: running > 1 ? l10n.t("{0} turns are running.", running) : l10n.t("A turn is running."),
      tone: "plain",
    };
  if (!host.trusted)
    return {
      text: "$(workspace-untrusted) BreadBoard",
      tooltip: l10n.t("The folder is not trusted: it is read and searched, and nothing is written or run."),
      tone: "plain",
    };
  return { text: "$(comment-discussion) BreadBoard", tooltip: l10n.t("Ready."), tone: "plain" };
}

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("breadboard.status", vscode.StatusBarAlignment.Right, 100);

  constructor() {
    this.item.name = "BreadBoard";
    this.item.command = "breadboard.menu";
    this.item.show();
  }

  show(seen: Seen): void {
    const { text, tooltip, tone, command } = say(seen);
    this.item.command = command ?? "breadboard.menu";
    this.item.text = text;
    this.item.tooltip = `BreadBoard: ${tooltip}`;
    this.item.accessibilityInformation = { label: `BreadBoard: ${tooltip}`, role: "button" };
    this.item.backgroundColor = tone === "plain" ? undefined : new vscode.ThemeColor(`statusBarItem.${tone}Background`);
  }

  dispose(): void {
    this.item.dispose();
  }
}
