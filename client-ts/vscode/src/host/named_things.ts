/**
 * What a prompt can name: symbols that the editor knows, files and folders that were dropped.
 *
 * Owns that only what is in the workspace is named, and how.
 */
import * as vscode from "vscode";
import { refusal } from "./workspace_files";

/** Symbols that are told: whoever wants another one types on. */
const MOST_SYMBOLS = 20;
/** How long language servers may look. */
const LONGEST_MS = 1_500;

/** Symbols of the workspace whose names have this in them. */
export async function findSymbols(query: string): Promise<readonly { name: string; where: string }[]> {
  const found = await Promise.race([
    vscode.commands.executeCommand<readonly vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", query),
    new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), LONGEST_MS)),
  ]);
  return (found ?? [])
    .filter(({ location }) => vscode.workspace.getWorkspaceFolder(location.uri) !== undefined)
    .slice(0, MOST_SYMBOLS)
    .map(({ name, containerName, location }) => ({
      name: name.replace(/\(.*$/, "").trim(),
      where: [containerName, vscode.workspace.asRelativePath(location.uri)].filter((part) => part !== "").join(" · "),
    }))
    .filter(({ name }) => name !== "" && !/\s/.test(name));
}

/** Mentions of these, one after the other; what is elsewhere is refused in a sentence. */
export function mentionsOf(uris: readonly string[]): string {
  const several = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
  const named = uris.flatMap((text) => {
    const uri = vscode.Uri.parse(text, true);
    if (vscode.workspace.getWorkspaceFolder(uri) === undefined) return [];
    const path = vscode.workspace.asRelativePath(uri, several);
    return [/\s/.test(path) ? `@"${path}"` : `@${path}`];
  });
  if (named.length === 0 && uris.length > 0)
    throw refusal("path_outside_workspace", "What was dropped is not in this workspace; attach it with the paper clip.");
  return named.map((one) => `${one} `).join("");
}
