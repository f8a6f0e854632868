// @vitest-environment jsdom
/** What is sent again by itself, when, and that nothing else ever is. The clock is the test's own. */
import type { Block, BlockOf, Retry } from "@breadboard-ls/sdk";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openPage, uuid } from "./page";

type Page = Awaited<ReturnType<typeof openPage>>;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

const IDLE = [{ sessionId: "s1", title: "First", status: "idle" }];
const prompts = (page: Page) => page.asked("bb.tab.prompt").map(({ text, attachmentIds }) => [text, attachmentIds]);
const shown = (page: Page) => [
  page.all(".row .notice button").map(({ textContent }) => textContent),
  page.all(".row .notice .hint").map(({ textContent }) => textContent),
];
const idle = (page: Page) => page.tell("bb/state", { sessions: IDLE, activeSessionId: "s1" });
const passes = async (page: Page, seconds: number): Promise<void> => {
  vi.advanceTimersByTime(seconds * 1_000);
  await page.frame();
};

const PROMPT = {
  id: "",
  type: "local.prompt",
  turn: 1,
  ts: 1,
  payload: { text: "the whole question" },
  seq: 1,
  class: "transcript.user_message",
  pane: ["chat"],
  origin: "local",
};

/** The last event that the page was told of. */
let seq = 10;

/** A page that sent a prompt. */
async function sent(): Promise<Page> {
  seq = 10;
  const page = await openPage({
    answers: { "bb.eventBody": () => ({ event: PROMPT }) },
  });
  await page.type("the whole question");
  await page.key(page.one(".composer textarea"), "Enter");
  return page;
}

/** The last prompt that was sent is in the chat, and its turn failed. */
async function fails(page: Page, retry: Retry | undefined, more: Partial<BlockOf<"user">> = {}): Promise<void> {
  const turn = (seq += 1);
  const { messageId } = page.asked("bb.tab.prompt").at(-1);
  const user: Block = { id: `u-${turn}`, seq: turn, turn, kind: "user", text: "the whole…", messageId, ...more };
  const text = "The model at PEER takes no more requests now.";
  const notice: Block = { id: `n-${turn}`, seq: (seq += 1), turn, kind: "notice", level: "error", text, ...(retry && { retry }) };
  await page.put(turn, "chat", user);
  await page.put(seq, "chat", notice);
  seq += 1;
  await page.put(seq, "chat", { id: `end-${turn}`, seq, turn, kind: "turn-end", outcome: "failed" });
  await idle(page);
}

const BUSY: Retry = { taken: "no", when: "later", afterMs: 2_500 };

it("counts down where nothing was taken, and sends the whole prompt again with what was attached to it", async () => {
  const page = await sent();
  await fails(page, BUSY, { attachmentIds: ["a1"] });
  expect(shown(page)).toEqual([["Retry now", "Do not retry"], ["Retrying in 3 s"]]);
  await passes(page, 2);
  expect([shown(page)[1], prompts(page).length]).toEqual([["Retrying in 1 s"], 1]);
  await passes(page, 1);
  expect(prompts(page)).toEqual([
    ["the whole question", undefined],
    ["the whole question", ["a1"]],
  ]);
  expect(page.asked("bb.tab.prompt").map(({ messageId }) => messageId)).not.toContain(undefined);
  await passes(page, 600);
  expect(prompts(page).length).toBe(2);
});

it("tries three times at most, each without a wait of the answer's behind a longer one", async () => {
  const page = await sent();
  const waits: unknown[] = [];
  for (let tries = 0; tries < 3; tries += 1) {
    await fails(page, { taken: "no", when: "later" });
    waits.push(shown(page)[1]);
    await passes(page, 5 * 2 ** tries);
    expect(prompts(page).length).toBe(tries + 2);
  }
  expect(waits).toEqual([["Retrying in 5 s"], ["Retrying in 10 s"], ["Retrying in 20 s"]]);
  await fails(page, { taken: "no", when: "later" });
  expect(shown(page)).toEqual([["Retry"], []]);
  await passes(page, 600);
  expect(prompts(page).length).toBe(4);
});

describe("never sends again by itself", () => {
  it.each<[string, Retry | undefined, string[], string[]]>([
    ["what may have been taken", { taken: "perhaps", when: "later", afterMs: 1_000 }, ["Retry"], []],
    ["what was taken", { taken: "yes", when: "later", afterMs: 1_000 }, ["Retry"], []],
    ["what needs a change first", { taken: "no", when: "changed", afterMs: 1_000 }, ["Retry"], []],
    ["what is refused again", { taken: "no", when: "never", afterMs: 1_000 }, [], []],
    ["that of which nothing is known", undefined, ["Retry"], []],
    [
      "what asks for more than two minutes",
      { taken: "no", when: "later", afterMs: 121_000 },
      ["Retry"],
      ["It asks to wait 3 min, so it is not tried again by itself."],
    ],
  ])("%s", async (_name, retry, buttons, hints) => {
    const page = await sent();
    await fails(page, retry);
    expect(shown(page)).toEqual([buttons, hints]);
    await passes(page, 3_600);
    expect(prompts(page).length).toBe(1);
  });

  it("what another page or an earlier one sent", async () => {
    const page = await sent();
    await fails(page, BUSY, { messageId: uuid(77) });
    expect(shown(page)).toEqual([["Retry"], []]);
    await passes(page, 600);
    expect(prompts(page).length).toBe(1);
  });

  it("what the user called off", async () => {
    const page = await sent();
    await fails(page, BUSY);
    await page.click(".row .notice button", "Do not retry");
    expect(shown(page)).toEqual([["Retry"], []]);
    await passes(page, 600);
    expect(prompts(page).length).toBe(1);
  });

  it("what the user sent again at once", async () => {
    const page = await sent();
    await fails(page, BUSY);
    await page.click(".row .notice button", "Retry now");
    await passes(page, 600);
    expect(prompts(page).length).toBe(2);
  });

  it("what another prompt has followed", async () => {
    const page = await sent();
    await fails(page, BUSY);
    seq += 1;
    await page.put(seq, "chat", { id: `u-${seq}`, seq, turn: seq, kind: "user", text: "something else" });
    await passes(page, 600);
    expect([shown(page)[1], prompts(page).length]).toEqual([[], 1]);
  });

  it("in a session that works again", async () => {
    const page = await sent();
    await fails(page, BUSY);
    await page.tell("bb/state", { sessions: [{ ...IDLE[0], status: "running" }], activeSessionId: "s1" });
    await passes(page, 600);
    expect(prompts(page).length).toBe(1);
  });

  it("in a tab that was closed, or that is not in front", async () => {
    for (const leave of [/^Close/, /^New session/]) {
      const page = await sent();
      await fails(page, BUSY);
      expect(shown(page)[1]).toEqual(["Retrying in 3 s"]);
      await page.click(".strip button", leave);
      await passes(page, 600);
      expect([leave, prompts(page).length]).toEqual([leave, 1]);
    }
  });

  it("in a page that nobody sees", async () => {
    const page = await sent();
    await fails(page, BUSY);
    const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    await passes(page, 600);
    hidden.mockRestore();
    expect([shown(page), prompts(page).length]).toEqual([[["Retry"], []], 1]);
  });
});
