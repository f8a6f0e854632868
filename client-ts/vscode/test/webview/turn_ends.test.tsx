// @vitest-environment jsdom
/** A turn that did not come to its end says so in the chat, and can be asked for again. */
import type { Block } from "@breadboard-ls/sdk";
import { describe, expect, it } from "vitest";
import { withTurnEnds } from "../../src/webview/transcript/turn_ends";
import { openPage, uuid } from "./page";

const CUT = "The server ended while this turn ran; what it had said is kept. Send the prompt again to go on.";
const user = (turn: number, more: object = {}): Block =>
  ({ id: `u${turn}`, seq: turn * 10, turn, kind: "user", text: `prompt ${turn}`, ...more }) as Block;
const half = (turn: number): Block => ({
  id: `a${turn}`,
  seq: turn * 10 + 1,
  turn,
  kind: "assistant",
  text: "Half an ans",
  streaming: false,
});
const end = (turn: number, more: object = {}): Block =>
  ({ id: `s-${turn}-1`, seq: turn * 10 + 2, turn, kind: "summary", success: false, text: CUT, ...more }) as Block;
const notice = (turn: number, level: "error" | "warning", text: string): Block => ({
  id: `n${turn}`,
  seq: turn * 10 + 2,
  turn,
  kind: "notice",
  level,
  text,
});

describe("which ends of turns the transcript has", () => {
  const ids = (chat: Block[], run: Block[]): string[] => withTurnEnds(chat, run).map(({ id }) => id);

  it("that of the server itself stands behind the last block of its turn", () => {
    const chat = [user(1), half(1), user(2), half(2)];
    expect(ids(chat, [end(1), end(2)])).toEqual(["u1", "a1", "end-s-1-1", "u2", "a2", "end-s-2-1"]);
  });

  it("those that the engine told, those that went well and those of older pages are not there", () => {
    const chat = [user(2), half(2)];
    const run = [end(1), end(2, { details: { success: false } }), end(2, { success: true })];
    expect(withTurnEnds(chat, run)).toBe(chat);
  });

  it("what the chat says already is not said twice", () => {
    expect(ids([user(1), notice(1, "error", "The agent ended.")], [end(1)])).toEqual(["u1", "n1"]);
    expect(ids([user(1), notice(1, "warning", CUT)], [end(1)])).toEqual(["u1", "n1"]);
    expect(ids([user(1), notice(1, "warning", "Events are missing.")], [end(1)])).toEqual(["u1", "n1", "end-s-1-1"]);
  });

  it("the row of an end stays the same", () => {
    const run = [end(1)];
    expect(withTurnEnds([user(1)], run).at(-1)).toBe(withTurnEnds([user(1), half(1)], run).at(-1));
  });
});

describe("in the chat", () => {
  const whole = { id: "", type: "local.prompt", seq: 10, class: "transcript.user_message", pane: ["chat"], origin: "local" };
  const answers = {
    "bb.eventBody": ({ seq }: { seq: number }) => ({ event: { ...whole, seq, payload: { text: "prompt 1, the whole" } } }),
  };

  it("a turn that was cut off says so, and its prompt is sent again as a new one, whole and with what went with it", async () => {
    const page = await openPage({ lanes: { chat: [user(1, { attachmentIds: ["at1"] }), half(1)], run: [end(1)] }, answers });
    await page.type("a draft");
    expect(page.one(".row .notice.warning span").textContent).toBe(CUT);
    await page.click(".row .notice button", "Send it again");
    expect(page.asked("bb.tab.prompt")).toEqual([
      { tabId: uuid(1), messageId: uuid(2), text: "prompt 1, the whole", attachmentIds: ["at1"] },
    ]);
    const area = page.one(".composer textarea") as HTMLTextAreaElement;
    expect([area.value, document.activeElement]).toEqual(["a draft", area]);
  });

  it("while a turn runs, and where another prompt came after it, nothing can be sent again", async () => {
    const sessions = [{ sessionId: "s1", title: "First", status: "running" }];
    const running = await openPage({ sessions, lanes: { chat: [user(1), half(1)], run: [end(1)] } });
    expect([running.all(".row .notice", CUT).length, running.all(".row .notice button").length]).toEqual([1, 0]);
    const older = await openPage({ lanes: { chat: [user(1), half(1), user(2)], run: [end(1)] } });
    expect([older.all(".row .notice", CUT).length, older.all(".row .notice button").length]).toEqual([1, 0]);
  });

  it("where it cannot be sent the server's sentence stands above, and it can be tried again", async () => {
    const refused = { ...answers, "bb.tab.prompt": () => Promise.reject({ code: "busy", message: "Not now." }) };
    const page = await openPage({ lanes: { chat: [user(1), half(1)], run: [end(1)] }, answers: refused });
    await page.click(".row .notice button", "Send it again");
    expect(page.one(".banner.error").textContent).toContain("Not now.");
    expect(page.one(".row .notice button", "Send it again").getAttribute("aria-disabled")).toBe("false");
  });
});
