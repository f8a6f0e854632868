/**
 * Taking a turn back by a command, without the sidebar: what it does is shown first, and asked about.
 *
 * Owns the words of that question and of what came of it. Knows no VS Code; decides nothing.
 */
import { type Requests, resultFault } from "@breadboard-ls/sdk";
import { l10n } from "vscode";

type Reverted = Requests["bb/turn/revert"]["result"];
type RevertedFile = Reverted["files"][number];

export interface UndoPorts {
  /** Sends a request to the server. */
  ask(method: string, params: unknown): Promise<unknown>;
  /** Asks in a dialog; the button that was pressed. The first one has the focus. */
  confirm(question: string, detail: string, buttons: readonly string[]): Promise<string | undefined>;
  /** Says something, with a button or none; whether that was pressed. */
  say(sentence: string, button?: string): Promise<boolean>;
  /** Shows what the turn changed. */
  show(turn: number): Promise<void>;
}

/** Most files that the question names. */
const MOST_NAMED = 15;

/** Takes the newest turn that changed something back, or the one that is named. */
export async function undoTurn(ports: UndoPorts, sessionId: string, named?: number): Promise<void> {
  const turn = named ?? (await newest(ports, sessionId));
  const would = await revert(ports, { sessionId, turn, preview: true });
  if (!would.files.some(({ outcome }) => outcome === "reverted")) {
    await ports.say(l10n.t("Nothing of this turn can be taken back. {0}", would.files.map(lineOf).join(" ")).trim());
    return;
  }
  const lines = would.files.slice(0, MOST_NAMED).map(lineOf);
  if (would.files.length > MOST_NAMED) lines.push(l10n.t("and {0} more.", would.files.length - MOST_NAMED));
  // Whoever presses Enter without reading is shown the changes: the first button has the focus.
  const [show, undo] = [l10n.t("Show the Changes"), l10n.t("Undo")];
  const chosen = await ports.confirm(l10n.t("Undo what the turn changed?"), lines.join("\n"), [show, undo]);
  if (chosen === show) return ports.show(turn);
  if (chosen !== undo) return;
  const done = await revert(ports, { sessionId, turn });
  const back = done.files.filter(({ outcome }) => outcome === "reverted").length;
  const left = done.files.filter(({ outcome }) => outcome === "conflict").map(lineOf);
  const sentence = [back === 1 ? l10n.t("1 file was taken back.") : l10n.t("{0} files were taken back.", back), ...left].join(" ");
  if (done.undo == null) return void (await ports.say(sentence));
  if (await ports.say(sentence, l10n.t("Take the Undo Back"))) await undoTurn(ports, sessionId, done.undo);
}

async function newest(ports: UndoPorts, sessionId: string): Promise<number> {
  const result = await ports.ask("bb/turn/changes", { sessionId });
  const fault = resultFault("bb/turn/changes", result);
  if (fault !== undefined) throw new Error(`The server's answer about the turn does not fit: ${fault}.`);
  return (result as Requests["bb/turn/changes"]["result"]).turn;
}

async function revert(ports: UndoPorts, params: Requests["bb/turn/revert"]["params"]): Promise<Reverted> {
  const result = await ports.ask("bb/turn/revert", params);
  const fault = resultFault("bb/turn/revert", result);
  if (fault !== undefined) throw new Error(`The server's answer about the turn does not fit: ${fault}.`);
  return result as Reverted;
}

/** What becomes, or became, of a file. */
function lineOf({ filePath, root, outcome, added, removed, kept, open, message }: RevertedFile): string {
  const name = root == null ? filePath : `${root}/${filePath}`;
  if (outcome === "conflict") return l10n.t("{0} is left as it is: {1}", name, message ?? l10n.t("it changed since."));
  if (outcome === "unchanged") return l10n.t("{0}: nothing to take back.", name);
  const keeps = (kept ?? 0) > 0 ? l10n.t(", {0} kept", kept ?? 0) : "";
  return `${name} +${added} −${removed}${open === true ? l10n.t(", in the open editor") : ""}${keeps}`;
}
