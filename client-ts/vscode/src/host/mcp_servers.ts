/**
 * Servers of tools (Model Context Protocol), as a list that the user picks from.
 *
 * Owns the words for how a server stands, and that one which a file of the workspace names is allowed only after all of its
 * definition was shown. Starts nothing: the server does.
 */
import type { Requests } from "@breadboard-ls/sdk";
import * as vscode from "vscode";
import type { Ask } from "./diffs";
import { wordOf } from "../shared/word_of";
import { l10n } from "vscode";

type Server = Requests["bb/mcp/list"]["result"]["servers"][number];

const ICONS: Readonly<Record<Server["status"], string>> = {
  unasked: "question",
  stopped: "circle-outline",
  starting: "sync",
  ready: "pass",
  failed: "error",
};

const STANDS: Readonly<Record<Server["status"], string>> = {
  unasked: l10n.t("named by this workspace, not allowed"),
  stopped: l10n.t("stopped"),
  starting: l10n.t("starting"),
  ready: l10n.t("ready, and offers nothing"),
  failed: l10n.t("failed"),
};

/** What a server offers, in a few words. */
export function standing(server: Server): string {
  const count = (all: readonly unknown[] | null | undefined, one: string, many: string): string[] =>
    (all?.length ?? 0) === 0 ? [] : [all?.length === 1 ? one : many];
  const some = [
    ...count(server.tools, l10n.t("1 tool"), l10n.t("{0} tools", server.tools?.length ?? 0)),
    ...count(server.commands, l10n.t("1 prompt"), l10n.t("{0} prompts", server.commands?.length ?? 0)),
    ...count(server.resources, l10n.t("1 resource"), l10n.t("{0} resources", server.resources?.length ?? 0)),
  ];
  return server.status === "ready" && some.length > 0 ? l10n.t("ready: {0}", some.join(", ")) : wordOf(STANDS, server.status);
}

/** Shows the servers; the one that is picked is restarted, or allowed once its definition was read. */
export async function showMcpServers(ask: Ask): Promise<void> {
  const { servers } = (await ask("bb/mcp/list", {})) as Requests["bb/mcp/list"]["result"];
  if (servers.length === 0) {
    const settings = l10n.t("Open Settings");
    const picked = await vscode.window.showInformationMessage(
      l10n.t("No MCP servers are named. Name some in the setting breadboard.mcpServers."),
      settings,
    );
    if (picked === settings) await vscode.commands.executeCommand("workbench.action.openSettings", "breadboard.mcpServers");
    return;
  }
  const picked = await vscode.window.showQuickPick(
    servers.map((server) => ({
      label: `$(${ICONS[server.status]}) ${server.name}`,
      description: standing(server),
      detail: server.message ?? server.definition ?? "",
      server,
    })),
    { title: l10n.t("MCP Servers"), placeHolder: l10n.t("Pick one to restart it, or to allow it") },
  );
  if (picked === undefined) return;
  if (picked.server.status === "unasked") return allow(ask, picked.server);
  await ask("bb/mcp/restart", { server: picked.server.name });
  void vscode.window.showInformationMessage(l10n.t("The MCP server {0} is started again.", picked.server.name));
}

async function allow(ask: Ask, { name, definition, digest }: Server): Promise<void> {
  if (digest == null) return;
  const yes = l10n.t("Allow and Start");
  const answer = await vscode.window.showWarningMessage(
    l10n.t("Start the MCP server {0}, which a file of this workspace names?", name),
    { modal: true, detail: l10n.t("{0}\n\nIt runs on your machine with your rights. When the file changes, you are asked again.", definition ?? "") },
    yes,
  );
  if (answer === yes) await ask("bb/mcp/allow", { server: name, digest });
}
