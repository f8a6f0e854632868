import { describe, expect, it } from "vitest";
import { BATCH_MS, FLOOD, FLOOD_MS, Gate, MOST_PENDING, MOST_WAITING, SERVER_BATCH_MS } from "../../src/host/gate";
import type { Told } from "../../src/host/batch";

type Message = Record<string, any>;

/** A gate between a page and a server that answer what the story says. */
function gate(answer: (request: Message) => unknown = () => undefined) {
  const posted: Message[] = [];
  const asked: Message[] = [];
  const violations: string[] = [];
  const done: unknown[] = [];
  let then: (() => void) | undefined;
  let waits: number | undefined;
  const subject = new Gate({
    post: (message) => posted.push(message as Message),
    rpc: async (request) => {
      asked.push(request as Message);
      return answer(request as Message) ?? { v: 1, kind: "res", id: (request as Message)["id"], ok: true, result: {} };
    },
    editor: async (method, params) => {
      done.push([method, params]);
      if (method === "editor.openFile")
        throw Object.assign(new Error("Not in this workspace."), { code: "path_outside_workspace" });
      return undefined;
    },
    announced: (method) => method !== "bb/rebuild",
    violation: (sentence) => violations.push(sentence),
    later: (ms, run) => {
      waits = ms;
      then = () => {
        waits = undefined;
        then = undefined;
        run();
      };
      return () => (waits = then = undefined);
    },
  });
  subject.setOpen(true);
  return { subject, posted, asked, violations, done, waits: () => waits, tick: () => then?.() };
}

const req = (method: string, params?: unknown, id = "1"): Message => ({
  v: 1,
  kind: "req",
  id,
  method,
  ...(params === undefined ? {} : { params }),
});
const append = (seq: number): Told => ({
  topic: "bb/view",
  payload: {
    sessionId: "s",
    epoch: "e",
    fromSeq: seq,
    toSeq: seq,
    changes: [{ lane: "chat", op: "append", id: "a", text: "x" }],
  },
});
const HELLO = {
  v: 1,
  server: { name: "breadboard-ls", version: "0" },
  epoch: "e",
  engine: { kind: "embedded", status: "connected", capabilities: [] },
  sessions: [],
  workspaceTrusted: true,
};

describe("what comes from the page", () => {
  it("R000-08 R000-14 R000-15 R000-19: what is no envelope reaches nobody and is logged as a violation", async () => {
    const { subject, posted, asked, violations, done } = gate();
    const bad = [
      null,
      1,
      "x",
      {},
      { kind: "req" },
      { ...req("bb.init"), v: 2 },
      { ...req("bb.init"), id: 7 },
      { v: 1, kind: "req", id: "1" },
      { v: 1, kind: "evt", topic: "bb/state", payload: {} },
      { v: 1, kind: "res", id: "nothing", ok: true },
    ];
    for (const message of bad) await subject.receive(message);
    expect([posted, asked, done, violations.length]).toEqual([[], [], [], bad.length]);
  });

  it("R000-59 R000-35: params that do not fit are refused before the server sees them", async () => {
    const { subject, posted, asked, violations } = gate();
    await subject.receive(req("bb.sendMessage", { sessionId: "s" }));
    await subject.receive(req("bb.approvePermission", { sessionId: "s", requestId: "p", decision: "maybe" }, "2"));
    await subject.receive(req("editor.openFile", { path: 7 }, "3"));
    expect(asked).toEqual([]);
    expect(posted.map(({ id, ok, error }) => [id, ok, error.code])).toEqual([
      ["1", false, "invalid_params"],
      ["2", false, "invalid_params"],
      ["3", false, "invalid_params"],
    ]);
    expect(violations).toHaveLength(3);
  });

  it("the whole of an ask may be asked for, and an answer may carry what was filled in", async () => {
    const subject = { kind: "question", text: "Who?" };
    const results: Message = {
      "bb.permission.get": {
        permission: { requestId: "p", digest: "d", title: "Who?", subject, options: [] },
        status: "pending",
      },
      "bb.approvePermission": { requestId: "p", outcome: "recorded" },
    };
    const requests = [
      req("bb.permission.get", { sessionId: "s", requestId: "p" }),
      req("bb.approvePermission", { sessionId: "s", requestId: "p", decision: "allow_once", content: { name: "A" } }),
    ];
    const there = gate(({ id, method }) => ({ v: 1, kind: "res", id, ok: true, result: results[method] }));
    for (const request of requests) await there.subject.receive(request);
    expect([there.asked, there.posted.map(({ result }) => result), there.violations]).toEqual([
      requests,
      Object.values(results),
      [],
    ]);
  });

  it("R000-61 R000-75: an unknown method does nothing and is answered with unknown_method", async () => {
    const { subject, posted, asked, done, violations } = gate();
    for (const method of ["bb.nothing", "bb/init", "editor.evil", "constructor", "toString", "init"])
      await subject.receive(req(method, {}, method));
    expect([asked, done]).toEqual([[], []]);
    expect(posted.map(({ id, error }) => [id, error.code])).toEqual(
      ["bb.nothing", "bb/init", "editor.evil", "constructor", "toString", "init"].map((id) => [id, "unknown_method"]),
    );
    expect(violations).toHaveLength(6);
  });

  it("R000-07 R000-62: a page can neither set a token nor wrap an envelope in another", async () => {
    const { subject, posted, asked } = gate();
    await subject.receive(req("bb.setCredentials", { scope: "engine", token: "t" }));
    await subject.receive(req("bb.rpc", req("bb.setCredentials", { scope: "engine", token: "t" }), "2"));
    expect(asked).toEqual([]);
    expect(posted.map(({ error }) => error.code)).toEqual(["unknown_method", "unknown_method"]);
  });

  it("the page cannot have a file read for a spec, which nobody picked", async () => {
    const { subject, posted, asked, violations } = gate();
    await subject.receive(req("bb.createSpec.importMarkdown", { uri: "file:///etc/x.md" }));
    expect([asked, posted.map(({ error }) => error.code), violations.length]).toEqual([[], ["unknown_method"], 1]);
  });

  it("a method that this server does not offer is said to be so", async () => {
    const { subject, posted, asked } = gate();
    await subject.receive(req("bb.rebuild", { sessionId: "s" }));
    expect([asked, posted[0]?.["error"].code]).toEqual([[], "unsupported"]);
  });

  it("R000-16 R000-18: each request gets its own answer, in whatever order they come", async () => {
    const waiting = new Map<string, (value: unknown) => void>();
    const { subject, posted } = gate((request) => new Promise((resolve) => waiting.set(request["id"], resolve)));
    const both = [
      subject.receive(req("bb.stop", { sessionId: "s" }, "a")),
      subject.receive(req("bb.stop", { sessionId: "t" }, "b")),
    ];
    const answer = (id: string, sessionId: string) =>
      waiting.get(id)?.({ v: 1, kind: "res", id, ok: true, result: { sessionId, stopping: true } });
    await new Promise((resolve) => setImmediate(resolve));
    answer("b", "t");
    answer("a", "s");
    await Promise.all(both);
    expect(posted.map(({ id, result }) => [id, result.sessionId])).toEqual([
      ["b", "t"],
      ["a", "s"],
    ]);
  });
});

describe("the methods of tabs and agents", () => {
  const TAB = "00000000-0000-4000-8000-000000000001";
  const METHODS: [string, { good: object; bad: object; result: object; wrong: object }][] = [
    [
      "bb.tab.open",
      {
        good: { tabId: TAB, sessionId: "s", agent: null },
        bad: { sessionId: "s" },
        result: { tabId: TAB, epoch: "e", index: 0 },
        wrong: { tabId: TAB, index: "0" },
      },
    ],
    [
      "bb.tab.attach",
      {
        good: { tabs: [{ tabId: TAB }] },
        bad: { tabs: [TAB] },
        result: { tabs: [{ tabId: TAB, index: 0, mode: "unknown" }] },
        wrong: { tabs: [{ tabId: TAB, index: 0, mode: 1 }] },
      },
    ],
    [
      "bb.tab.visibility",
      {
        good: { tabId: TAB, visible: false },
        bad: { tabId: TAB, visible: "no" },
        result: { tabId: TAB, index: 4 },
        wrong: { tabId: TAB },
      },
    ],
    [
      "bb.tab.prompt",
      {
        good: { tabId: TAB, messageId: TAB, text: "x", attachmentIds: ["a"] },
        bad: { tabId: TAB, text: "x" },
        result: { tabId: TAB, messageId: TAB, disposition: "queued" },
        wrong: { tabId: TAB, messageId: TAB, disposition: 1 },
      },
    ],
    ["bb.tab.stop", { good: { tabId: TAB }, bad: { tabId: 1 }, result: { tabId: TAB }, wrong: {} }],
    ["bb.tab.close", { good: { tabId: TAB }, bad: {}, result: { tabId: TAB }, wrong: { tabId: null } }],
    ["bb.tab.detach", { good: { tabIds: [TAB] }, bad: { tabIds: TAB }, result: {}, wrong: [] }],
    [
      "bb.agent.restart",
      { good: { agent: "a" }, bad: { agent: ["a"] }, result: { generation: 2 }, wrong: { generation: "2" } },
    ],
    [
      "bb.session.info",
      {
        good: { sessionId: "s" },
        bad: {},
        result: { agent: { name: "a", generation: 1, status: "running" } },
        wrong: { agent: { name: "a", generation: 1, status: 1 } },
      },
    ],
    [
      "bb.createSession",
      { good: { agent: "a" }, bad: { agent: 1 }, result: { sessionId: "s" }, wrong: { sessionId: 1 } },
    ],
  ];

  it.each(METHODS)("R000-59 R000-60: %s is checked both ways", async (method, { good, bad, result, wrong }) => {
    const results = [result, wrong];
    const { subject, posted, asked, violations } = gate(({ id }) => ({
      v: 1,
      kind: "res",
      id,
      ok: true,
      result: results.shift(),
    }));
    await subject.receive(req(method, bad, "bad"));
    expect([asked, violations.length]).toEqual([[], 1]);
    await subject.receive(req(method, good, "good"));
    await subject.receive(req(method, good, "wrong"));
    expect(asked.map(({ id, params }) => [id, params])).toEqual([
      ["good", good],
      ["wrong", good],
    ]);
    expect(posted.map(({ id, ok, error }) => [id, ok, error?.code])).toEqual([
      ["bad", false, "invalid_params"],
      ["good", true, undefined],
      ["wrong", false, "internal"],
    ]);
    expect(violations).toHaveLength(2);
  });

  it("R001-59: which tabs a page has is known when it goes, also of requests that were not answered", async () => {
    const { subject } = gate(() => new Promise(() => undefined));
    const other = TAB.replace("1", "2");
    const third = TAB.replace("1", "3");
    void subject.receive(req("bb.tab.open", { tabId: TAB, sessionId: "s" }, "1"));
    void subject.receive(req("bb.tab.attach", { tabs: [{ tabId: other }, { tabId: third }] }, "2"));
    void subject.receive(req("bb.tab.close", { tabId: other }, "3"));
    void subject.receive(req("bb.tab.open", { sessionId: "no tab" }, "4"));
    expect([subject.takeTabs(), subject.takeTabs()]).toEqual([[TAB, third], []]);
  });
});

it("a script that runs away is told to wait, and takes nothing from the server", async () => {
  const { subject, posted, asked } = gate(() => new Promise(() => undefined));
  for (let at = 0; at <= MOST_PENDING; at += 1) void subject.receive(req("bb.stop", { sessionId: "s" }, `r${at}`));
  await new Promise((resolve) => setImmediate(resolve));
  expect([asked.length, posted.map(({ id, error }) => [id, error.code])]).toEqual([
    MOST_PENDING,
    [[`r${MOST_PENDING}`, "overloaded"]],
  ]);
});

describe("what comes from the server", () => {
  it("R000-60 R000-17: an answer that does not fit is not posted; the page is told internal", async () => {
    const bad = [
      { v: 1, kind: "res", id: "1", ok: true, result: { sessionId: 3 } },
      { v: 1, kind: "res", id: "other", ok: true, result: {} },
      { v: 1, kind: "res", id: "1", ok: false },
      "text",
    ];
    for (const response of bad) {
      const { subject, posted, violations } = gate(() => response);
      await subject.receive(req("bb.stop", { sessionId: "s" }));
      expect(posted).toEqual([
        { v: 1, kind: "res", id: "1", ok: false, error: { code: "internal", message: expect.any(String), details: { by: "editor" } } },
      ]);
      expect(violations).toHaveLength(1);
    }
  });

  it("R000-60 R000-13: news that do not fit, or are of no known topic, are not posted", () => {
    const { subject, posted, violations, tick } = gate();
    subject.tell({ topic: "bb/state", payload: { sessions: "none" } } as never);
    subject.tell({ topic: "bb/secret", payload: {} } as never);
    tick();
    expect([posted, violations.length]).toEqual([[], 2]);
  });

  const told = ({ topic, payload }: Message) => [
    topic,
    payload.fromSeq,
    payload.toSeq,
    payload.changes.map(({ text }: Message) => text),
  ];

  it("R000-66 R000-67 R003-52: a flood is few messages, and none waits for a timer that never comes", async () => {
    const { subject, posted, asked, tick } = gate(() => ({ v: 1, kind: "res", id: "1", ok: true, result: HELLO }));
    await subject.receive(req("bb.init", { subscribe: { view: true } }));
    tick();
    expect(asked[0]?.["params"]).toEqual({ subscribe: { view: true, tabs: false, maxLatencyMs: SERVER_BATCH_MS } });
    posted.length = 0;
    for (let seq = 1; seq <= 101; seq += 1) subject.tell(append(seq));
    // The first is not kept from a page that waited for it.
    expect(posted.map(told)).toEqual([["bb/view", 1, 1, ["x"]]]);
    tick();
    expect(posted.slice(1).map(told)).toEqual([["bb/view", 2, 101, ["x".repeat(100)]]]);
    posted.length = 0;
    for (let seq = 102; seq <= 101 + MOST_WAITING; seq += 1) subject.tell(append(seq));
    expect(posted.map(told)).toEqual([["bb/view", 102, 101 + MOST_WAITING, ["x".repeat(MOST_WAITING)]]]);
  });

  it("R000-67: after a quiet spell news is posted at once, and until then it waits its turn", async () => {
    const { subject, posted, waits, tick } = gate(() => ({ v: 1, kind: "res", id: "1", ok: true, result: HELLO }));
    await subject.receive(req("bb.init", { subscribe: { view: true } }));
    posted.length = 0;
    const seen: number[] = [];
    const after = (work: () => void): void => {
      work();
      seen.push(posted.length);
    };
    after(() => subject.tell(append(1)));
    after(() => subject.tell(append(2)));
    after(tick);
    // It posted, so what follows waits again.
    after(() => subject.tell(append(3)));
    after(tick);
    // Nothing came in time: it is quiet, and no timer runs.
    after(tick);
    expect([seen, waits()]).toEqual([[1, 1, 2, 2, 3, 3], undefined]);
    after(() => subject.tell(append(4)));
    expect([posted.map(({ payload }) => payload.toSeq), waits()]).toEqual([[1, 2, 3, 4], BATCH_MS]);
  });

  it("R000-66 R000-67: while a flood goes on news is posted half as often, and after it as before", async () => {
    const { subject, posted, waits, tick } = gate(() => ({ v: 1, kind: "res", id: "1", ok: true, result: HELLO }));
    await subject.receive(req("bb.init", { subscribe: { view: true } }));
    tick();
    posted.length = 0;
    let seq = 0;
    const some = (count: number): void => {
      for (let n = 0; n < count; n += 1) subject.tell(append((seq += 1)));
    };
    const seen: unknown[] = [];
    some(1);
    seen.push(waits());
    for (const count of [FLOOD, FLOOD + 1, 5 * FLOOD, FLOOD]) {
      some(count);
      tick();
      seen.push(waits());
    }
    // One message that tells of many events is a flood as well.
    subject.tell({ topic: "bb/view", payload: { ...append(0).payload, fromSeq: seq + 1, toSeq: (seq += FLOOD + 1) } as never });
    tick();
    seen.push(waits());
    tick();
    expect([seen, waits()]).toEqual([[BATCH_MS, BATCH_MS, FLOOD_MS, FLOOD_MS, BATCH_MS, FLOOD_MS], undefined]);
    // It is quiet, so the next is posted at once and waits as ever.
    some(1);
    expect([posted.map(({ payload }) => payload.toSeq), waits()]).toEqual([[1, 51, 102, 352, 402, 453, 454], BATCH_MS]);
  });

  it("ruling 23: the additive topics go only to a page that asked for them; the three of the seed always", async () => {
    const { subject, posted, asked, tick } = gate(() => ({ v: 1, kind: "res", id: "1", ok: true, result: HELLO }));
    await subject.receive(req("bb.init"));
    expect(asked[0]?.["params"]).toEqual({ subscribe: { view: false, tabs: false } });
    posted.length = 0;
    subject.tell(append(1));
    subject.tell({ topic: "bb/state", payload: { sessions: [] } });
    subject.tell({ topic: "bb/connection", payload: { status: "connected" } });
    tick();
    expect(posted.map(({ topic }) => topic)).toEqual(["bb/state", "bb/connection"]);
  });

  it("what happened before an answer is posted before it", async () => {
    const { subject, posted } = gate(() => ({
      v: 1,
      kind: "res",
      id: "1",
      ok: true,
      result: { sessionId: "s", stopping: true },
    }));
    subject.tell({ topic: "bb/state", payload: { sessions: [] } });
    await subject.receive(req("bb.stop", { sessionId: "s" }));
    expect(posted.map(({ kind }) => kind)).toEqual(["evt", "res"]);
  });

  it("R001-61: what waits for a page that goes away is dropped, and it gets nothing more", async () => {
    const { subject, posted, tick } = gate();
    subject.tell({ topic: "bb/state", payload: { sessions: [] } });
    const asking = subject.ask("page.focus", {});
    posted.length = 0;
    subject.setOpen(false);
    tick();
    subject.tell({ topic: "bb/state", payload: { sessions: [] } });
    expect([posted, await asking, await subject.ask("page.focus", {})]).toEqual([[], false, false]);
  });
});

it("the editor's own answers are envelopes too, refusals with their code", async () => {
  const { subject, posted, done } = gate();
  await subject.receive(req("editor.copy", { text: "x" }));
  await subject.receive(req("editor.openFile", { path: "../x" }, "2"));
  expect(done).toEqual([
    ["editor.copy", { text: "x" }],
    ["editor.openFile", { path: "../x" }],
  ]);
  expect(posted).toEqual([
    { v: 1, kind: "res", id: "1", ok: true, result: {} },
    {
      v: 1,
      kind: "res",
      id: "2",
      ok: false,
      error: { code: "path_outside_workspace", message: "Not in this workspace.", details: { by: "editor" } },
    },
  ]);
});
