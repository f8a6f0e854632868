/**
 * What is done without asking, as a choice of the user.
 *
 * Owns the words of the modes, and that a choice is written to the user's own settings, where no workspace reaches. Judges
 * nothing: the server does.
 */
import * as vscode from "vscode";
import type { Ask } from "./diffs";
import { l10n } from "vscode";

export type ApprovalMode = "ask" | "reads" | "edits" | "listed";

/** The modes, tightest first. */
export const MODES: readonly { readonly mode: ApprovalMode; readonly label: string; readonly detail: string }[] = [
  { mode: "ask", label: l10n.t("Ask for everything"), detail: l10n.t("Every edit and every command waits for your answer.") },
  { mode: "reads", label: l10n.t("Allow reads"), detail: l10n.t("Commands that only read run without a question, within the workspace.") },
  {
    mode: "edits",
    label: l10n.t("Allow reads, and edits in the workspace"),
    detail: l10n.t("Hidden files, secrets, keys and .git are asked about as before."),
  },
  { mode: "listed", label: l10n.t("Allow what your list names"), detail: l10n.t("The patterns and classes of the setting breadboard.approvals.") },
];

/** The mode that the user's settings state. */
export function modeOf(approvals: Record<string, unknown> | undefined): ApprovalMode {
  const found = MODES.find(({ mode }) => mode === approvals?.["mode"]);
  return found?.mode ?? "ask";
}

/** Offers the modes; what is chosen is kept in the user's settings and counts at once. */
export async function chooseApprovals(ask: Ask): Promise<void> {
  const configuration = vscode.workspace.getConfiguration("breadboard");
  const all = configuration.inspect<Record<string, unknown>>("approvals");
  const own = all?.globalValue ?? {};
  const now = modeOf(own);
  const picked = await vscode.window.showQuickPick(
    MODES.map((row) => ({ ...row, description: row.mode === now ? "now" : "" })),
    { title: l10n.t("Approvals"), placeHolder: l10n.t("What is done without asking, in folders that you trust") },
  );
  if (picked === undefined) return;
  // Before it is kept, which can take a moment: who asks for everything is asked about the very next thing.
  await tellApprovals(ask, picked.mode);
  await configuration.update("approvals", { ...own, mode: picked.mode }, vscode.ConfigurationTarget.Global);
}

/** Tells the server what the user's settings state by now, or what they are about to state. */
export async function tellApprovals(ask: Ask, chosen?: ApprovalMode): Promise<void> {
  const configuration = vscode.workspace.getConfiguration("breadboard");
  const runner = configuration.inspect<Record<string, unknown>>("commands")?.globalValue?.["runner"];
  await ask("bb/approvals/set", {
    mode: chosen ?? modeOf(configuration.inspect<Record<string, unknown>>("approvals")?.globalValue),
    runner: runner === "server_runner" ? "server_runner" : "local_terminal",
  });
}
