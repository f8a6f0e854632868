/**
 * Servers of tools (Model Context Protocol), as a list that the user picks from.
 *
 * Owns the words for how a server stands, and that one which a file of the workspace names is allowed only after all of its
 * definition was shown. Starts nothing: the server does.
 */
import type { Requests } from "@breadboard-ls/sdk";
import * as vscode from "vscode";
import type { Ask } from "./diffs";

type Server = Requests["bb/mcp/list"]["result"]["servers"][number];

const ICONS: Readonly<Record<Server["status"], string>> = {
  unasked: "question",
  stopped: "circle-outline",
  starting: "sync",
  ready: "pass",
  failed: "error",
};

/** What a server offers, in a few words. */
export function standing(server: Server): string {
  if (server.status === "unasked") return "named by this workspace, not allowed";
  if (server.status !== "ready") return server.status;
  const counts = [
    [server.tools?.length ?? 0, "tool"],
    [server.commands?.length ?? 0, "prompt"],
    [server.resources?.length ?? 0, "resource"],
  ] as const;
  const some = counts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}${count === 1 ? "" : "s"}`);
  return some.length === 0 ? "ready, and offers nothing" : `ready: ${some.join(", ")}`;
}

/** Shows the servers; the one that is picked is restarted, or allowed once its definition was read. */
export async function showMcpServers(ask: Ask): Promise<void> {
  const { servers } = (await ask("bb/mcp/list", {})) as Requests["bb/mcp/list"]["result"];
  if (servers.length === 0) {
    const settings = "Open Settings";
    const picked = await vscode.window.showInformationMessage(
      "No MCP servers are named. Name some in the setting breadboard.mcpServers.",
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
    { title: "MCP Servers", placeHolder: "Pick one to restart it, or to allow it" },
  );
  if (picked === undefined) return;
  if (picked.server.status === "unasked") return allow(ask, picked.server);
  await ask("bb/mcp/restart", { server: picked.server.name });
  void vscode.window.showInformationMessage(`The MCP server ${picked.server.name} is started again.`);
}

async function allow(ask: Ask, { name, definition, digest }: Server): Promise<void> {
  if (digest == null) return;
  const yes = "Allow and Start";
  const answer = await vscode.window.showWarningMessage(
    `Start the MCP server ${name}, which a file of this workspace names?`,
    { modal: true, detail: `${definition ?? ""}\n\nIt runs on your machine with your rights. When the file changes, you are asked again.` },
    yes,
  );
  if (answer === yes) await ask("bb/mcp/allow", { server: name, digest });
}
