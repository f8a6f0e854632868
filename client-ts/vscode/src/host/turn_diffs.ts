/**
 * The changes of a turn in the editor's own comparisons: each file before the turn beside the file as it is.
 *
 * Owns the documents of scheme `bb-turn:`, the side before. The other side is the file itself, so it can be edited there.
 */
import { type Requests, resultFault } from "@breadboard-ls/sdk";
import * as vscode from "vscode";
import type { Ask } from "./diffs";
import { insideWorkspace } from "./workspace_files";
import { reveal } from "./review_text";
import { beforeTurn } from "./turn_text";
import { l10n } from "vscode";

export const TURN_SCHEME = "bb-turn";

type Changes = Requests["bb/turn/changes"]["result"];
type File = Changes["files"][number];

/** Which turn of which session. */
export interface TurnOf {
  readonly sessionId: string;
  readonly turn: number;
}

export class TurnDiffs implements vscode.TextDocumentContentProvider {
  constructor(private readonly ask: Ask) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { of, filePath, root, side } = nameOf(uri);
    const [file] = (await this.changes(of, filePath, root)).files;
    if (file === undefined || side === "nothing" || file.change === "create") return "";
    if (file.change === "delete")
      return beforeTurn("", file.hunks.map(({ content }) => ({ content, at: { startLine: 1, endLine: 0 } })));
    const target = targetOf(file);
    const now = target === undefined ? "" : (await vscode.workspace.openTextDocument(target)).getText();
    return beforeTurn(now, file.hunks);
  }

  /** One file of a turn, side by side. */
  async show(of: TurnOf, filePath: string, root?: string): Promise<void> {
    const [file] = (await this.changes(of, filePath, root)).files;
    if (file === undefined) throw new Error(l10n.t("The turn did not change {0}.", filePath));
    this.refuseBinary(file);
    await vscode.commands.executeCommand("vscode.diff", before(of, file), after(of, file), l10n.t("{0} (before ↔ after the turn)", filePath), {
      preview: true,
    });
  }

  /** All files of a turn in one view. */
  async showAll(of: TurnOf): Promise<void> {
    const files = (await this.changes(of)).files.filter(({ binary }) => binary !== true);
    if (files.length === 0) throw new Error(l10n.t("The turn changed no text that could be compared."));
    const sides = files.map((file) => [targetOf(file) ?? after(of, file), before(of, file), after(of, file)]);
    await vscode.commands.executeCommand("vscode.changes", l10n.t("Changes of this turn"), sides);
  }

  private refuseBinary(file: File): void {
    if (file.binary === true) throw new Error(l10n.t("{0} is no text, so there is nothing to compare.", file.filePath));
  }

  private async changes({ sessionId, turn }: TurnOf, filePath?: string, root?: string): Promise<Changes> {
    const params = { sessionId, turn, ...(filePath === undefined ? {} : { filePath }), ...(root === undefined ? {} : { root }) };
    const result = await this.ask("bb/turn/changes", params);
    const fault = resultFault("bb/turn/changes", result);
    if (fault !== undefined) throw new Error(`The server's answer about this turn does not fit: ${fault}.`);
    return result as Changes;
  }
}

function before(of: TurnOf, file: File): vscode.Uri {
  return side(of, file, "before");
}

/** The file itself; where it is gone, nothing. */
function after(of: TurnOf, file: File): vscode.Uri {
  return (file.change === "delete" ? undefined : targetOf(file)) ?? side(of, file, "nothing");
}

function side({ sessionId, turn }: TurnOf, file: File, which: "before" | "nothing"): vscode.Uri {
  const query = [sessionId, String(turn), file.filePath, file.root ?? "", which].map(encodeURIComponent).join("&");
  return vscode.Uri.from({ scheme: TURN_SCHEME, path: `/${file.filePath}`, query });
}

function nameOf(uri: vscode.Uri): { of: TurnOf; filePath: string; root?: string; side: string } {
  const [sessionId = "", turn = "0", filePath = "", root = "", which = ""] = uri.query.split("&").map(decodeURIComponent);
  return { of: { sessionId, turn: Number(turn) }, filePath, side: which, ...(root === "" ? {} : { root }) };
}

function targetOf({ filePath, root }: File): vscode.Uri | undefined {
  try {
    return insideWorkspace(reveal(filePath), root ?? undefined, vscode.workspace.workspaceFolders ?? [])[0]?.uri;
  } catch {
    return undefined;
  }
}
