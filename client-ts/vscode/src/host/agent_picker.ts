/**
 * Who goes on with a session, as a choice of the user.
 *
 * Owns the words. Continues nothing itself: the page does.
 */
import * as vscode from "vscode";
import { readUserSettings } from "./settings";
import { l10n } from "vscode";

const ENGINE: Readonly<Record<string, string>> = {
  embedded: l10n.t("The built-in agent"),
  breadboard: "BreadBoard",
  desktop: l10n.t("The desktop host"),
};

/** Offers the engine of the settings and the agents beside it; `null` where none is picked. */
export async function pickAgent(title: string | undefined): Promise<{ agent?: string } | null> {
  const { engine, agents } = readUserSettings(vscode.workspace.getConfiguration("breadboard"));
  const kind = engine?.kind ?? "embedded";
  const name = typeof engine?.name === "string" ? engine.name : undefined;
  const main = ENGINE[kind] ?? name ?? l10n.t("The agent of the settings");
  const entries: { label: string; description?: string; agent?: string }[] = [
    { label: main, description: l10n.t("the engine in use") },
    ...Object.keys(agents ?? {})
      .filter((agent) => kind !== "acp" || agent !== name)
      .map((agent) => ({ label: agent, description: "agent", agent })),
  ];
  const picked = await vscode.window.showQuickPick(entries, {
    title: l10n.t("Continue with …"),
    placeHolder: l10n.t("Who goes on with {0}? It stays as it is; a new session begins with its conversation.", title === undefined ? l10n.t("this session") : `“${title}”`),
  });
  if (picked === undefined) return null;
  return picked.agent === undefined ? {} : { agent: picked.agent };
}
