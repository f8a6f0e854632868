/**
 * Diffs in the editor's own diff view.
 *
 * Owns the documents of scheme `bb-diff:`: each is read from the server when the editor asks; and which tab shows a
 * change that was proposed, so that it goes when that was answered. Writes nothing.
 */
import { paramsFault, type Requests, resultFault } from "@breadboard-ls/sdk";
import * as vscode from "vscode";
import { l10n } from "vscode";

export const DIFF_SCHEME = "bb-diff";

/** Most comparisons that are remembered: more than anybody has open. */
const MOST_OPEN = 100;
/** The sides that are new in comparisons, by what was asked for. */
const shown = new Map<string, Set<string>>();

/** Sends a request to the server. */
export type Ask = (method: string, params: unknown, token?: vscode.CancellationToken) => Promise<unknown>;

export class DiffDocuments implements vscode.TextDocumentContentProvider {
  constructor(private readonly ask: Ask) {}

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const result = await this.ask("bb/textDocument", { uri: uri.toString() }, token);
    const fault = resultFault("bb/textDocument", result);
    if (fault !== undefined) throw new Error(`The server's answer for this side of the diff does not fit: ${fault}.`);
    const side = result as Requests["bb/textDocument"]["result"];
    return side.truncated ? `${side.text}\n[The file is larger than 4 MiB; this is its start.]\n` : side.text;
  }
}

/** The two sides of a file in two states, and what the server calls them. */
export async function sidesOf(
  ask: Ask,
  params: Requests["bb/openDiff"]["params"],
): Promise<{ before: vscode.Uri; after: vscode.Uri; title: string }> {
  const fault = paramsFault("bb/openDiff", params);
  if (fault !== undefined)
    throw Object.assign(new Error(l10n.t("The diff cannot be asked for: {0}.", fault)), { code: "invalid_params" });
  const result = await ask("bb/openDiff", params);
  const wrong = resultFault("bb/openDiff", result);
  if (wrong !== undefined) throw new Error(`The server's answer for this diff does not fit: ${wrong}.`);
  const { left, right, title } = result as Requests["bb/openDiff"]["result"];
  return { before: side(left.uri), after: side(right.uri), title };
}

/** Compares two states of a file and shows them side by side. */
export async function showDiff(ask: Ask, params: Requests["bb/openDiff"]["params"]): Promise<void> {
  const { before, after, title: named } = await sidesOf(ask, params);
  // The id of a patch tells a person nothing.
  const file = params.root == null ? params.filePath : `${params.root}/${params.filePath}`;
  const title = params.afterRef?.startsWith("patch:") === true ? l10n.t("{0} (now ↔ proposed)", file) : named;
  if (params.afterRef != null) {
    const known = shown.get(params.afterRef) ?? new Set();
    shown.set(params.afterRef, known.add(after.toString()));
    if (shown.size > MOST_OPEN) shown.delete(shown.keys().next().value as string);
  }
  await vscode.commands.executeCommand("vscode.diff", before, after, title, { preview: true });
}

/** Closes the comparison with a change that is no proposal any more: once it is applied both sides are the same. */
export async function closeDiff(afterRef: string): Promise<void> {
  const uris = shown.get(afterRef);
  if (uris === undefined || !shown.delete(afterRef)) return;
  const tabs = vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter(({ input }) => input instanceof vscode.TabInputTextDiff && uris.has(input.modified.toString()));
  if (tabs.length > 0) await vscode.window.tabGroups.close(tabs, true);
}

/** Only what the contract names: a document of the editor or one of ours. */
function side(uri: string): vscode.Uri {
  const parsed = vscode.Uri.parse(uri, true);
  if (parsed.scheme !== "file" && parsed.scheme !== DIFF_SCHEME)
    throw new Error(`The server named a side of a diff that is neither a file nor a \`${DIFF_SCHEME}:\` document.`);
  return parsed;
}
