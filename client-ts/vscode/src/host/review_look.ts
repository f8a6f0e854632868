/**
 * How a proposed change looks in the editor: in the colours of the editor's own diffs, with a mark beside each line, and
 * what was decided against is struck out. Owns the decorations; knows of no server.
 */
import * as vscode from "vscode";
import type { Choice } from "./review_desk";
import type { Lines, PlacedChange } from "./review_text";

export interface ChangeLook extends vscode.Disposable {
  paint(editor: vscode.TextEditor, changes: readonly PlacedChange[], choices: ReadonlyMap<string, Choice>): void;
}

/** A mark that says without a colour what becomes of a line. */
function mark(sign: "M3 8h10" | "M3 8h10M8 3v10", colour: string): vscode.Uri {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="${sign}" stroke="${colour}" stroke-width="2"/></svg>`;
  return vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`, true);
}

export function changeLook(): ChangeLook {
  const line = (colour: string, ruler: string, sign: "M3 8h10" | "M3 8h10M8 3v10", ink: string) =>
    vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor(colour),
      overviewRulerColor: new vscode.ThemeColor(ruler),
      overviewRulerLane: vscode.OverviewRulerLane.Full,
      gutterIconPath: mark(sign, ink),
      gutterIconSize: "contain",
    });
  const removed = line("diffEditor.removedLineBackground", "diffEditorOverview.removedForeground", "M3 8h10", "#e5534b");
  const added = line("diffEditor.insertedLineBackground", "diffEditorOverview.insertedForeground", "M3 8h10M8 3v10", "#3fb950");
  const struck = vscode.window.createTextEditorDecorationType({ opacity: "0.55", textDecoration: "line-through" });
  const misfit = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    border: "1px dashed",
    borderColor: new vscode.ThemeColor("editorWarning.foreground"),
  });
  const ranges = (lines: readonly Lines[]) =>
    lines.map(({ start, end }) => new vscode.Range(start, 0, Math.max(start, end - 1), Number.MAX_SAFE_INTEGER));
  return {
    paint(editor, changes, choices) {
      editor.setDecorations(removed, changes.flatMap((change) => ranges(change.removed)));
      editor.setDecorations(added, changes.flatMap((change) => ranges(change.added)));
      editor.setDecorations(
        struck,
        changes.flatMap((change) => {
          const choice = choices.get(change.id);
          return choice === undefined ? [] : ranges(choice === "accepted" ? change.removed : change.added);
        }),
      );
      editor.setDecorations(misfit, changes.flatMap(({ fits, lines }) => (fits ? [] : ranges([lines]))));
    },
    dispose() {
      for (const type of [removed, added, struck, misfit]) type.dispose();
    },
  };
}
