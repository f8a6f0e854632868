/**
 * The dialogs about tokens: one is asked for, and what became of it is told.
 *
 * Owns the words. The token goes from the editor's input box to the server's connection and nowhere else.
 */
import * as vscode from "vscode";
import { placeInWords, type Scope } from "./credentials";
import { plainly } from "./toast";
import { l10n } from "vscode";

/** Where a token goes to. */
export interface TokenTaker {
  place(scope: Scope): string | undefined;
  setToken(scope: Scope, token: string, place: string | undefined): Promise<string>;
}

/** Asks for a token, and says what became of it. */
export async function askForToken(scope: Scope, taker: TokenTaker): Promise<void> {
  const place = taker.place(scope);
  const token = await vscode.window.showInputBox({
    title: scope === "engine" ? l10n.t("Token of the Engine") : l10n.t("Token of the Model"),
    prompt: l10n.t("{0} It is kept in the editor's secret storage and given to the server only.", goesTo(scope, place)),
    password: true,
    ignoreFocusOut: true,
  });
  if (token === undefined || token.trim() === "") return;
  void vscode.window.showInformationMessage(plainly(await taker.setToken(scope, token.trim(), place)));
}

/** Says what became of a token that was stored before, with the command that sets the one that is wanted. */
export async function tellOfToken(sentence: string, wanted: Scope | undefined): Promise<void> {
  if (wanted === undefined) {
    void vscode.window.showInformationMessage(plainly(sentence));
    return;
  }
  const [set, forget] = [l10n.t("Set the Token"), l10n.t("Forget the Stored One")];
  const name = wanted === "engine" ? "EngineToken" : "ModelToken";
  const chosen = await vscode.window.showWarningMessage(plainly(sentence), set, forget);
  if (chosen === set) await vscode.commands.executeCommand(`breadboard.set${name}`);
  if (chosen === forget) await vscode.commands.executeCommand(`breadboard.clear${name}`);
}

function goesTo(scope: Scope, place: string | undefined): string {
  if (place !== undefined) return l10n.t("For {0}.", placeInWords(place));
  return scope === "model"
    ? l10n.t("No model is chosen yet, so it will be for the first one that you choose.")
    : l10n.t("No engine that takes a token is chosen yet, so it will be for the first one that you choose.");
}
