// @vitest-environment jsdom
/** "Changes of this turn": the list, its marks, and taking files back after seeing what that does. */
import type { Block } from "@breadboard-ls/sdk";
import { expect, it, vi } from "vitest";
import { METHODS, openPage, refuse } from "./page";

const SUMMARY = { change: "modify", added: 2, removed: 1, by: "engine", state: "as_left", review: "open" };
const BLOCK = {
  id: "changes:4",
  kind: "changes",
  seq: 9,
  turn: 1,
  promptSeq: 4,
  files: [
    { ...SUMMARY, filePath: "src/a.rs" },
    { ...SUMMARY, filePath: "b.txt", root: "web", removed: 0 },
  ],
  text: "2 files changed.",
} as unknown as Block;
const hunk = { id: "h", oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, content: "-a\n+b\n", state: "as_left", review: "open" };
const CHANGES = {
  turn: 4,
  kind: "turn",
  running: false,
  files: [
    { ...SUMMARY, filePath: "src/a.rs", source: "agent_diff", canRevert: true, hunks: [hunk] },
    { ...SUMMARY, filePath: "b.txt", root: "web", by: "server", state: "moved_on", source: "written_here", canRevert: false, message: "It went on.", hunks: [] },
  ],
  uncovered: [{ filePath: "big.bin", reason: "too_large", message: "It is too large to be kept." }],
  storage: { bytes: 1, budgetBytes: 2, maxAgeMs: 3 },
};
const WOULD = {
  turn: 4,
  preview: true,
  files: [
    { filePath: "src/a.rs", outcome: "reverted", change: "modify", added: 1, removed: 2, diff: "@@ -1 +1 @@\n-b\n+a\n", open: true },
    {
      filePath: "b.txt",
      root: "web",
      outcome: "conflict",
      added: 0,
      removed: 0,
      message: "It went on.",
      conflicts: [{ id: "x", line: 3, yours: "mine\n", theirs: "old\n" }],
    },
  ],
};

type Page = Awaited<ReturnType<typeof openPage>>;
const methods = [...METHODS, "bb/turn/changes", "bb/turn/revert", "bb/turn/review"];
const open = (answers: Record<string, (params: any) => unknown> = {}) =>
  openPage({
    lanes: { chat: [BLOCK] },
    status: { methods },
    answers: {
      "bb.turn.changes": () => CHANGES,
      "bb.turn.revert": ({ preview }) => (preview === true ? WOULD : { ...WOULD, preview: false, undo: 11 }),
      "bb.turn.review": () => ({ turn: 4, files: [] }),
      ...answers,
    },
  });
const press = async (page: Page, name: string, nth = 0) => {
  page.all("button").filter(({ textContent }) => textContent === name)[nth]?.click();
  await page.frame();
};
const texts = (page: Page, selector: string) => page.all(selector).map(({ textContent }) => textContent);
const wait = (page: Page, holds: () => void) =>
  vi.waitFor(async () => {
    await page.frame();
    holds();
  });

it("says how many files there are, and lists them as they stand now", async () => {
  const page = await open();
  expect(page.one(".turn-changes header").textContent?.trim()).toBe("This turn changed 2 files+4−1");
  expect(page.asked("bb.turn.changes")).toEqual([]);
  await press(page, "Review");
  await wait(page, () => expect(page.all(".turn-file").length).toBe(2));
  expect(page.asked("bb.turn.changes")).toEqual([{ sessionId: "s1", turn: 4 }]);
  expect(texts(page, ".turn-file > .hint")).toEqual([
    "by the agent itself; as it was left",
    "allowed here; changed since",
    "It went on.",
  ]);
  expect(texts(page, ".turn-changes > .hint")).toEqual(["big.bin: It is too large to be kept."]);
  // Where it cannot be taken back nothing offers to
  expect(texts(page, ".turn-file:nth-child(2) button")).not.toContain("Undo…");
  await press(page, "Compare", 1);
  await press(page, "Open all in the editor");
  expect([page.asked("editor.turnDiff"), page.asked("editor.turnDiffs")]).toEqual([
    [{ sessionId: "s1", turn: 4, filePath: "b.txt", root: "web" }],
    [{ sessionId: "s1", turn: 4 }],
  ]);
  expect(page.violations).toEqual([]);
});

it("a file is marked as reviewed and kept, and read anew", async () => {
  const page = await open();
  await press(page, "Review");
  await wait(page, () => expect(page.all(".turn-file").length).toBe(2));
  await press(page, "Mark reviewed");
  await press(page, "Keep", 1);
  await wait(page, () => expect(page.asked("bb.turn.changes").length).toBe(3));
  expect(page.asked("bb.turn.review")).toEqual([
    { sessionId: "s1", turn: 4, filePath: "src/a.rs", mark: "reviewed" },
    { sessionId: "s1", turn: 4, filePath: "b.txt", root: "web", mark: "kept" },
  ]);
});

it("undo shows first what it does, does it by a press of its own, says what was left, and can be taken back", async () => {
  const page = await open();
  await press(page, "Undo…");
  await wait(page, () => expect(page.all(".take-back").length).toBe(1));
  expect(page.asked("bb.turn.revert")).toEqual([{ sessionId: "s1", turn: 4, preview: true }]);
  expect([texts(page, ".take-back .fault"), texts(page, ".take-back .conflict pre"), texts(page, ".take-back .diff pre")]).toEqual([
    ["is left as it is: It went on."],
    ["mine\n", "old\n"],
    ["@@ -1 +1 @@\n-b\n+a\n"],
  ]);
  expect(document.activeElement?.textContent).toBe("Undo");
  await press(page, "Leave it");
  expect(page.all(".take-back")).toEqual([]);
  await press(page, "Undo…");
  await wait(page, () => expect(page.all(".take-back").length).toBe(1));
  await press(page, "Undo");
  await wait(page, () => expect(page.root.textContent).toContain("web/b.txt was left as it is: It went on."));
  await press(page, "Take the undo back");
  expect(page.asked("bb.turn.revert").slice(1)).toEqual([
    { sessionId: "s1", turn: 4, preview: true },
    { sessionId: "s1", turn: 4 },
    { sessionId: "s1", turn: 11 },
  ]);
});

it("one file is undone by itself, and where nothing can be undone nothing asks for it", async () => {
  const page = await open();
  await press(page, "Review");
  await wait(page, () => expect(page.all(".turn-file").length).toBe(2));
  await press(page, "Undo…", 1);
  await wait(page, () => expect(page.all(".take-back").length).toBe(1));
  expect(page.asked("bb.turn.revert")).toEqual([{ sessionId: "s1", turn: 4, filePath: "src/a.rs", preview: true }]);
  const none = await open({
    "bb.turn.revert": () => ({ ...WOULD, files: [{ filePath: "a", outcome: "unchanged", added: 0, removed: 0 }] }),
  });
  await press(none, "Undo…");
  await wait(none, () => expect(texts(none, ".take-back button")).toEqual(["Close"]));
});

it("what the server refuses is said, and without trust nothing is undone", async () => {
  const page = await open({ "bb.turn.revert": refuse("conflict", "The turn still runs.") });
  await press(page, "Undo…");
  await wait(page, () => expect(page.root.textContent).toContain("The turn still runs."));
  const restricted = await openPage({ lanes: { chat: [BLOCK] }, status: { methods, trusted: false } });
  expect(restricted.all("button").find(({ textContent }) => textContent === "Undo…")?.hasAttribute("disabled")).toBe(true);
});
