import { describe, expect, test } from "vitest";
import { answerText, BreadboardClient, newUuid, Tabs, type Tab, type TabChange } from "../src/core/index.js";
import { FakeConnection, settled } from "./fake_connection.js";

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function webview() {
  const connection = new FakeConnection()
    .script("bb/tab/open", ({ tabId }: { tabId: string }) => ({ tabId, epoch: "e", index: 0 }))
    .script("bb/tab/prompt", (params: { tabId: string; messageId: string }) => ({ ...params, disposition: "started" }))
    .script("bb/tab/ack", () => ({}))
    .script("bb/tab/stop", ({ tabId }: { tabId: string }) => ({ tabId }))
    .script("bb/tab/close", ({ tabId }: { tabId: string }) => ({ tabId }))
    .script("bb/tab/visibility", ({ tabId }: { tabId: string }) => ({ tabId, index: 2 }))
    .script("bb/tab/detach", () => ({}));
  const violations: string[] = [];
  const onViolation = ({ message }: { message: string }) => violations.push(message);
  const tabs = new Tabs(new BreadboardClient(connection, { onViolation }), { onViolation });
  const said = (tab: Tab | string, index: number, more: object, epoch = "e") =>
    connection.say("bb/tab", { tabId: typeof tab === "string" ? tab : tab.tabId, index, epoch, ...more });
  const chunk = (tab: Tab, index: number, messageId: string, text: string) =>
    said(tab, index, { kind: "response-chunk", messageId, text });
  const answer = (tab: Tab, messageId: string) => {
    const prompt = tab.model.prompts.get(messageId);
    return prompt && answerText(prompt);
  };
  return { connection, tabs, violations, said, chunk, answer };
}

const empty = { blocks: [], hasMore: false };
const view = { epoch: "e", seq: 9, lanes: { chat: empty, tasks: empty, run: empty, debug: empty } };
const turns = [
  { id: "u1", seq: 1, turn: 1, kind: "user", text: "one" },
  { id: "a1", seq: 2, turn: 1, kind: "assistant", text: "all", streaming: false },
  { id: "u2", seq: 3, turn: 2, kind: "user", text: "two" },
  { id: "r2", seq: 4, turn: 2, kind: "reasoning", text: "hm", streaming: false },
  { id: "a2", seq: 5, turn: 2, kind: "assistant", text: "so far", streaming: true },
];
const permission = {
  requestId: "r1",
  digest: "sha256:d",
  title: "Run ls",
  subject: { kind: "command", command: "ls", cwd: "." },
  options: [{ optionId: "o", label: "Allow once", kind: "allow_once" }],
};

test("R001-36, R001-42: ids are UUIDs of version 4", () => {
  const ids = Array.from({ length: 200 }, () => newUuid());
  expect(ids.filter((id) => !UUID_V4.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(200);
});

test("R001-13, R001-18, R001-35: the webview makes the tab's id, and needs no round trip for it", () => {
  const { connection, tabs } = webview();
  const tab = tabs.open({ agent: "helper" });
  expect(tab.tabId).toMatch(UUID_V4);
  expect(connection.sent.map(({ method, params }) => [method, params])).toEqual([
    ["bb/tab/open", { tabId: tab.tabId, agent: "helper" }],
  ]);
  expect([tab.model.state, tabs.all, tabs.get(tab.tabId) === tab]).toEqual(["opening", [tab], true]);
});

test("R001-03, R001-42: the webview makes the message's id when it sends the prompt", async () => {
  const { connection, tabs } = webview();
  const tab = tabs.open();
  const { messageId, accepted } = tab.prompt("hello", ["att"]);
  expect(messageId).toMatch(UUID_V4);
  expect(connection.of("bb/tab/prompt")[0]?.params).toEqual({
    tabId: tab.tabId,
    messageId,
    text: "hello",
    attachmentIds: ["att"],
  });
  expect(tab.model.prompts.get(messageId)).toEqual({ messageId, prompt: "hello", parts: [], status: "sent" });
  expect(await accepted).toBe("started");
  expect(tab.prompt("again").messageId).not.toBe(messageId);
});

test("R001-05, R001-25, R001-43: each chunk goes to its prompt by message id, in order", () => {
  const { tabs, chunk, answer } = webview();
  const tab = tabs.open();
  const [first, second] = [tab.prompt("one").messageId, tab.prompt("two").messageId];
  chunk(tab, 1, first, "He");
  chunk(tab, 2, second, "Wor");
  chunk(tab, 3, first, "llo");
  chunk(tab, 4, second, "ld");
  expect([answer(tab, first), answer(tab, second)]).toEqual(["Hello", "World"]);
});

test("R001-06: a prompt in one tab while another streams does not mix", () => {
  const { tabs, chunk, answer } = webview();
  const [a, b] = [tabs.open(), tabs.open()];
  const [inA, inB] = [a.prompt("one").messageId, b.prompt("two").messageId];
  chunk(a, 1, inA, "A");
  chunk(b, 1, inB, "B");
  chunk(a, 2, inA, "a");
  expect([answer(a, inA), answer(b, inB), [...a.model.prompts.keys()], [...b.model.prompts.keys()]]).toEqual([
    "Aa",
    "B",
    [inA],
    [inB],
  ]);
});

test("R001-10, R001-11: what has an index that was seen is ignored, per tab", () => {
  const { tabs, chunk, answer } = webview();
  const [a, b] = [tabs.open(), tabs.open()];
  const [inA, inB] = [a.prompt("one").messageId, b.prompt("two").messageId];
  chunk(a, 5, inA, "x");
  chunk(a, 5, inA, "x");
  chunk(a, 4, inA, "x");
  chunk(b, 4, inB, "y");
  expect([answer(a, inA), answer(b, inB), a.model.lastSeenIndex, b.model.lastSeenIndex]).toEqual(["x", "y", 5, 4]);
});

test("R001-10: an index of another epoch is no seen one", () => {
  const { tabs, said, answer } = webview();
  const tab = tabs.open();
  const { messageId } = tab.prompt("one");
  said(tab, 40, { kind: "response-chunk", messageId, text: "before" });
  said(tab, 1, { kind: "response-chunk", messageId, text: ", after" }, "e2");
  expect([answer(tab, messageId), tab.model.epoch, tab.model.lastSeenIndex]).toEqual(["before, after", "e2", 1]);
});

test("R001-12: indices may leave numbers out; they route nothing and lose nothing", () => {
  const { tabs, chunk, answer } = webview();
  const tab = tabs.open();
  const { messageId } = tab.prompt("one");
  chunk(tab, 1, messageId, "a");
  chunk(tab, 17, messageId, "b");
  expect(answer(tab, messageId)).toBe("ab");
});

test("R001-27, R001-44: the end of a response ends the stream, and its id leads nowhere from then on", () => {
  const { tabs, said, chunk, answer, violations } = webview();
  const tab = tabs.open();
  const { messageId } = tab.prompt("one");
  chunk(tab, 1, messageId, "done");
  said(tab, 2, { kind: "response-complete", messageId, stopReason: "end_turn" });
  expect(tab.model.prompts.get(messageId)).toMatchObject({ status: "complete", stopReason: "end_turn" });
  chunk(tab, 3, messageId, " and more");
  said(tab, 4, { kind: "response-complete", messageId, stopReason: "again" });
  expect([answer(tab, messageId), tab.model.prompts.get(messageId)?.stopReason]).toEqual(["done", "end_turn"]);
  expect(violations).toEqual([
    `A response-chunk for prompt ${messageId} was ignored: it is not under way.`,
    `A response-complete for prompt ${messageId} was ignored: it is not under way.`,
  ]);
});

test("R001-28, R001-64: the first chunk is shown before the response is complete, and nothing waits for an answer", () => {
  const { connection, tabs, chunk, answer } = webview();
  const tab = tabs.open();
  const changes: TabChange[] = [];
  tab.onDidChange((change) => changes.push(change));
  const { messageId } = tab.prompt("one");
  chunk(tab, 1, messageId, "first");
  expect([answer(tab, messageId), tab.model.prompts.get(messageId)?.status]).toEqual(["first", "streaming"]);
  expect(changes).toEqual([{ kind: "message", messageId }, { kind: "state" }, { kind: "message", messageId }]);
  expect(connection.sent.map(({ method }) => method)).toEqual(["bb/tab/open", "bb/tab/prompt"]);
});

test("R001-45, R001-65: a webview sends and needs no session id", async () => {
  const { connection, tabs, said } = webview();
  connection.script("bb/approvePermission", () => ({ requestId: "r1", outcome: "recorded" }));
  const tab = tabs.open();
  said(tab, 1, { kind: "session-created" });
  said(tab, 2, { kind: "permission", permission, status: "pending" });
  expect([tab.model.state, tab.model.permissions.get("r1")]).toEqual(["open", { permission, status: "pending" }]);
  tab.prompt("one");
  await tab.approve("r1", "allow_once", "o");
  await tab.stop();
  await tab.setVisible(false);
  await tabs.detach();
  await tab.close();
  expect(connection.of("bb/approvePermission")[0]?.params).toEqual({
    tabId: tab.tabId,
    requestId: "r1",
    decision: "allow_once",
    optionId: "o",
    digest: "sha256:d",
  });
  expect(connection.of("bb/tab/detach")[0]?.params).toEqual({ tabIds: [tab.tabId] });
  expect(JSON.stringify(connection.sent.map(({ params }) => params))).not.toContain("sessionId");
});

test("R001-38, R001-67: the webview alone closes its tab, and hears nothing for it from then on", async () => {
  const { connection, tabs, chunk } = webview();
  const tab = tabs.open();
  const { messageId } = tab.prompt("one");
  const closing = tab.close();
  chunk(tab, 1, messageId, "late");
  await closing;
  expect([tab.model.state, tabs.all, tab.model.prompts.get(messageId)?.parts]).toEqual(["closed", [], []]);
  expect(connection.of("bb/tab/close").map(({ params }) => params)).toEqual([{ tabId: tab.tabId }]);
});

test("R001-56, R001-57, R001-58: the end of the agent is shown in each tab, and the user can start it again", async () => {
  const { connection, tabs, said, chunk } = webview();
  connection.script("bb/agent/restart", () => ({ generation: 2 }));
  const [a, b] = [tabs.open(), tabs.open()];
  const { messageId } = a.prompt("one");
  chunk(a, 1, messageId, "half");
  said(a, 2, { kind: "agent-exited", generation: 1, code: 3 });
  said(b, 1, { kind: "agent-exited", generation: 1 });
  const error = { code: "agent_exited", message: "The agent ended with code 3; restart it to go on." };
  expect([a.model.state, a.model.error, b.model.state]).toEqual(["exited", error, "exited"]);
  said(a, 3, { kind: "response-complete", messageId, stopReason: "agent_exited" });
  expect(a.model.prompts.get(messageId)).toMatchObject({
    status: "complete",
    stopReason: "agent_exited",
    parts: [{ text: "half" }],
  });
  await tabs.restartAgent("helper");
  said(a, 4, { kind: "session-created" });
  expect([connection.of("bb/agent/restart")[0]?.params, a.model.state, a.model.error]).toEqual([
    { agent: "helper" },
    "open",
    undefined,
  ]);
});

describe("R001-60, R001-63: a new webview", () => {
  test("goes on where the old one was, with what it kept", async () => {
    const before = webview();
    const tab = before.tabs.open({ agent: "helper" });
    const { messageId } = tab.prompt("one");
    before.chunk(tab, 7, messageId, "He");
    const kept = JSON.parse(JSON.stringify(before.tabs.save())) as ReturnType<Tabs["save"]>;
    const after = webview();
    after.connection.script("bb/tab/attach", () => ({ tabs: [{ tabId: tab.tabId, index: 8, mode: "replayed" }] }));
    const restored = await after.tabs.restore(kept);
    expect(after.connection.of("bb/tab/attach")[0]?.params).toEqual({
      tabs: [{ tabId: tab.tabId, epoch: "e", lastSeenIndex: 7 }],
    });
    const [again] = restored;
    if (!again) throw new Error("no tab");
    after.chunk(again, 7, messageId, "He");
    after.chunk(again, 8, messageId, "llo");
    expect([again.model.state, again.model.agent, again.model.prompts.get(messageId)]).toEqual([
      "open",
      "helper",
      { messageId, prompt: "one", parts: [{ text: "Hello" }], status: "streaming" },
    ]);
  });

  test("without what was shown begins with a snapshot", async () => {
    const { connection, tabs, said, answer } = webview();
    connection.script("bb/tab/attach", () => ({
      tabs: [
        { tabId: "t", index: 9, mode: "snapshot" },
        { tabId: "gone", index: 0, mode: "unknown" },
      ],
    }));
    const [tab, gone] = await tabs.restore([{ tabId: "t", epoch: "e", lastSeenIndex: 7 }, { tabId: "gone" }]);
    if (!tab || !gone) throw new Error("no tabs");
    expect(connection.of("bb/tab/attach")[0]?.params).toEqual({ tabs: [{ tabId: "t" }, { tabId: "gone" }] });
    const shown = { ...view, lanes: { ...view.lanes, chat: { blocks: turns, hasMore: true } } };
    const messages = [
      { messageId: "m0", turn: 1, status: "complete", stopReason: "end_turn" },
      { messageId: "m1", turn: 2, status: "running" },
      { messageId: "m2", status: "waiting" },
    ];
    said(tab, 9, {
      kind: "snapshot",
      view: shown,
      messages,
      queue: [{ messageId: "m2", text: "three" }],
      paused: true,
      permissions: [permission],
    });
    expect([...tab.model.prompts.values()]).toEqual([
      {
        messageId: "m0",
        prompt: "one",
        parts: [{ text: "all", blockId: "a1" }],
        status: "complete",
        stopReason: "end_turn",
      },
      {
        messageId: "m1",
        prompt: "two",
        parts: [{ block: turns[3] }, { text: "so far", blockId: "a2" }],
        status: "streaming",
      },
      { messageId: "m2", parts: [], status: "sent" },
    ]);
    expect([tab.model.view, tab.model.queue, tab.model.paused, tab.model.permissions.get("r1")]).toEqual([
      shown,
      [{ messageId: "m2", text: "three" }],
      true,
      { permission, status: "pending" },
    ]);
    said(tab, 10, { kind: "response-chunk", messageId: "m1", text: ", more", blockId: "a2" });
    expect(answer(tab, "m1")).toBe("so far, more");
    expect([gone.model.state, gone.model.error?.code]).toEqual(["failed", "unknown_tab"]);
  });
});

test("R001-05: each prompt of a snapshot has its own answer, though the engine counts each run from 1", () => {
  const { tabs, said, answer } = webview();
  const tab = tabs.open();
  const assistant = (id: string, seq: number, turn: number, text: string) => ({
    id,
    seq,
    turn,
    kind: "assistant",
    text,
    streaming: false,
  });
  const blocks = [
    { id: "u1", seq: 1, turn: 1, kind: "user", text: "question 0", messageId: "m1" },
    assistant("a1", 2, 1, "zero"),
    { id: "u2", seq: 3, turn: 2, kind: "user", text: "question 1", messageId: "m2" },
    assistant("a2", 4, 1, "one"),
    { id: "x", seq: 5, turn: 1, kind: "user", text: "of another client" },
    assistant("ax", 6, 1, "for another client"),
    { id: "u3", seq: 7, turn: 3, kind: "user", text: "question 2", messageId: "m3" },
    assistant("a3", 8, 8, "two"),
    assistant("a4", 9, 9, ", and more"),
  ];
  const complete = (messageId: string, turn: number, blockIds: string[]) => ({
    messageId,
    turn,
    blockIds,
    status: "complete",
    stopReason: "end_turn",
  });
  said(tab, 1, {
    kind: "snapshot",
    view: { ...view, lanes: { ...view.lanes, chat: { blocks, hasMore: false } } },
    messages: [complete("m1", 1, ["u1", "a1"]), complete("m2", 2, ["u2", "a2"]), complete("m3", 3, ["u3", "a3", "a4"])],
  });
  expect(["m1", "m2", "m3"].map((id) => [tab.model.prompts.get(id)?.prompt, answer(tab, id)])).toEqual([
    ["question 0", "zero"],
    ["question 1", "one"],
    ["question 2", "two, and more"],
  ]);
});

test("R001-29: a snapshot replaces what there was, and keeps a prompt that crossed it", () => {
  const { tabs, said, chunk } = webview();
  const tab = tabs.open();
  const [old, crossing] = [tab.prompt("old").messageId, tab.prompt("crossing").messageId];
  chunk(tab, 1, old, "half");
  const shown = { ...view, lanes: { ...view.lanes, chat: { blocks: [turns[1]], hasMore: false } } };
  said(tab, 50, {
    kind: "snapshot",
    view: shown,
    messages: [{ messageId: old, turn: 1, status: "complete", stopReason: "end_turn" }],
  });
  expect([...tab.model.prompts.values()]).toEqual([
    {
      messageId: old,
      prompt: "old",
      parts: [{ text: "all", blockId: "a1" }],
      status: "complete",
      stopReason: "end_turn",
    },
    { messageId: crossing, prompt: "crossing", parts: [], status: "sent" },
  ]);
});

describe("acknowledging", () => {
  test("comes with the end of a response, after so many messages, and never for what was seen", () => {
    const { connection, tabs, said, chunk } = webview();
    const tab = tabs.open();
    const { messageId } = tab.prompt("one");
    for (let index = 1; index <= 63; index += 1) chunk(tab, index, messageId, ".");
    for (let index = 1; index <= 63; index += 1) chunk(tab, index, messageId, ".");
    const acks = () => connection.of("bb/tab/ack").map(({ params }) => params);
    expect(acks()).toEqual([]);
    chunk(tab, 64, messageId, ".");
    said(tab, 65, { kind: "response-complete", messageId, stopReason: "end_turn" });
    expect(acks()).toEqual([
      { tabId: tab.tabId, index: 64 },
      { tabId: tab.tabId, index: 65 },
    ]);
  });

  test("comes after much text", () => {
    const { connection, tabs, chunk } = webview();
    const tab = tabs.open();
    const { messageId } = tab.prompt("one");
    for (let index = 1; index <= 4; index += 1) chunk(tab, index, messageId, "x".repeat(64 * 1024));
    expect(connection.of("bb/tab/ack").map(({ params }) => params)).toEqual([{ tabId: tab.tabId, index: 4 }]);
  });
});

test("a refused prompt and a refused tab say why", async () => {
  const connection = new FakeConnection();
  const tabs = new Tabs(new BreadboardClient(connection));
  const tab = tabs.open();
  const { messageId, accepted } = tab.prompt("one");
  connection
    .of("bb/tab/open")[0]
    ?.refuse({ code: -32803, message: "Trust first.", data: { code: "untrusted_workspace" } });
  connection.of("bb/tab/prompt")[0]?.refuse({ code: -32803, message: "No such tab.", data: { code: "unknown_tab" } });
  await expect(accepted).rejects.toMatchObject({ code: "unknown_tab" });
  await settled();
  expect([tab.model.state, tab.model.error]).toEqual([
    "failed",
    { code: "untrusted_workspace", message: "Trust first." },
  ]);
  expect(tab.model.prompts.get(messageId)).toMatchObject({
    status: "failed",
    error: { code: "unknown_tab", message: "No such tab." },
  });
});

describe("an answer", () => {
  const tool = (status: string) => ({ id: "t", seq: 2, kind: "tool", name: "read", status });

  test("has blocks where they came between the text, and a tool is updated in place", () => {
    const { tabs, said, chunk, answer } = webview();
    const tab = tabs.open();
    const { messageId } = tab.prompt("one");
    chunk(tab, 1, messageId, "a");
    said(tab, 2, { kind: "tool", messageId, block: tool("running") });
    chunk(tab, 3, messageId, "b");
    said(tab, 4, { kind: "tool", messageId, block: tool("ok") });
    const link = { id: "l", seq: 3, kind: "link", uri: "u", label: "l" };
    said(tab, 5, { kind: "response-chunk", messageId, blocks: [link] });
    expect(tab.model.prompts.get(messageId)?.parts).toEqual([
      { text: "a" },
      { block: tool("ok") },
      { text: "b" },
      { block: link },
    ]);
    expect(answer(tab, messageId)).toBe("ab");
  });

  test("tells several texts apart by their blocks, lengthens them, and takes one that turned out otherwise", () => {
    const { tabs, said, answer } = webview();
    const tab = tabs.open();
    const { messageId } = tab.prompt("one");
    const piece = (index: number, more: object) => said(tab, index, { kind: "response-chunk", messageId, ...more });
    const reasoning = (text: string) => ({ id: "r", seq: 1, kind: "reasoning", text, streaming: true });
    piece(1, { text: "fir", blockId: "a1" });
    piece(2, { blocks: [reasoning("h")] });
    piece(3, { text: "second", blockId: "a2" });
    piece(4, { text: "st", blockId: "a1" });
    piece(5, { blocks: [reasoning("m")], append: true });
    piece(6, { blocks: [{ id: "a2", seq: 3, kind: "assistant", text: "2nd", streaming: false }] });
    expect(tab.model.prompts.get(messageId)?.parts).toEqual([
      { text: "first", blockId: "a1" },
      { block: reasoning("hm") },
      { text: "2nd", blockId: "a2" },
    ]);
    expect(answer(tab, messageId)).toBe("first2nd");
  });

  test("does not begin with the echo of its prompt", () => {
    const { tabs, said } = webview();
    const tab = tabs.open();
    said(tab, 1, { kind: "response-chunk", messageId: "of another webview", blocks: [turns[0]] });
    expect([...tab.model.prompts.values()]).toEqual([
      { messageId: "of another webview", prompt: "one", parts: [], status: "sent" },
    ]);
  });
});

test("a tab without a session tries again with the same wish, and older blocks are read by its id", async () => {
  const { connection, tabs, said } = webview();
  const tab = tabs.open({ agent: "helper", sessionId: "s" });
  said(tab, 1, { kind: "error", code: "engine_unreachable", message: "No engine." });
  expect([tab.model.state, tab.model.error?.code]).toEqual(["failed", "engine_unreachable"]);
  await tab.retry();
  expect(connection.of("bb/tab/open").map(({ params }) => params)).toEqual(
    Array(2).fill({ tabId: tab.tabId, agent: "helper", sessionId: "s" }),
  );
  said(tab, 2, { kind: "session-created" });
  connection.script("bb/view/page", () => ({ blocks: [turns[0]], hasMore: false }));
  expect([tab.model.state, await tab.older("chat", "a1", 5)]).toEqual(["open", { blocks: [turns[0]], hasMore: false }]);
  expect(connection.of("bb/view/page")[0]?.params).toEqual({ tabId: tab.tabId, lane: "chat", before: "a1", limit: 5 });
});

test("the queue is what the server last said, and errors belong to a prompt or to the tab", () => {
  const { tabs, said } = webview();
  const tab = tabs.open();
  const { messageId } = tab.prompt("one");
  said(tab, 1, { kind: "session-created" });
  said(tab, 2, { kind: "queue", items: [{ messageId, text: "one" }], paused: false });
  said(tab, 3, { kind: "error", messageId, code: "engine_rejected", message: "No." });
  said(tab, 4, { kind: "error", code: "overloaded", message: "Wait." });
  expect([tab.model.queue, tab.model.prompts.get(messageId)?.error, tab.model.state, tab.model.error]).toEqual([
    [{ messageId, text: "one" }],
    { code: "engine_rejected", message: "No." },
    "open",
    { code: "overloaded", message: "Wait." },
  ]);
});

test("R000-14: what is no bb/tab, or is for no prompt, is a violation and shows nothing", () => {
  const { tabs, said, violations } = webview();
  const tab = tabs.open();
  said(tab, 1.5, { kind: "session-created" });
  said(tab, 1, { kind: "response-complete", messageId: "m" });
  said(tab, 1, { kind: "tool", block: { id: 1 } });
  said(tab, 1, { kind: "response-chunk", text: "to nobody" });
  said("no such tab", 1, { kind: "session-created" });
  expect([violations.length, tab.model.state, [...tab.model.prompts]]).toEqual([4, "opening", []]);
});
