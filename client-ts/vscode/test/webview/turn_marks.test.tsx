// @vitest-environment jsdom
/** Where a turn begins, how it ended, and what can be asked for again. */
import type { Block } from "@breadboard-ls/sdk";
import { describe, expect, it } from "vitest";
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
  ({ id: `e-${turn}`, seq: turn * 10 + 2, turn, kind: "turn-end", outcome: "cut", text: CUT, ...more }) as Block;
const notice = (turn: number, level: "error" | "warning", text: string): Block => ({
  id: `n${turn}`,
  seq: turn * 10 + 2,
  turn,
  kind: "notice",
  level,
  text,
});

const texts = (page: Awaited<ReturnType<typeof openPage>>, selector: string) =>
  page.all(selector).map(({ textContent }) => textContent);

describe("in the chat", () => {
  const whole = { id: "", type: "local.prompt", seq: 10, class: "transcript.user_message", pane: ["chat"], origin: "local" };
  const answers = {
    "bb.eventBody": ({ seq }: { seq: number }) => ({ event: { ...whole, seq, payload: { text: "prompt 1, the whole" } } }),
  };

  it("a turn that was cut off says so, and its prompt is sent again as a new one, whole and with what went with it", async () => {
    const page = await openPage({ lanes: { chat: [user(1, { attachmentIds: ["at1"] }), half(1), end(1)] }, answers });
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
    const running = await openPage({ sessions, lanes: { chat: [user(1), half(1), end(1)] } });
    expect([running.all(".row .notice", CUT).length, running.all(".row .notice button").length]).toEqual([1, 0]);
    const older = await openPage({ lanes: { chat: [user(1), half(1), end(1), user(2)] } });
    expect([older.all(".row .notice", CUT).length, older.all(".row .notice button").length]).toEqual([1, 0]);
  });

  it("a turn that was stopped is marked where it was stopped, and no fault of anybody", async () => {
    const stopped = end(1, { outcome: "stopped", text: undefined, durationMs: 1_250 });
    const page = await openPage({ lanes: { chat: [user(1), half(1), stopped] } });
    expect(texts(page, ".row .notice")).toEqual(["The turn was stopped.1.2 sSend it again"]);
    expect(page.one(".row .notice").className).toBe("notice stopped");
  });

  it("R003-31, R003-32, R003-35: a turn begins with who answers and ends with one quiet line", async () => {
    const start = { id: "t-1", seq: 10, turn: 1, kind: "turn-start", startedAt: Date.now(), engine: "claude", model: "Opus" };
    const done = { outcome: "done", text: undefined, durationMs: 61_999, inputTokens: 1_200, outputTokens: 34 };
    const cost = { amount: 0.25, currency: "EUR" };
    const page = await openPage({ lanes: { chat: [user(1), start as Block, half(1), end(1, { ...done, cost })] } });
    const [first, last] = texts(page, ".row .turn-mark");
    expect(first).toMatch(/^claude · Opus · \d/);
    expect(last).toMatch(/^ ?Done · 1 min 1 s · 1.200 tokens read, 34 written · .*0.25/);
    expect(page.all(".row .notice")).toEqual([]);
  });

  it("why a turn failed is said once, and what is known of it stands below", async () => {
    const failed = notice(1, "error", "The agent ended.");
    const page = await openPage({
      lanes: { chat: [user(1), failed, end(1, { outcome: "failed", text: undefined, totalTokens: 7 })] },
    });
    expect(texts(page, ".row .notice button")).toEqual(["Retry"]);
    expect(texts(page, ".row .turn-mark").map((text) => text?.trim())).toEqual(["The turn failed · 7 tokens"]);
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
    const page = await openPage({ lanes: { chat: [user(1), half(1), end(1)] }, answers: refused });
    await page.click(".row .notice button", "Send it again");
    expect(page.one(".banner.error").textContent).toContain("Not now.");
    expect(page.one(".row .notice button", "Send it again").getAttribute("aria-disabled")).toBe("false");
  });
});
