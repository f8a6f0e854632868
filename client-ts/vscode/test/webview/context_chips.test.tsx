// @vitest-environment jsdom
import type { Block } from "@breadboard-ls/sdk";
import { describe, expect, it, vi } from "vitest";
import { METHODS, openPage, STATUS } from "./page";

const chip = (id: string, kind: string, label: string, size: number) => ({ id, kind, label, bytes: size });
const CHIPS = [
  chip("selection", "selection", "src/door.rs:2-3", 120),
  chip("diagnostics", "diagnostics", "2 problems", 90),
  chip("active_editor", "active_editor", "src/door.rs", 0),
];

/** A page whose server tells what would go. */
async function withChips(items = CHIPS, notes: string[] = []) {
  const page = await openPage({
    status: { ...STATUS, methods: [...METHODS, "bb/context/preview"] },
    answers: { "bb.context.preview": () => ({ items, notes, context: {} }) },
  });
  await page.model.nextContext.read();
  await page.frame();
  return page;
}

const shown = (page: Awaited<ReturnType<typeof withChips>>): string[] =>
  page.all(".context-chips .chip-label").map(({ textContent }) => textContent ?? "");

describe("what goes with the next prompt", () => {
  it("R002-95 is shown as chips, in a list with a name, each with a button that says what it leaves out", async () => {
    const page = await withChips();
    expect(shown(page)).toEqual(["src/door.rs:2-3", "2 problems", "src/door.rs"]);
    expect(page.one(".context-chips").getAttribute("aria-label")).toBe("Goes with the prompt");
    expect(page.all(".context-chips button").map((button) => button.getAttribute("aria-label"))).toEqual([
      "Leave out: Selection src/door.rs:2-3",
      "Leave out: Problems 2 problems",
      "Leave out: File src/door.rs",
    ]);
  });

  it("R002-95 takes one line; what does not fit there and more notes are counted, and shown by one button", async () => {
    const width = vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(200);
    const size = vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(90);
    const left = vi.spyOn(HTMLElement.prototype, "offsetLeft", "get").mockImplementation(function (this: HTMLElement) {
      const at = [...(this.parentElement?.children ?? [])].indexOf(this);
      return this.tagName === "LI" ? at * 94 : 0;
    });
    try {
      const page = await withChips([...CHIPS, chip("git", "git", "main", 10)], ["One is a secret.", "One is too large."]);
      const more = () => page.one(".chips-more");
      expect([more().textContent, more().getAttribute("aria-expanded"), page.all(".chip-notes li").length]).toEqual([
        "+2 more, 1 note",
        "false",
        1,
      ]);
      // Each can be taken away all the same, by the keyboard too.
      expect(shown(page)).toHaveLength(4);
      await page.click(".chips-more");
      expect([more().textContent, more().getAttribute("aria-expanded"), page.all(".chip-notes li").length]).toEqual([
        "Show less",
        "true",
        2,
      ]);
      await page.click(".chips-more");
      expect(more().textContent).toBe("+2 more, 1 note");
    } finally {
      for (const mock of [width, size, left]) mock.mockRestore();
    }
  });

  it("is taken away by its button for one prompt, and can be brought back", async () => {
    const page = await withChips();
    await page.click('[aria-label="Leave out: Problems 2 problems"]');
    expect(shown(page)).toEqual(["src/door.rs:2-3", "src/door.rs"]);
    const area = await page.type("hello");
    await page.key(area, "Enter");
    expect(page.asked("bb.tab.prompt").map(({ context }) => context)).toEqual([{ exclude: ["diagnostics"] }]);
    expect(shown(page)).toHaveLength(3);
    await page.click('[aria-label="Leave out: File src/door.rs"]');
    await page.click(".chips-back button");
    expect(shown(page)).toHaveLength(3);
  });

  it("says what is left out, and is not there where there is nothing to say", async () => {
    const page = await withChips([], ["`.env` looks like a file of secrets, so nothing of it went with the prompt."]);
    expect(page.one(".chip-notes").textContent).toContain(".env");
    expect(page.all(".context-chips")).toEqual([]);
    const bare = await withChips([]);
    expect(bare.all(".context-chips")).toEqual([]);
  });
});

describe("what went with a prompt", () => {
  it("is folded below its words, and each opens as it was sent", async () => {
    const block = { id: "u-1", seq: 1, kind: "user", text: "why?", context: CHIPS, contextSeq: 2 } as unknown as Block;
    const page = await openPage({
      lanes: { chat: [block] },
      answers: {
        "bb.eventBody": () => ({
          event: { id: "", type: "local.context", seq: 2, class: "notice", pane: ["chat"], origin: "local",
            payload: { items: [{ kind: "selection", label: "src/door.rs:2-3", text: "let key = 1;" }] } },
        }),
        "editor.openText": () => ({}),
      },
    });
    expect(page.one(".went-along summary").textContent).toBe("3 things went along (210 bytes)");
    await page.click(".went-along li button", "door.rs:2-3");
    expect(page.asked("editor.openText")).toEqual([{ title: "src/door.rs:2-3", text: "let key = 1;" }]);
  });
});
