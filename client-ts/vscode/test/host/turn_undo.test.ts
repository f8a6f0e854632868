/** Undoing a turn by a command: what is asked first, and what is sent. */
import { expect, it } from "vitest";
import { undoTurn } from "../../src/host/turn_undo";

const file = (filePath: string, more: object = {}) => ({ filePath, outcome: "reverted", added: 1, removed: 2, ...more });

function undoing(files: readonly object[], answers: readonly (string | undefined)[], presses: readonly boolean[] = []) {
  const asked: unknown[] = [];
  const told: unknown[] = [];
  const chosen = [...answers];
  const pressed = [...presses];
  const ports = {
    ask: async (method: string, params: unknown) => {
      asked.push([method, params]);
      const { turn = 0, preview = false } = params as { turn?: number; preview?: boolean };
      if (method === "bb/turn/revert")
        return { turn, preview, files, ...(preview || files.length === 0 ? {} : { undo: turn + 10 }) };
      return { turn: 7, kind: "turn", running: false, files: [], uncovered: [], storage: { bytes: 0, budgetBytes: 1, maxAgeMs: 1 } };
    },
    confirm: async (question: string, detail: string, buttons: readonly string[]) => {
      told.push([question, detail]);
      expect(buttons[0]).not.toBe("Undo");
      return chosen.shift();
    },
    say: async (sentence: string, button?: string) => {
      told.push([sentence, button]);
      return pressed.shift() ?? false;
    },
    show: async (turn: number) => void told.push(["show", turn]),
  };
  return { ports, asked, told };
}

it("shows what it does first, does it once it was said yes to, and can be taken back itself", async () => {
  const files = [
    file("a", { open: true, kept: 1 }),
    file("b", { root: "web", outcome: "conflict", message: "It went on.", added: 0, removed: 0 }),
  ];
  const { ports, asked, told } = undoing(files, ["Undo", undefined], [true]);
  await undoTurn(ports, "s");
  const detail = "a +1 −2, in the open editor, 1 kept\nweb/b is left as it is: It went on.";
  expect(told).toEqual([
    ["Undo what the turn changed?", detail],
    ["1 file was taken back. web/b is left as it is: It went on.", "Take the Undo Back"],
    ["Undo what the turn changed?", detail],
  ]);
  expect(asked).toEqual([
    ["bb/turn/changes", { sessionId: "s" }],
    ["bb/turn/revert", { sessionId: "s", turn: 7, preview: true }],
    ["bb/turn/revert", { sessionId: "s", turn: 7 }],
    ["bb/turn/revert", { sessionId: "s", turn: 17, preview: true }],
  ]);
});

it("does nothing where nobody says yes, and where there is nothing to take back", async () => {
  const left = undoing([file("a")], [undefined]);
  await undoTurn(left.ports, "s", 3);
  const shown = undoing([file("a")], ["Show the Changes"]);
  await undoTurn(shown.ports, "s", 3);
  const none = undoing([file("a", { outcome: "unchanged" })], []);
  await undoTurn(none.ports, "s", 3);
  expect([left.asked.length, shown.told.at(-1), none.told]).toEqual([
    1,
    ["show", 3],
    [["Nothing of this turn can be taken back. a: nothing to take back.", undefined]],
  ]);
});

it("names no more files than a dialog has room for", async () => {
  const { ports, told } = undoing(Array.from({ length: 20 }, (_, at) => file(`f${at}`)), [undefined]);
  await undoTurn(ports, "s", 3);
  const [, detail] = told[0] as [string, string];
  expect([detail.split("\n").length, detail.split("\n").at(-1)]).toEqual([16, "and 5 more."]);
});
