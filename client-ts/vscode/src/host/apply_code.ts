/**
 * Code of an answer into a file, as a change that the editor shows before it is made.
 *
 * Owns which change: hunks of a diff, what is marked, what the code begins and ends like, or an insertion at the cursor. Nothing is
 * written before the user confirmed it in the editor's own preview.
 */
import * as vscode from "vscode";
import { changesOf, diffOf, isDiff, placeOfCode } from "./code_place";
import { fileNamed, placeOfNew, refusal } from "./workspace_files";

const SHOWN = { needsConfirmation: true, label: "Code of an answer" };

/** Shows what the code would change; `path`: the file that it says it is of. */
export async function applyCode(text: string, path: string | undefined): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  if (isDiff(text)) await diffInto(edit, text, path);
  else await codeInto(edit, text, path);
  if (edit.size === 0) throw refusal("conflict", "The file has this code already.");
  await vscode.workspace.applyEdit(edit, { isRefactoring: true });
}

async function diffInto(edit: vscode.WorkspaceEdit, text: string, path: string | undefined): Promise<void> {
  for (const { file, hunks } of diffOf(text)) {
    const name = file ?? path;
    const document = name === undefined ? frontDocument() : await documentOf(name);
    if (document === undefined)
      throw refusal("not_found", `There is no file \`${name ?? ""}\` for this change; open the file and try again.`);
    const changes = changesOf(document.getText().split(/\r?\n/), hunks);
    if (changes === undefined)
      throw refusal("conflict", `What the change expects is not in \`${vscode.workspace.asRelativePath(document.uri)}\`; it may have changed.`);
    for (const change of changes) replaceLines(edit, document, change);
  }
}

async function codeInto(edit: vscode.WorkspaceEdit, text: string, path: string | undefined): Promise<void> {
  const document = path === undefined ? frontDocument() : await documentOf(path);
  if (document === undefined) {
    const place = path === undefined ? undefined : placeOfNew(path, vscode.workspace.workspaceFolders ?? []);
    if (place === undefined)
      throw refusal("unsupported", "No file is open that the code could go into; open one and try again.");
    edit.createFile(place, { contents: new TextEncoder().encode(text) }, SHOWN);
    return;
  }
  const editor = vscode.window.visibleTextEditors.find((one) => one.document === document);
  const marked = editor?.selection.isEmpty === false ? editor.selection : undefined;
  const place = placeOfCode(text, document.getText().split(/\r?\n/), marked && { from: marked.start.line, to: marked.end.line });
  if (place !== undefined) replaceLines(edit, document, place);
  else {
    const at = editor?.selection.active ?? document.lineAt(document.lineCount - 1).range.end;
    edit.insert(document.uri, at, text, SHOWN);
  }
}

function replaceLines(
  edit: vscode.WorkspaceEdit,
  document: vscode.TextDocument,
  { from, to, lines }: { from: number; to: number; lines: readonly string[] },
): void {
  const end = document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n";
  const text = lines.join(end);
  const range = new vscode.Range(
    new vscode.Position(from, 0),
    to < from ? new vscode.Position(from, 0) : document.lineAt(Math.min(to, document.lineCount - 1)).range.end,
  );
  if (document.getText(range).replaceAll("\r\n", "\n") !== lines.join("\n"))
    edit.replace(document.uri, range, to < from ? text + end : text, SHOWN);
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
