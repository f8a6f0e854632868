/**
 * Code of an answer into a file, as a change that is shown before it is made.
 *
 * Owns which change: hunks of a diff, what is marked, what the code begins and ends like, or an insertion at the cursor; and that
 * nothing is written before the user saw both sides and said so.
 */
import * as vscode from "vscode";
import { changesOf, diffOf, isDiff, type LineChange, placeOfCode, withChanges } from "./code_place";
import { fileNamed, placeOfNew, refusal } from "./workspace_files";
import { l10n } from "vscode";

/** The scheme of the texts that are proposed. */
export const CODE_SCHEME = "bb-code";
/** Proposals that are kept: one is looked at, an earlier one may still be open. */
const MOST_KEPT = 20;

/** A file as it would be. */
interface Proposal {
  readonly uri: vscode.Uri;
  /** Absent where there is no such file yet. */
  readonly document?: vscode.TextDocument;
  readonly text: string;
}

export class CodeDocuments implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private made = 0;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.query) ?? "";
  }

  /** Shows what the code would change, and does it when the user says so; `path`: the file that it says it is of. */
  async apply(text: string, path: string | undefined): Promise<void> {
    const proposals = isDiff(text) ? await ofDiff(text, path) : [await ofCode(text, path)];
    const changed = proposals.filter(({ document, text: after }) => document?.getText() !== after);
    if (changed.length === 0) throw refusal("conflict", l10n.t("The file has this code already."));
    for (const proposal of changed) if (!(await this.ask(proposal))) return;
  }

  private async ask({ uri, document, text }: Proposal): Promise<boolean> {
    const version = document?.version;
    const name = vscode.workspace.asRelativePath(uri);
    const after = this.keep(uri, text);
    const before = document?.uri ?? this.keep(uri, "");
    await vscode.commands.executeCommand("vscode.diff", before, after, l10n.t("{0}: as it is ↔ with the code", name), { preview: true });
    const apply = l10n.t("Apply");
    const question = document === undefined ? l10n.t("Make the file {0}?", name) : l10n.t("Apply the code to {0}?", name);
    const said = await vscode.window.showInformationMessage(question, apply, l10n.t("Discard"));
    await closeDiff(after);
    if (said !== apply) return false;
    if (document?.version !== version)
      throw refusal("conflict", l10n.t("{0} was changed meanwhile; apply the code again to see what it would change now.", name));
    await write(uri, document, text);
    return true;
  }

  private keep(of: vscode.Uri, text: string): vscode.Uri {
    const query = String((this.made += 1));
    this.texts.set(query, text);
    const [oldest] = this.texts.keys();
    if (this.texts.size > MOST_KEPT && oldest !== undefined) this.texts.delete(oldest);
    // The name of the file, for its language.
    return vscode.Uri.from({ scheme: CODE_SCHEME, path: of.path, query });
  }
}

/** One step of undo; saved where there was nothing else to save. */
async function write(uri: vscode.Uri, document: vscode.TextDocument | undefined, text: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  const wasSaved = document?.isDirty !== true;
  if (document === undefined) edit.createFile(uri, { contents: new TextEncoder().encode(text) });
  else {
    const all = new vscode.Range(new vscode.Position(0, 0), document.lineAt(document.lineCount - 1).range.end);
    edit.replace(uri, all, text);
  }
  if (!(await vscode.workspace.applyEdit(edit)))
    throw refusal("conflict", l10n.t("The editor did not take the change; the file may be read-only."));
  if (document !== undefined && wasSaved) await document.save();
  await vscode.window.showTextDocument(uri, { preview: true });
}

async function closeDiff(after: vscode.Uri): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const ours = tabs.filter(
    ({ input }) => input instanceof vscode.TabInputTextDiff && input.modified.toString() === after.toString(),
  );
  if (ours.length > 0) await vscode.window.tabGroups.close(ours);
}

async function ofDiff(text: string, path: string | undefined): Promise<Proposal[]> {
  const proposals: Proposal[] = [];
  for (const { file, hunks } of diffOf(text)) {
    const name = file ?? path;
    const document = name === undefined ? frontDocument() : await documentOf(name);
    if (document === undefined)
      throw refusal("not_found", l10n.t("There is no file `{0}` for this change; open the file and try again.", name ?? ""));
    const changes = changesOf(linesOf(document), hunks);
    if (changes === undefined)
      throw refusal(
        "conflict",
        l10n.t("What the change expects is not in `{0}`; it may have changed.", vscode.workspace.asRelativePath(document.uri)),
      );
    proposals.push(changed(document, changes));
  }
  return proposals;
}

async function ofCode(text: string, path: string | undefined): Promise<Proposal> {
  const document = path === undefined ? frontDocument() : await documentOf(path);
  if (document === undefined) {
    const uri = path === undefined ? undefined : placeOfNew(path, vscode.workspace.workspaceFolders ?? []);
    if (uri === undefined)
      throw refusal("unsupported", l10n.t("No file is open that the code could go into; open one and try again."));
    return { uri, text };
  }
  const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
  const marked = editor?.selection.isEmpty === false ? editor.selection : undefined;
  const lines = linesOf(document);
  const place = placeOfCode(text, lines, marked && { from: marked.start.line, to: marked.end.line });
  const below = editor === undefined ? lines.length - 1 : editor.selection.active.line;
  const added = { from: below + 1, to: below, lines: text.replace(/\r?\n$/, "").split(/\r?\n/) };
  return changed(document, [place ?? added]);
}

function changed(document: vscode.TextDocument, changes: readonly LineChange[]): Proposal {
  const end = document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n";
  return { uri: document.uri, document, text: withChanges(linesOf(document), changes).join(end) };
}

function linesOf(document: vscode.TextDocument): readonly string[] {
  return document.getText().split(/\r?\n/);
}

function frontDocument(): vscode.TextDocument | undefined {
  const { activeTextEditor, visibleTextEditors } = vscode.window;
  const ofFile = (editor: vscode.TextEditor | undefined): boolean => editor?.document.uri.scheme === "file";
  return (ofFile(activeTextEditor) ? activeTextEditor : visibleTextEditors.find(ofFile))?.document;
}

/** The file of this name; `undefined` where there is none. */
async function documentOf(path: string): Promise<vscode.TextDocument | undefined> {
  try {
    const uri = await fileNamed(path, undefined);
    return uri === undefined ? undefined : await vscode.workspace.openTextDocument(uri);
  } catch (error) {
    if ((error as { code?: string }).code === "not_found") return undefined;
    throw error;
  }
}
