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

  it("those that went well and those of older pages are not there", () => {
    const chat = [user(2), half(2)];
    expect(withTurnEnds(chat, [end(1), end(2, { success: true })])).toBe(chat);
  });

  it("one that somebody stopped is there, though the engine itself told it in the run lane", () => {
    const stopped = end(1, { text: "The turn was stopped.", details: { cancelled: true } });
    expect(ids([user(1), half(1)], [stopped])).toEqual(["u1", "a1", "end-s-1-1"]);
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

const texts = (page: Awaited<ReturnType<typeof openPage>>, selector: string) =>
  page.all(selector).map(({ textContent }) => textContent);

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

  it("a turn that was stopped is marked where it was stopped, and no fault of anybody", async () => {
    const stopped = end(1, { text: "The turn was stopped.", details: { cancelled: true } });
    const page = await openPage({ lanes: { chat: [user(1), half(1)], run: [stopped] } });
    expect(texts(page, ".row .notice")).toEqual(["The turn was stopped.Send it again"]);
    expect(page.one(".row .notice").className).toBe("notice stopped");
  });

  it("a turn that failed is sent again by a press, and by nothing else", async () => {
    const failed = notice(1, "error", "The model at http://m failed (HTTP 500); ask again.");
    const page = await openPage({ lanes: { chat: [user(1), half(1), failed] }, answers });
    expect([texts(page, ".row .notice button"), page.asked("bb.tab.prompt")]).toEqual([["Retry"], []]);
    await page.click(".row .notice button", "Retry");
    expect(page.asked("bb.tab.prompt")).toEqual([{ tabId: uuid(1), messageId: uuid(2), text: "prompt 1, the whole" }]);
  });

  it("an error after which the turn went on asks for nothing", async () => {
    const page = await openPage({ lanes: { chat: [user(1), notice(1, "error", "A file was not read."), half(1)] } });
    expect(texts(page, ".row .notice button")).toEqual([]);
  });

  it.each([
    ["a model of ours", { kind: "embedded" }, undefined, ["Retry", "Set the token"], [{ scope: "model" }]],
    ["an engine with a token", { kind: "breadboard" }, undefined, ["Retry", "Set the token"], [{ scope: "engine" }]],
    ["an agent, which has its own", { kind: "embedded" }, "claude", ["Retry"], []],
  ])("where credentials are missing the token is a press away: %s", async (_whose, engine, agent, buttons, asked) => {
    const failed = notice(1, "error", "The model at http://m refused our credentials (HTTP 401); set a valid token.");
    const sessions = [{ sessionId: "s1", title: "First", status: "idle", ...(agent === undefined ? {} : { agent }) }];
    const page = await openPage({ engine, sessions, lanes: { chat: [user(1), failed] } });
    expect(texts(page, ".row .notice button")).toEqual(buttons);
    if (asked.length > 0) await page.click(".row .notice button", "Set the token");
    expect(page.asked("editor.setToken")).toEqual(asked);
  });

  it("where it cannot be sent the server's sentence stands above, and it can be tried again", async () => {
    const refused = { ...answers, "bb.tab.prompt": () => Promise.reject({ code: "busy", message: "Not now." }) };
    const page = await openPage({ lanes: { chat: [user(1), half(1)], run: [end(1)] }, answers: refused });
    await page.click(".row .notice button", "Send it again");
    expect(page.one(".banner.error").textContent).toContain("Not now.");
    expect(page.one(".row .notice button", "Send it again").getAttribute("aria-disabled")).toBe("false");
  });
});
