/**
 * Where the agent meets the editor: quick fixes and code actions on what is marked, and what is marked in a terminal.
 *
 * Owns the words of these prompts. They are sent only by a command that somebody chose.
 */
import * as vscode from "vscode";
import { mention } from "./selection";
import { l10n } from "vscode";

/** What is asked of a piece of code. */
export type Task = "explain" | "fix" | "test";

/** Most problems that one prompt names. */
const MOST_PROBLEMS = 10;

export class EditorNatives implements vscode.Disposable, vscode.CodeActionProvider {
  private readonly registered = vscode.languages.registerCodeActionsProvider({ scheme: "file" }, this, {
    providedCodeActionKinds: [vscode.CodeActionKind.QuickFix, vscode.CodeActionKind.Refactor],
  });

  dispose(): void {
    this.registered.dispose();
  }

  provideCodeActions(
    document: vscode.TextDocument,
    range: vscode.Range,
    { diagnostics, only }: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    const wants = (kind: vscode.CodeActionKind): boolean => only === undefined || only.contains(kind);
    const where = [document.uri, range];
    const action = (title: string, kind: vscode.CodeActionKind, command: string): vscode.CodeAction => {
      const made = new vscode.CodeAction(title, kind);
      made.command = { title, command, arguments: where };
      return made;
    };
    const actions: vscode.CodeAction[] = [];
    if (diagnostics.length > 0 && wants(vscode.CodeActionKind.QuickFix)) {
      const fix = action(l10n.t("Fix with BreadBoard"), vscode.CodeActionKind.QuickFix, "breadboard.fix");
      fix.diagnostics = [...diagnostics];
      actions.push(fix, action(l10n.t("Explain with BreadBoard"), vscode.CodeActionKind.QuickFix, "breadboard.explain"));
    }
    if (!range.isEmpty && wants(vscode.CodeActionKind.Refactor)) {
      if (diagnostics.length === 0)
        actions.push(action(l10n.t("Explain with BreadBoard"), vscode.CodeActionKind.Refactor, "breadboard.explain"));
      actions.push(
        action(l10n.t("Write tests with BreadBoard"), vscode.CodeActionKind.Refactor, "breadboard.writeTests"),
        action(l10n.t("Add to the chat of BreadBoard"), vscode.CodeActionKind.Refactor, "breadboard.askSelection"),
      );
    }
    return actions;
  }

  /** What is marked, or what a code action is about, as a mention with its text; nothing without an editor. */
  mentionOf(args: readonly unknown[]): string {
    const place = this.placeOf(args);
    return place === undefined ? "" : mentionAt(place);
  }

  /** A prompt about it. */
  prompt(task: Task, args: readonly unknown[]): string {
    const place = this.placeOf(args);
    if (place === undefined) throw new Error(l10n.t("Open a file first."));
    const problems = vscode.languages.getDiagnostics(place.document.uri).filter(({ range }) => meets(range, place.range));
    if (task === "fix" && problems.length === 0 && place.range.isEmpty)
      throw new Error(l10n.t("There is no problem here; mark the lines that are to be fixed."));
    const said = problems.slice(0, MOST_PROBLEMS).map(({ message, range, source }) => {
      const from = source === undefined ? "" : ` (${source})`;
      return `- line ${range.start.line + 1}: ${message.replaceAll(/\s+/g, " ")}${from}`;
    });
    const about = said.length === 0 || task === "test" ? "" : `\nThe editor says:\n${said.join("\n")}\n`;
    return `/${task} ${mentionAt(place)}${about}`;
  }

  /** What is marked in the terminal, in a fence. What the clipboard had stays in it. */
  async terminalSelection(): Promise<string> {
    const before = await vscode.env.clipboard.readText();
    await vscode.env.clipboard.writeText("");
    await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
    const text = await vscode.env.clipboard.readText();
    await vscode.env.clipboard.writeText(before);
    if (text.trim() === "") throw new Error(l10n.t("Nothing is marked in the terminal."));
    const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
    return `From the terminal:\n${fence}\n${text.replace(/\s+$/, "")}\n${fence}\n`;
  }

  private placeOf([uri, range]: readonly unknown[]): Place | undefined {
    const { activeTextEditor, visibleTextEditors } = vscode.window;
    const document =
      uri instanceof vscode.Uri
        ? vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString())
        : undefined;
    // A menu names the file too, but no place in it.
    if (document !== undefined && range instanceof vscode.Range) return { document, range };
    const editor = activeTextEditor ?? visibleTextEditors.find((one) => one.document.uri.scheme === "file");
    return editor === undefined ? undefined : { document: editor.document, range: editor.selection };
  }
}

interface Place {
  readonly document: vscode.TextDocument;
  readonly range: vscode.Range;
}

function mentionAt({ document, range }: Place): string {
  // Of one place the whole line is meant.
  const { start, end } = range.isEmpty ? document.lineAt(range.start.line).range : range;
  return mention({
    // Where several folders are open, a path alone may be of any of them.
    where: vscode.workspace.asRelativePath(document.uri, (vscode.workspace.workspaceFolders?.length ?? 0) > 1),
    start,
    end,
    text: range.isEmpty ? "" : document.getText(range),
    language: document.languageId,
  });
}

function meets(one: vscode.Range, other: vscode.Range): boolean {
  return one.start.line <= other.end.line && other.start.line <= one.end.line;
}
