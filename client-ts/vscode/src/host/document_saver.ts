/**
 * `bb/document/save`: saves an edit that the user allowed, as the editor saves, with its participants.
 *
 * Owns which text may be saved: the one that the server means, and no other. Never opens a document.
 */
import type { ServerRequests } from "@breadboard-ls/sdk";
import * as vscode from "vscode";

type Save = ServerRequests["bb/document/save"];

/** Saves it. A text that is not the one of this version was typed since, and is not saved. */
export async function saveDocument({ uri, version }: Save["params"]): Promise<Save["result"]> {
  const wanted = vscode.Uri.parse(uri).toString();
  const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === wanted);
  if (document === undefined || !vscode.workspace.isTrusted) return { saved: false };
  if (version !== null && version !== undefined && version !== document.version) return { saved: false };
  return { saved: !document.isDirty || (await document.save()) };
}
