// @vitest-environment jsdom
/** A prompt that is changed begins a branch; another agent goes on with a session; one is pinned. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { expect, it } from "vitest";
import { METHODS, openPage, uuid, viewOf } from "./page";

const CAN = { methods: [...METHODS, "bb/session/branch", "bb/session/pin"] };
const ASKED: BlockOf<"user"> = { id: "u-3", kind: "user", seq: 3, text: "how many?", messageId: "m", attachmentIds: ["a1"] };
const PROMPT = {
  id: "",
  type: "local.prompt",
  turn: 1,
  ts: 1,
  payload: { text: "how many?" },
  seq: 3,
  class: "transcript.user_message",
  pane: ["chat"],
  origin: "local",
};
const NEW = {
  sessionId: "s2",
  title: "Branch: how many words?",
  status: "idle",
  branchedFrom: { sessionId: "s1", title: "First", before: "u-3" },
};

async function changing() {
  const page = await openPage({
    view: viewOf({ chat: [ASKED] }),
    status: CAN,
    sessions: [{ sessionId: "s1", title: "First", status: "idle" }, { sessionId: "s0", title: "Older", status: "idle" }],
    answers: {
      "bb.eventBody": () => ({ event: PROMPT }),
      "bb.session.branch": () => ({ sessionId: "s2", knows: "all", text: "It is a branch." }),
    },
  });
  await page.click(".message-actions button", /^Change this prompt/);
  return page;
}

it("what is changed is sent in a branch, in a tab beside the session, with its attachments", async () => {
  const page = await changing();
  expect(page.one(".branch-hint").textContent).toContain("this begins a branch");
  await page.type("how many words?");
  await page.key(page.one(".composer textarea"), "Enter");
  await page.tell("bb/state", { sessions: [NEW, { sessionId: "s1", title: "First", status: "idle" }] });
  expect(page.asked("bb.session.branch")).toEqual([{ sessionId: "s1", before: "u-3" }]);
  const [prompt, ...more] = page.asked("bb.tab.prompt");
  expect([prompt.text, prompt.attachmentIds, more]).toEqual(["how many words?", ["a1"], []]);
  expect(page.tabs.get(prompt.tabId)).toBe("s2");
  const titles = page.all(".strip [role=tab]").map((tab) => [tab.textContent, tab.getAttribute("aria-selected")]);
  expect(titles).toEqual([["First", "false"], ["how many words?", "true"]]);
  expect(page.one(".strip [role=tab][aria-selected=true]").getAttribute("aria-label")).toBe(
    "how many words?, a branch of another session",
  );
  expect((page.one(".composer textarea") as HTMLTextAreaElement).value).toBe("");
  expect(page.all(".branch-hint")).toEqual([]);
  // And the line at the top leads back.
  expect(page.one(".origin").textContent).toContain("Branch of");
  await page.click(".origin button", "First");
  expect(page.one(".strip [role=tab][aria-selected=true]").textContent).toBe("First");
});

it("it is sent in its own session where the user says so, and where the server knows no branches", async () => {
  const page = await changing();
  await page.click(".branch-hint button", "Send it here instead");
  await page.key(page.one(".composer textarea"), "Enter");
  expect(page.asked("bb.session.branch")).toEqual([]);
  expect(page.asked("bb.tab.prompt").map(({ text, tabId }) => [text, page.tabs.get(tabId)])).toEqual([["how many?", "s1"]]);
  const old = await openPage({
    view: viewOf({ chat: [ASKED] }),
    answers: { "bb.eventBody": () => ({ event: PROMPT }) },
  });
  await old.click(".message-actions button", /^Change this prompt/);
  expect(old.all(".branch-hint")).toEqual([]);
});

it("a prompt that its branch did not take waits there to be sent again, and makes no second branch", async () => {
  const page = await changing();
  const takes = page.answers["bb.tab.prompt"];
  page.answers["bb.tab.prompt"] = () => {
    throw { code: "overloaded", message: "Too much." };
  };
  await page.key(page.one(".composer textarea"), "Enter");
  expect((page.one(".composer textarea") as HTMLTextAreaElement).value).toBe("how many?");
  page.answers["bb.tab.prompt"] = takes as never;
  await page.key(page.one(".composer textarea"), "Enter");
  expect(page.asked("bb.session.branch").length).toBe(1);
  expect(page.asked("bb.tab.prompt").map(({ tabId }) => page.tabs.get(tabId))).toEqual(["s2", "s2"]);
});

it("a session of another engine goes on with the one in use by one button", async () => {
  const page = await openPage({
    status: CAN,
    sessions: [{ sessionId: "s1", title: "First", status: "idle", engine: "embedded" }],
    engine: { kind: "breadboard" },
    answers: { "bb.session.branch": () => ({ sessionId: "s2", knows: "record", text: "It goes on." }) },
  });
  await page.click(".no-prompts button", "Continue with BreadBoard");
  expect(page.asked("bb.session.branch")).toEqual([{ sessionId: "s1", engine: "current" }]);
  expect(page.tabs.get(uuid(2))).toBe("s2");
});

it("another agent is picked in the editor, and nobody is where nothing was picked", async () => {
  const page = await openPage({
    status: CAN,
    answers: { "bb.session.branch": () => ({ sessionId: "s2", knows: "record", text: "It goes on." }) },
  });
  const list = () => page.click(".strip button", /^All sessions/);
  page.answers["editor.pickAgent"] = () => null;
  await list();
  await page.click(".sessions button", /^Continue First/);
  expect(page.asked("bb.session.branch")).toEqual([]);
  page.answers["editor.pickAgent"] = () => ({ agent: "claude" });
  await page.click(".sessions button", /^Continue First/);
  expect(page.asked("editor.pickAgent")).toEqual([{ title: "First" }, { title: "First" }]);
  expect(page.asked("bb.session.branch")).toEqual([{ sessionId: "s1", agent: "claude" }]);
});

it("a session is pinned, and pinned no more", async () => {
  const page = await openPage({ status: CAN });
  page.answers["bb.session.pin"] = (params) => params;
  await page.click(".strip button", /^All sessions/);
  await page.click(".sessions button", /^Pin First/);
  await page.tell("bb/state", { sessions: [{ sessionId: "s1", title: "First", status: "idle", pinned: true }] });
  await page.click(".sessions button", /^Unpin First/);
  expect(page.asked("bb.session.pin")).toEqual([
    { sessionId: "s1", pinned: true },
    { sessionId: "s1", pinned: false },
  ]);
});
