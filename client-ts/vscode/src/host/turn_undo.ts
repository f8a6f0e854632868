/**
 * Taking a turn back by a command, without the sidebar: what it does is shown first, and asked about.
 *
 * Owns the words of that question and of what came of it. Knows no VS Code; decides nothing.
 */
import { type Requests, resultFault } from "@breadboard-ls/sdk";

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
    await ports.say(`Nothing of this turn can be taken back. ${would.files.map(lineOf).join(" ")}`.trim());
    return;
  }
  const lines = would.files.slice(0, MOST_NAMED).map(lineOf);
  if (would.files.length > MOST_NAMED) lines.push(`and ${would.files.length - MOST_NAMED} more.`);
  // Whoever presses Enter without reading is shown the changes: the first button has the focus.
  const chosen = await ports.confirm("Undo what the turn changed?", lines.join("\n"), ["Show the Changes", "Undo"]);
  if (chosen === "Show the Changes") return ports.show(turn);
  if (chosen !== "Undo") return;
  const done = await revert(ports, { sessionId, turn });
  const back = done.files.filter(({ outcome }) => outcome === "reverted").length;
  const left = done.files.filter(({ outcome }) => outcome === "conflict").map(lineOf);
  const sentence = [`${back} ${back === 1 ? "file was" : "files were"} taken back.`, ...left].join(" ");
  if (done.undo == null) return void (await ports.say(sentence));
  if (await ports.say(sentence, "Take the Undo Back")) await undoTurn(ports, sessionId, done.undo);
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
  if (outcome === "conflict") return `${name} is left as it is: ${message ?? "it changed since."}`;
  if (outcome === "unchanged") return `${name}: nothing to take back.`;
  const keeps = (kept ?? 0) > 0 ? `, ${kept} kept` : "";
  return `${name} +${added} −${removed}${open === true ? ", in the open editor" : ""}${keeps}`;
}
