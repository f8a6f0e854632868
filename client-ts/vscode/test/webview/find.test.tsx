// @vitest-environment jsdom
/** Finding in a conversation, and taking it away as Markdown; prompts that are changed or sent again. */
import type { Block } from "@breadboard-ls/sdk";
import { expect, it } from "vitest";
import { asMarkdown } from "../../src/webview/transcript/export";
import { openPage, uuid } from "./page";

const BLOCKS: Block[] = [
  { id: "u1", seq: 1, turn: 1, kind: "user", text: "Where is the retry?", messageId: "m1" },
  { id: "t1", seq: 2, turn: 1, kind: "tool", name: "read_file", title: "Read src/retry.rs", status: "ok" },
  { id: "a1", seq: 3, turn: 1, kind: "assistant", text: "In `src/retry.rs`.", streaming: false },
  { id: "e1", seq: 4, turn: 1, kind: "turn-end", outcome: "stopped" },
  { id: "u2", seq: 5, turn: 2, kind: "user", text: "And the limit?", messageId: "m2" },
];

it("Ctrl+F finds in what the rows show, newest first, and marks the row", async () => {
  const page = await openPage({ lanes: { chat: BLOCKS } });
  const found = () => page.all(".row.found").map(({ dataset }) => dataset["block"]);
  expect((await page.key(page.one(".scroller"), "f", { ctrlKey: true })).defaultPrevented).toBe(true);
  const field = page.one(".find input") as HTMLInputElement;
  field.value = "retry";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await page.frame();
  expect([page.one(".find [role=status]").textContent, found()]).toEqual(["3 of 3", ["a1"]]);
  await page.key(field, "Enter");
  expect([page.one(".find [role=status]").textContent, found()]).toEqual(["2 of 3", ["t1"]]);
  await page.key(field, "Enter", { shiftKey: true });
  expect(found()).toEqual(["a1"]);
  await page.key(field, "Escape");
  expect([page.all(".find").length, found()]).toEqual([0, []]);
});

it("a prompt that was sent can be changed and sent anew, or sent again as it was", async () => {
  const page = await openPage({
    lanes: { chat: BLOCKS },
    answers: {
      "bb.eventBody": ({ seq }) => ({
        event: { id: "", type: "local.prompt", seq, class: "message.user", pane: ["chat"], origin: "local", payload: { text: seq === 1 ? "Where is the retry? (whole)" : "And the limit?" } },
      }),
    },
  });
  const first = page.all(".user")[0] as HTMLElement;
  (first.querySelector("[aria-label^=Change]") as HTMLElement).click();
  await page.frame();
  expect((page.one(".composer textarea") as HTMLTextAreaElement).value).toBe("Where is the retry? (whole)");
  expect(page.asked("bb.tab.prompt")).toEqual([]);
  (page.all(".user")[1]?.querySelector("[aria-label^=Send]") as HTMLElement).click();
  await page.frame();
  expect(page.asked("bb.tab.prompt").map(({ text, messageId }) => [text, messageId !== uuid(0)])).toEqual([["And the limit?", true]]);
});

it("a session is exported as Markdown, with what an answer was cut of", async () => {
  const cut: Block = { id: "a1", seq: 3, turn: 1, kind: "assistant", text: "In `src", streaming: false, truncated: true };
  const blocks = BLOCKS.map((block) => (block.id === "a1" ? cut : block));
  expect(await asMarkdown("First", blocks, async () => "In `src/retry.rs`.")).toBe(
    "# First\n\n## You\n\nWhere is the retry?\n\n## Agent\n\n- Read src/retry.rs (done)\n\nIn `src/retry.rs`.\n\n" +
      "> The turn was stopped.\n\n## You\n\nAnd the limit?\n\n## Agent\n",
  );
  const page = await openPage({ lanes: { chat: BLOCKS } });
  page.deliver({ v: 1, kind: "req", id: "h1", method: "page.export", params: {} });
  await page.frame();
  expect(page.asked("editor.openText").map(({ title, language }) => [title, language])).toEqual([["First", "markdown"]]);
});
