// @vitest-environment jsdom
/**
 * What proxies, providers, engines and agents answer: the whole sentence of each, and what is a press away. The sentences
 * are those of tests/e2e/errors.rs, where the server itself says them.
 */
import { readFileSync } from "node:fs";
import type { Block, BlockOf } from "@breadboard-ls/sdk";
import { describe, expect, it } from "vitest";
import remedies from "../../../../tests/fixtures/remedies.json";
import { openPage, refuse } from "./page";

const TOKEN = "Set the token";
const SETTINGS = "Open the settings";
const NEW = "New session";
/** What the server says beside a sentence, by words of it: that it is never worth a retry, and how one logs in. */
const DATA: [words: string, data: Partial<BlockOf<"notice">>][] = [
  ["HTTP 413", { retry: { taken: "no", when: "never" } }],
  ["codex login", { login: { command: "codex login", variable: "OPENAI_API_KEY" } }],
];
/** The buttons beside a sentence, by words that only it has; every sentence has Retry, unless it is refused again. */
const BUTTONS: Record<keyof typeof remedies, [words: string, buttons: string[]][]> = {
  model: [
    ["broke; ask again", []],
    ["HTTP 401", [TOKEN]],
    ["HTTP 403", [SETTINGS]],
    ["HTTP 404", [SETTINGS]],
    ["HTTP 407", []],
    ["HTTP 408", []],
    ["HTTP 413", [NEW]],
    ["HTTP 429", []],
    ["HTTP 500", []],
    ["HTTP 503", []],
    ["HTTP 504", []],
    ["HTTP 302", [SETTINGS]],
    ["could not be read", [SETTINGS]],
    ["speaks no HTTP", [SETTINGS]],
    ["speaks no TLS", [SETTINGS]],
  ],
  engine: [
    ["the connection was cut", []],
    ["wants a token", [TOKEN]],
    ["HTTP 403", [SETTINGS]],
    ["HTTP 404", [SETTINGS]],
    ["HTTP 407", []],
    ["HTTP 408", []],
    ["HTTP 413", []],
    ["in 30 seconds", []],
    ["answered 500", []],
    ["in a moment", []],
    ["HTTP 504", []],
    ["HTTP 302", [SETTINGS]],
    ["not the JSON", [SETTINGS]],
    ["speaks no HTTP", [SETTINGS]],
    ["speaks no TLS", [SETTINGS]],
  ],
  agent: [
    ["401 of the provider", []],
    ["Internal error: no quota", []],
    ["out of memory", []],
    ["(no quota, code", []],
    ["it says: Authentication required", []],
    ["codex login", ["Open a terminal with codex login"]],
  ],
};

const user: Block = { id: "u1", seq: 1, turn: 1, kind: "user", text: "go" };
const said = (sentence: string): string => sentence.replaceAll("PEER", "http://127.0.0.1:401").replaceAll("PLACE", "/h");
const plain = (sentence: string): string => sentence.replaceAll("`", "");
const failed = (sentence: string): Block => {
  const data = DATA.find(([words]) => sentence.includes(words))?.[1];
  return { id: "n1", seq: 2, turn: 1, kind: "notice", level: "error", text: sentence, ...data };
};
type Page = Awaited<ReturnType<typeof openPage>>;
const buttons = (page: Page, within: string) => page.all(`${within} button`).map(({ textContent }) => textContent);

it("A6: the sentences are all of those that tests/e2e/errors.rs has", () => {
  const source = readFileSync("../../tests/e2e/errors.rs", "utf8").replaceAll(/\\\n\s*/g, "");
  const literals = [...source.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text ?? "");
  const whole = (text: string) => text.replace(/^(?:error|breadboard-ls): /, "").replace(/\\n$/, "");
  const [failure = ""] = literals.filter((text) => text.includes("{said}"));
  const causes = [...source.matchAll(/failed\("([^"]*)"\)/g)].map(([, cause]) => failure.replace("{said}", cause ?? ""));
  const told = literals.filter((text) => / PEER[ /]/.test(text) || text.includes("wants a login first"));
  expect(new Set([...told, ...causes].map(whole))).toEqual(new Set(Object.values(remedies).flat()));
});

describe.each(["model", "engine", "agent"] as const)("what stands at the address of the %s", (whose) => {
  const engine = { kind: { model: "embedded", engine: "breadboard", agent: "acp" }[whose] };
  const sessions = [{ sessionId: "s1", title: "First", status: "idle", ...(whose === "agent" ? { agent: "codex" } : {}) }];

  it("A6: is told whole, with what can be done about it a press away", async () => {
    const rows = [];
    for (const sentence of remedies[whose]) {
      const page = await openPage({ engine, sessions, lanes: { chat: [user, failed(said(sentence))] } });
      rows.push([page.one(".row .notice > div > span").textContent, buttons(page, ".row .notice")]);
    }
    expect(rows).toEqual(
      remedies[whose].map((sentence) => {
        const [row, ...more] = BUTTONS[whose].filter(([words]) => sentence.includes(words));
        if (row === undefined || more.length > 0) throw new Error(`${more.length + 1} or no rows for: ${sentence}`);
        const [, beside] = row;
        const first = beside.filter((label) => label.startsWith("Open a terminal"));
        const retry = sentence.includes("HTTP 413") ? [] : ["Retry"];
        return [plain(said(sentence)), [...first, ...retry, ...beside.slice(first.length)]];
      }),
    );
  });
});

it("A6: the buttons do what they say", async () => {
  const of = (words: string) => said(remedies.model.find((sentence) => sentence.includes(words)) ?? "");
  for (const [words, label, method, params] of [
    ["HTTP 401", TOKEN, "editor.setToken", { scope: "model" }],
    ["HTTP 404", SETTINGS, "editor.openSettings", {}],
    ["HTTP 413", NEW, "bb.createSession", {}],
  ] as const) {
    const page = await openPage({ lanes: { chat: [user, failed(of(words))] } });
    await page.click(".row .notice button", label);
    expect(page.asked(method)).toEqual([params]);
  }
});

it("an answer without a model has the way to one below it, until there is one", async () => {
  const source = readFileSync("../../src/host/planner/mod.rs", "utf8");
  const sentence = /CHOOSE_MODEL: &str =\s*"\\n(.*)\\n";/.exec(source)?.[1];
  const answer = (text: string): Block => ({ id: "a1", seq: 2, turn: 1, kind: "assistant", text, streaming: false });
  const LABEL = "Choose a model";
  for (const [engine, text, shown] of [
    [{ kind: "embedded" }, `Found.\n\n${sentence}\n`, [LABEL]],
    [{ kind: "embedded", model: "qwen3" }, `Found.\n\n${sentence}\n`, []],
    [{ kind: "breadboard" }, `Found.\n\n${sentence}\n`, []],
    [{ kind: "embedded" }, "Found.\n", []],
  ] as const) {
    const page = await openPage({ engine, lanes: { chat: [user, answer(text)] } });
    const ways = buttons(page, ".row .assistant").filter((label) => label === LABEL);
    expect([engine, text, ways]).toEqual([engine, text, shown]);
    if (shown.length > 0) {
      page.answers["editor.setupLook"] = () => ({ agents: [], providers: [], now: "search only" });
      await page.click(".row .assistant button", LABEL);
      expect(page.all(".setup").length).toBe(1);
    }
  }
});

it("A6: an engine that refuses the session is told in its tab, with the same remedies", async () => {
  for (const [words, remedy] of [
    ["wants a token", TOKEN],
    ["HTTP 404", SETTINGS],
  ] as const) {
    const sentence = said(remedies.engine.find((one) => one.includes(words)) ?? "");
    const answers = { "bb.createSession": refuse("engine_unauthorized", sentence) };
    const page = await openPage({ engine: { kind: "breadboard" }, answers });
    await page.click(".strip button", /^New session/);
    expect([page.one("#pane .notice.error").textContent, buttons(page, "#pane")]).toEqual([
      `The session could not be started. ${sentence}`,
      [remedy, "Retry", "Close"],
    ]);
    await page.tell("bb/connection", { status: "error", lastError: sentence });
    expect(page.one(".banner.error").textContent).toBe(`The engine does not answer. ${sentence} ${remedy}`);
  }
});
