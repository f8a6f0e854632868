/**
 * What a prompt can name: symbols that the editor knows, files and folders that were dropped.
 *
 * Owns that only what is in the workspace is named, and how.
 */
import * as vscode from "vscode";
import { refusal } from "./workspace_files";
import { l10n } from "vscode";

/** Symbols that are told: whoever wants another one types on. */
const MOST_SYMBOLS = 20;
/** How long language servers may look. */
const LONGEST_MS = 1_500;

export interface FoundSymbol {
  readonly name: string;
  readonly where: string;
}

/**
 * Symbols whose names have this in them: those of the files in sight, whose languages may know no more than their own file, then
 * those of the workspace.
 */
export async function findSymbols(query: string): Promise<readonly FoundSymbol[]> {
  const [here, everywhere] = await Promise.all([symbolsInSight(query), symbolsOfWorkspace(query)]);
  const known = new Set<string>();
  return [...here, ...everywhere]
    .filter(({ name }) => name !== "" && !/\s/.test(name) && !known.has(name) && known.add(name))
    .slice(0, MOST_SYMBOLS);
}

async function symbolsOfWorkspace(query: string): Promise<readonly FoundSymbol[]> {
  const found = await inTime<readonly vscode.SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", query);
  return found
    .filter(({ location }) => vscode.workspace.getWorkspaceFolder(location.uri) !== undefined)
    .map(({ name, containerName, location }) => symbol(name, containerName, location.uri));
}

async function symbolsInSight(query: string): Promise<readonly FoundSymbol[]> {
  const uris = vscode.window.visibleTextEditors
    .map(({ document }) => document.uri)
    .filter((uri) => vscode.workspace.getWorkspaceFolder(uri) !== undefined);
  const wanted = query.toLowerCase();
  const found = await Promise.all(
    uris.map(async (uri) => {
      const symbols = await inTime<readonly vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", uri);
      return flattened(symbols, "").map(([name, within]) => symbol(name, within, uri));
    }),
  );
  return found.flat().filter(({ name }) => name.toLowerCase().includes(wanted));
}

/** Each with the name of what it is in. */
function flattened(symbols: readonly vscode.DocumentSymbol[], within: string): [name: string, within: string][] {
  return symbols.flatMap(({ name, children }): [string, string][] => [[name, within], ...flattened(children ?? [], name)]);
}

function symbol(name: string, within: string, uri: vscode.Uri): FoundSymbol {
  return {
    name: name.replace(/\(.*$/, "").trim(),
    where: [within, vscode.workspace.asRelativePath(uri)].filter((part) => part !== "").join(" · "),
  };
}

/** What the language servers say in the time that somebody who types waits for it. */
async function inTime<T extends readonly unknown[]>(command: string, of: unknown): Promise<T> {
  const found = await Promise.race([
    Promise.resolve(vscode.commands.executeCommand<T | undefined>(command, of)).catch(() => undefined),
    new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), LONGEST_MS)),
  ]);
  return found ?? ([] as unknown as T);
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
    throw refusal("path_outside_workspace", l10n.t("What was dropped is not in this workspace; attach it with the paper clip."));
  return named.map((one) => `${one} `).join("");
}
