// @vitest-environment jsdom
/** The strip on the server's tabs (seed 001), each line on a page. */
import type { Block } from "@breadboard-ls/sdk";
import { describe, expect, it, vi } from "vitest";
import { openPage, refuse, uuid, viewOf } from "./page";

const SESSIONS = [
  { sessionId: "s1", title: "One", status: "idle" },
  { sessionId: "s2", title: "Two", status: "idle" },
];
const TABS = { [uuid(91)]: "s1", [uuid(92)]: "s2" };
const SAVED = {
  open: [
    { tabId: uuid(91), sessionId: "s1" },
    { tabId: uuid(92), sessionId: "s2" },
  ],
  active: "s2",
};
/** A page with both tabs, Two in front. */
const both = (more: Parameters<typeof openPage>[0] = {}) =>
  openPage({ sessions: SESSIONS, tabs: TABS, saved: SAVED, ...more });
const strip = (page: Awaited<ReturnType<typeof openPage>>) =>
  page.all(".strip [role=tab]").map((tab) => [tab.getAttribute("aria-label"), tab.getAttribute("aria-selected")]);
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("opening", () => {
  it("R001-13 R001-35 R001-36: the page makes the id of a tab, a UUID v4, and opens the tab with it", async () => {
    const page = await openPage({ sessions: SESSIONS });
    await page.model.tabs.select("s2");
    const opened = page.asked("bb.tab.open");
    expect(opened).toEqual([
      { tabId: uuid(1), sessionId: "s1" },
      { tabId: uuid(2), sessionId: "s2" },
    ]);
    expect(opened.every(({ tabId }) => UUID_V4.test(tabId))).toBe(true);
  });

  it("R001-18: a new tab is there before the server has said anything", async () => {
    const page = await openPage({ answers: { "bb.createSession": () => new Promise(() => undefined) } });
    page.one(".strip button", /^New session/).click();
    expect(page.model.tabs.all.value.map(({ tabId, sessionId }) => [tabId, sessionId])).toEqual([
      [uuid(1), "s1"],
      [uuid(2), undefined],
    ]);
    await page.frame();
    expect(strip(page)).toEqual([
      ["First", "false"],
      ["Starting a session…", "true"],
    ]);
  });

  it("R001-45: what is typed while the session is made goes to it when it is there", async () => {
    let made: (sessionId: string) => void = () => undefined;
    const page = await openPage({
      answers: { "bb.createSession": () => new Promise((resolve) => (made = (sessionId) => resolve({ sessionId }))) },
    });
    await page.click(".strip button", /^New session/);
    await page.key(await page.type("first words"), "Enter");
    expect(page.asked("bb.tab.prompt")).toEqual([]);
    made("s9");
    await page.frame();
    expect(page.story("bb.tab.open", "bb.tab.prompt").slice(1)).toEqual([
      ["bb.tab.open", { tabId: uuid(2), sessionId: "s9" }],
      ["bb.tab.prompt", { tabId: uuid(2), messageId: uuid(3), text: "first words" }],
    ]);
    expect(page.model.prompts.saved()).toEqual({});
  });

  it("a session that the server shows in another tab is not taken away from it", async () => {
    const page = await openPage({ sessions: SESSIONS.slice(0, 1), tabs: { [uuid(77)]: "s1" } });
    expect(page.one(".banner.error").textContent).toContain("Another tab shows this session");
    expect(page.tabs).toEqual(new Map([[uuid(77), "s1"]]));
  });
});

describe("moving between tabs", () => {
  it("R001-26 R001-53: the one that goes to the back is hidden before the other is shown, and selected last", async () => {
    const page = await both();
    page.sent.length = 0;
    await page.click(".strip [role=tab]", "One");
    expect(page.story("bb.tab.visibility", "bb.selectSession")).toEqual([
      ["bb.tab.visibility", { tabId: uuid(92), visible: false }],
      ["bb.tab.visibility", { tabId: uuid(91), visible: true }],
      ["bb.selectSession", { sessionId: "s1" }],
    ]);
  });

  it("R001-11 R001-29 R001-54: shown again, it has everything that came meanwhile, once", async () => {
    const text = (id: string, words: string): Block => ({ id, seq: 1, kind: "user", text: words });
    const views: Record<string, Block[]> = { s1: [text("u1", "of one")], s2: [text("u1", "of two")] };
    const page = await both({
      answers: {
        "bb.selectSession": ({ sessionId }) => ({
          sessionId,
          seq: 10 + (views[sessionId]?.length ?? 0),
          view: viewOf({ chat: views[sessionId] ?? [] }, 10 + (views[sessionId]?.length ?? 0)),
          resume: { verdict: "complete" },
        }),
      },
    });
    await page.click(".strip [role=tab]", "One");
    views["s2"]?.push(text("u2", "while nobody looked"));
    await page.click(".strip [role=tab]", "Two");
    // What overtook the answer is in it.
    await page.tell("bb/view", {
      sessionId: "s2",
      epoch: "e",
      fromSeq: 12,
      toSeq: 12,
      changes: [{ lane: "chat", op: "put", id: "u2", block: text("u2", "while nobody looked") }],
    });
    expect(page.all(".user .text").map((one) => one.textContent)).toEqual(["of two", "while nobody looked"]);
  });

  it("who clicks faster than the server answers sees the last one, and no other is left visible", async () => {
    let answer: () => void = () => undefined;
    const page = await both();
    const { "bb.tab.visibility": visibility } = page.answers;
    page.answers["bb.tab.visibility"] = (params) =>
      params.visible && params.tabId === uuid(91)
        ? new Promise((resolve) => (answer = () => resolve({ tabId: params.tabId, index: 3 })))
        : visibility?.(params);
    page.sent.length = 0;
    await page.click(".strip [role=tab]", "One");
    await page.click(".strip [role=tab]", "Two");
    answer();
    await page.frame();
    expect(page.asked("bb.tab.visibility")).toEqual([
      { tabId: uuid(92), visible: false },
      { tabId: uuid(91), visible: true },
      { tabId: uuid(91), visible: false },
      { tabId: uuid(92), visible: true },
    ]);
    expect(page.asked("bb.selectSession")).toEqual([{ sessionId: "s2" }]);
  });
});

describe("closing", () => {
  it("R001-30 R001-67: the page alone closes its tab, by its id; the history stays in the list", async () => {
    const page = await both();
    await page.click(".tab .close", /^Close the tab Two/);
    expect([page.asked("bb.tab.close"), page.asked("bb.deleteSession")]).toEqual([[{ tabId: uuid(92) }], []]);
    expect(strip(page)).toEqual([["One", "true"]]);
    expect(page.asked("bb.selectSession").at(-1)).toEqual({ sessionId: "s1" });
    await page.click(".strip > button", /^All sessions/);
    expect(page.all(".sessions li > .link").map((item) => item.textContent)).toEqual(["One", "Two"]);
    await page.click(".sessions .link", "Two");
    expect(page.asked("bb.tab.open")).toEqual([{ tabId: uuid(1), sessionId: "s2" }]);
  });

  it("asks first while a turn runs, and Escape keeps the tab", async () => {
    const page = await both({ sessions: [SESSIONS[0] as object, { ...SESSIONS[1], status: "running" }] });
    await page.key(page.one(".strip [role=tab]", "Two"), "Delete");
    const question = page.one(".strip-area [role=alertdialog]");
    expect(question.textContent).toContain("A turn is running in “Two”; closing the tab stops it.");
    expect(document.activeElement?.textContent).toBe("Keep it open");
    await page.key(question, "Escape");
    expect([page.all(".strip-area [role=alertdialog]").length, page.asked("bb.tab.close")]).toEqual([0, []]);
    await page.click(".tab .close", /^Close the tab Two/);
    await page.click(".strip-area [role=alertdialog] button", "Stop and close");
    expect([page.asked("bb.tab.close"), strip(page)]).toEqual([[{ tabId: uuid(92) }], [["One", "true"]]]);
  });

  it("a session that comes for a tab that was closed meanwhile is ended at its agent", async () => {
    let made: (sessionId: string) => void = () => undefined;
    const page = await openPage({
      answers: { "bb.createSession": () => new Promise((resolve) => (made = (sessionId) => resolve({ sessionId }))) },
    });
    await page.click(".strip button", /^New session/);
    await page.click(".tab .close", /^Close the tab Starting/);
    made("s9");
    await page.frame();
    expect(page.story("bb.tab.open", "bb.tab.close").slice(1)).toEqual([
      ["bb.tab.open", { tabId: uuid(2), sessionId: "s9" }],
      ["bb.tab.close", { tabId: uuid(2) }],
    ]);
    expect(strip(page)).toEqual([["First", "true"]]);
  });

  it("a session that is gone takes its tab with it, also at the server", async () => {
    const page = await both();
    await page.tell("bb/state", { sessions: SESSIONS.slice(0, 1) });
    expect([strip(page), page.asked("bb.tab.close")]).toEqual([[["One", "true"]], [{ tabId: uuid(92) }]]);
  });

  it("past the most there may be, the oldest makes room and its session lives on", async () => {
    const many = Array.from({ length: 13 }, (_, at) => ({ sessionId: `s${at}`, title: `T${at}`, status: "idle" }));
    const page = await openPage({ sessions: many, saved: { open: many.slice(0, 12), active: "s0" } });
    await page.model.tabs.select("s12");
    await page.frame();
    expect(page.all(".strip .tab").map((tab) => tab.textContent)).toEqual(many.slice(1).map(({ title }) => title));
    expect([page.asked("bb.tab.detach"), page.asked("bb.tab.close")]).toEqual([[{ tabIds: [uuid(1)] }], []]);
  });
});

describe("a page, a window or a server that comes back", () => {
  it("R001-60 R001-63 R001-68: its tabs are attached by their ids, and those at the back are hidden", async () => {
    const page = await both();
    expect(page.story("bb.tab.attach", "bb.tab.open", "bb.tab.visibility", "bb.selectSession")).toEqual([
      ["bb.tab.attach", { tabs: [{ tabId: uuid(91) }, { tabId: uuid(92) }] }],
      ["bb.tab.visibility", { tabId: uuid(91), visible: false }],
      ["bb.selectSession", { sessionId: "s2" }],
    ]);
    expect(page.saved.at(-1)).toMatchObject(SAVED);
  });

  it("R001-60: a tab that the server does not know any more is opened anew for its session", async () => {
    const page = await both({ tabs: { [uuid(91)]: "s1" } });
    expect(page.asked("bb.tab.open")).toEqual([{ tabId: uuid(92), sessionId: "s2" }]);
    expect([strip(page), page.all(".banner").length]).toEqual([
      [
        ["One", "false"],
        ["Two", "true"],
      ],
      0,
    ]);
  });

  it("of a session that is gone there is no tab, and the server does not make another one for it", async () => {
    const page = await both({ sessions: SESSIONS.slice(0, 1) });
    expect(page.asked("bb.tab.close")).toEqual([{ tabId: uuid(92) }]);
    expect(page.asked("bb.tab.attach")).toEqual([{ tabs: [{ tabId: uuid(91) }] }]);
    expect(strip(page)).toEqual([["One", "true"]]);
  });

  it("R001-60: after a restart of the server the same tabs are attached again", async () => {
    const page = await both();
    page.sent.length = 0;
    page.deliver({ v: 1, kind: "req", id: "h", method: "page.status", params: { ...page.status, generation: 2 } });
    await page.frame();
    expect(page.asked("bb.tab.attach")).toEqual([{ tabs: [{ tabId: uuid(91) }, { tabId: uuid(92) }] }]);
    expect(page.asked("bb.selectSession")).toEqual([{ sessionId: "s2" }]);
  });

  it("R001-03: a prompt into a tab that the server lost goes there once it has the tab again, under its id", async () => {
    const page = await both();
    page.tabs.clear();
    await page.key(await page.type("still there?"), "Enter");
    expect(page.story("bb.tab.prompt", "bb.tab.open")).toEqual([
      ["bb.tab.prompt", { tabId: uuid(92), messageId: uuid(1), text: "still there?" }],
      ["bb.tab.open", { tabId: uuid(92), sessionId: "s2" }],
      ["bb.tab.prompt", { tabId: uuid(92), messageId: uuid(1), text: "still there?" }],
    ]);
    expect(page.all(".banner")).toEqual([]);
  });

  it("what an earlier version saved, and ids that are none, become tabs with new ids", async () => {
    const page = await openPage({
      sessions: SESSIONS,
      saved: { open: ["s1", { tabId: "no uuid", sessionId: "s2" }, "s1", { tabId: uuid(91) }, null], active: "s1" },
    });
    expect(page.asked("bb.tab.open")).toEqual([
      { tabId: uuid(1), sessionId: "s1" },
      { tabId: uuid(2), sessionId: "s2" },
    ]);
  });
});

it("a tab that cannot be closed is gone from the strip, and the reason is said", async () => {
  const page = await both({ answers: { "bb.tab.close": refuse("internal", "The journal is full; free some space.") } });
  await page.click(".tab .close", /^Close the tab Two/);
  expect([strip(page), page.one(".banner.error").textContent]).toEqual([
    [["One", "true"]],
    "The journal is full; free some space. Dismiss",
  ]);
});

describe("alerts", () => {
  const FULL = "The journal is full; free some space.";
  const alerts = (page: Awaited<ReturnType<typeof openPage>>) => page.all(".banner.error").map((one) => one.textContent);

  it("belong to their tab: another one does not show it but marks it, and it goes with its tab", async () => {
    const page = await both({ answers: { "bb.tab.prompt": refuse("internal", FULL) } });
    await page.key(await page.type("hello"), "Enter");
    expect([alerts(page), strip(page)]).toEqual([
      [`${FULL} Dismiss`],
      [
        ["One", "false"],
        ["Two", "true"],
      ],
    ]);
    await page.click(".strip [role=tab]", /^One/);
    expect([alerts(page), strip(page)]).toEqual([
      [],
      [
        ["One", "true"],
        ["Two, has a message for you", "false"],
      ],
    ]);
    await page.model.tabs.close(uuid(92));
    expect(page.model.sentences.alerts.value).toEqual([]);
  });

  it("stand in the tab in which they began, whichever is in front when they come", async () => {
    let refuse: (error: object) => void = () => undefined;
    const page = await both({ answers: { "bb.tab.prompt": () => new Promise((_, reject) => (refuse = reject)) } });
    await page.key(await page.type("hello"), "Enter");
    await page.click(".strip [role=tab]", /^One/);
    refuse({ code: "internal", message: FULL });
    await page.frame();
    expect([alerts(page), strip(page)[1]]).toEqual([[], ["Two, has a message for you", "false"]]);
    await page.click(".strip [role=tab]", /^Two/);
    expect(alerts(page)).toEqual([`${FULL} Dismiss`]);
  });

  it("of one tab are four at most, and push out none of another", async () => {
    const page = await both();
    page.model.sentences.alert("of two");
    await page.click(".strip [role=tab]", /^One/);
    for (const nth of [1, 2, 2, 3, 4, 5]) page.model.sentences.alert(`sentence ${nth}`);
    expect(page.model.sentences.alerts.value.map(({ text }) => text)).toEqual([
      "of two",
      "sentence 2",
      "sentence 3",
      "sentence 4",
      "sentence 5",
    ]);
  });
});

describe("a strip that gets narrower", () => {
  it("keeps the tab that is on in sight, and no other", async () => {
    const shown: string[] = [];
    const observed = new Map<Element, () => void>();
    vi.stubGlobal(
      "ResizeObserver",
      class {
        constructor(private readonly told: () => void) {}
        observe(element: Element) {
          observed.set(element, this.told);
        }
        unobserve() {}
        disconnect() {
          for (const [element, told] of observed) if (told === this.told) observed.delete(element);
        }
      },
    );
    Element.prototype.scrollIntoView = function (this: Element) {
      if (this.classList.contains("tab")) shown.push(this.textContent ?? "");
    };
    try {
      const sessions = ["One", "Two"].map((title, at) => ({ sessionId: `s${at + 1}`, title, status: "idle" }));
      const page = await openPage({ sessions, saved: undefined });
      await page.click(".strip button", /^New session/);
      shown.length = 0;
      observed.get(page.one(".strip .tabs"))?.();
      expect(shown).toEqual([page.one(".tab.active").textContent]);
    } finally {
      vi.unstubAllGlobals();
      Reflect.deleteProperty(Element.prototype, "scrollIntoView");
    }
  });
});
