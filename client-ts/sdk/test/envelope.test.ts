import { describe, expect, test } from "vitest";
import {
  BreadboardClient,
  BreadboardError,
  envelope,
  envelopeConnection,
  EnvelopeHost,
  REQUESTS,
  type EnvelopeHostOptions,
  type Violation,
} from "../src/core/index.js";
import { FakeConnection, settled } from "./fake_connection.js";

const stop = { sessionId: "s", stopping: true };
const init = {
  v: 1,
  server: { name: "breadboard-ls", version: "1" },
  epoch: "e",
  engine: { kind: "embedded", status: "connected", capabilities: [] },
  sessions: [],
  workspaceTrusted: false,
};

function host(more: Partial<EnvelopeHostOptions> = {}) {
  const connection = new FakeConnection().script("bb/stop", () => stop).script("bb/init", () => init);
  const posted: unknown[] = [];
  const violations: Violation[] = [];
  const served = new EnvelopeHost(new BreadboardClient(connection), {
    post: (message) => posted.push(message),
    onViolation: (violation) => violations.push(violation),
    ...more,
  });
  return { connection, posted, violations, host: served };
}

describe("reading an envelope", () => {
  const req = { v: 1, kind: "req", id: "1", method: "bb.stop", params: { sessionId: "s" } };
  const res = { v: 1, kind: "res", id: "1", ok: true, result: stop };
  const no = { v: 1, kind: "res", id: "1", ok: false, error: { code: "not_found", message: "No." } };
  const evt = { v: 1, kind: "evt", topic: "bb/connection", payload: { status: "connected" } };

  test.each([
    ["R000-09: a request", req],
    ["R000-09: a request without params", { v: 1, kind: "req", id: "1", method: "bb.init" }],
    ["R000-10: an answer", res],
    ["R000-11: a refusal", no],
    ["R000-11: a refusal with details", { ...no, error: { ...no.error, details: [1] } }],
    ["R000-12: an event", evt],
    ["R000-69: fields that are not known", { ...req, later: true }],
  ])("%s", (_, message) => {
    expect(envelope.readEnvelope(message)).toEqual({ ok: true, envelope: message });
  });

  test.each([
    ["R000-08: nothing", undefined],
    ["R000-08: a word", "req"],
    ["R000-08: a list", [req]],
    ["R000-08: no kind", { ...req, kind: undefined }],
    ["R000-08: another kind", { ...req, kind: "ask" }],
    ["R000-01: no version", { ...req, v: undefined }],
    ["R000-19: another version", { ...req, v: 2 }],
    ["R000-19: a version in words", { ...req, v: "1" }],
    ["R000-09: a number as id", { ...req, id: 1 }],
    ["R000-09: no method", { ...req, method: undefined }],
    ["R000-10: no ok", { ...res, ok: undefined }],
    ["R000-11: an error without a code", { ...no, error: { message: "No." } }],
    ["R000-11: an error without a message", { ...no, error: { code: "not_found" } }],
    ["R000-17: a success with an error", { ...res, error: no.error }],
    ["R000-17: a failure without an error", { v: 1, kind: "res", id: "1", ok: false }],
    ["R000-17: a failure with a result", { ...no, result: 1 }],
    ["R000-12: an event without a payload", { v: 1, kind: "evt", topic: "bb/state" }],
    ["R000-13: another topic", { ...evt, topic: "bb/secrets" }],
  ])("%s is refused", (_, message) => {
    expect(envelope.readEnvelope(message)).toEqual({ ok: false, fault: expect.stringMatching(/\.$/) as string });
  });

  test("R000-20 to R000-33: each method has its name in the envelope, and no other name leads to one", () => {
    for (const method of REQUESTS) expect(envelope.wireMethod(envelope.envelopeMethod(method))).toBe(method);
    expect([
      envelope.envelopeMethod("bb/queue/list"),
      envelope.wireMethod("bb/queue/list"),
      envelope.wireMethod("bb.nothing"),
    ]).toEqual(["bb.queue.list", undefined, undefined]);
  });

  test("R000-13: the topics hold the three of the seed", () => {
    expect(envelope.TOPICS).toEqual(expect.arrayContaining(["bb/connection", "bb/state", "bb/events"]));
  });
});

describe("a host", () => {
  test("R000-16, R000-18: answers each request once, under its id, in any order", async () => {
    const { connection, posted, host: served } = host();
    connection.script("bb/listSessions", () => new Promise((resolve) => setImmediate(() => resolve({ sessions: [] }))));
    served.receive(envelope.request("a", "bb/listSessions"));
    served.receive(envelope.request("b", "bb/stop", { sessionId: "s" }));
    await new Promise((resolve) => setImmediate(resolve));
    await settled();
    expect(posted).toEqual([envelope.succeeded("b", stop), envelope.succeeded("a", { sessions: [] })]);
  });

  test("R000-35, R000-59: refuses params that do not fit, before the server sees them", async () => {
    const { connection, posted, host: served } = host();
    const wrong = [undefined, null, 5, [], { sessionId: 1 }];
    wrong.forEach((params, at) => served.receive({ ...envelope.request(`r${at}`, "bb/stop"), params }));
    await settled();
    expect(connection.sent).toEqual([]);
    const refusal = { code: "invalid_params", message: expect.stringContaining("bb.stop") as string };
    expect(posted).toEqual(wrong.map((_, at) => envelope.failed(`r${at}`, refusal)));
  });

  test("R000-36: passes on why the server refused", async () => {
    const { connection, posted, host: served } = host();
    connection.script("bb/stop", () => {
      throw Object.assign(new Error("No session has this id."), {
        code: -32803,
        data: { code: "unknown_session", details: 1 },
      });
    });
    served.receive(envelope.request("a", "bb/stop", { sessionId: "s" }));
    await settled();
    expect(posted).toEqual([
      envelope.failed("a", { code: "unknown_session", message: "No session has this id.", details: 1 }),
    ]);
  });

  test("R000-61, R000-75: runs nothing for a method that is not known, and says so", async () => {
    const { connection, posted, violations, host: served } = host();
    served.receive(envelope.request("a", "bb/nothing"));
    await settled();
    expect([connection.sent, violations.length]).toEqual([[], 1]);
    expect(posted[0]).toMatchObject({ id: "a", ok: false, error: { code: "unknown_method" } });
  });

  test("R000-07: takes no token from a webview", async () => {
    const { connection, posted, violations, host: served } = host();
    served.receive(envelope.request("a", "bb/setCredentials", { scope: "engine", token: "t0ken" }));
    served.receive(
      envelope.request("b", "bb/rpc", envelope.request("c", "bb/setCredentials", { scope: "engine", token: "t0ken" })),
    );
    await settled();
    expect(connection.sent).toEqual([]);
    expect(posted.map((message) => (message as { error: { code: string } }).error.code)).toEqual([
      "unknown_method",
      "unknown_method",
    ]);
    expect(JSON.stringify([posted, violations])).not.toContain("t0ken");
  });

  test.each([
    ["R000-19: of another version", { v: 2, kind: "req", id: "a", method: "bb.stop", params: { sessionId: "s" } }, 1],
    ["R000-08: that is none", "bb.stop", 0],
    [
      "R000-06: that only a host sends",
      { v: 1, kind: "evt", topic: "bb/connection", payload: { status: "connected" } },
      0,
    ],
    ["R000-16: without an id to answer", { v: 1, kind: "req", method: "bb.stop" }, 0],
  ])("R000-14, R000-15: a message %s runs nothing and is a violation", async (_, message, answers) => {
    const { connection, posted, violations, host: served } = host();
    served.receive(message);
    await settled();
    expect([connection.sent, violations.length, posted.length]).toEqual([[], 1, answers]);
    if (answers > 0) expect(posted[0]).toMatchObject({ id: "a", ok: false, error: { code: "invalid_params" } });
  });

  test("R000-16: an id that is under way is not used twice", async () => {
    const { connection, posted, violations, host: served } = host();
    connection.script("bb/listSessions", () => ({ sessions: [] }));
    served.receive(envelope.request("a", "bb/stop", { sessionId: "s" }));
    served.receive(envelope.request("a", "bb/listSessions"));
    await settled();
    expect([posted, violations.length]).toEqual([[envelope.succeeded("a", stop)], 1]);
  });

  test("says overloaded when too many requests are under way", async () => {
    const { connection, posted, host: served } = host();
    connection.script("bb/listSessions", () => new Promise(() => undefined));
    for (let id = 0; id < 257; id += 1) served.receive(envelope.request(String(id), "bb/listSessions"));
    await settled();
    expect(connection.sent.length).toBe(256);
    expect(posted).toEqual([
      envelope.failed("256", { code: "overloaded", message: "Too many requests are under way; wait for some." }),
    ]);
  });

  test("R000-13: always tells the three topics of the seed, and bb/view to who asked in bb.init", async () => {
    const { connection, posted, host: served } = host();
    const view = { sessionId: "s", epoch: "e", fromSeq: 1, toSeq: 1, changes: [] };
    const topics = () => posted.splice(0).map((message) => (message as { topic?: string }).topic ?? "answer");
    const tell = () => {
      connection.say("bb/connection", { status: "connected" });
      connection.say("bb/state", { sessions: [] });
      connection.say("bb/events", { sessionId: "s", epoch: "e", fromSeq: 1, toSeq: 1, events: [] });
      connection.say("bb/view", view);
      return topics();
    };
    expect(tell()).toEqual(["bb/connection", "bb/state", "bb/events"]);
    served.receive(envelope.request("a", "bb/init", { subscribe: { view: true } }));
    await settled();
    expect(topics()).toEqual(["answer"]);
    expect(tell()).toEqual(["bb/connection", "bb/state", "bb/events", "bb/view"]);
    served.receive(envelope.request("b", "bb/init"));
    await settled();
    topics();
    expect(tell()).toEqual(["bb/connection", "bb/state", "bb/events"]);
  });

  test("R000-60: posts nothing that does not fit", async () => {
    const { connection, posted, host: served } = host({ intercept: () => Promise.resolve({ sessions: "none" }) });
    connection.say("bb/connection", { status: "asleep" });
    served.receive(envelope.request("a", "bb/listSessions"));
    await settled();
    expect(posted).toEqual([
      expect.objectContaining({ id: "a", ok: false, error: expect.objectContaining({ code: "internal" }) as object }),
    ]);
  });

  test("may answer by itself", async () => {
    const {
      connection,
      posted,
      host: served,
    } = host({
      intercept: (method) =>
        method === "bb/openDiff" ? Promise.reject(new BreadboardError("unsupported", "Not here.")) : undefined,
    });
    served.receive(envelope.request("a", "bb/openDiff", { sessionId: "s", filePath: "f" }));
    served.receive(envelope.request("b", "bb/stop", { sessionId: "s" }));
    await settled();
    expect(connection.sent.map(({ method }) => method)).toEqual(["bb/stop"]);
    expect(posted).toEqual([
      envelope.failed("a", { code: "unsupported", message: "Not here." }),
      envelope.succeeded("b", stop),
    ]);
  });

  test("posts nothing after it was given back", async () => {
    const { connection, posted, host: served } = host();
    served.receive(envelope.request("a", "bb/stop", { sessionId: "s" }));
    served.dispose();
    connection.say("bb/connection", { status: "connected" });
    served.receive(envelope.request("b", "bb/stop", { sessionId: "s" }));
    await settled();
    expect([posted, connection.sent.length, connection.heard]).toEqual([[], 1, []]);
  });
});

describe("a webview", () => {
  function webview() {
    let hear: (message: unknown) => void = () => undefined;
    const violations: string[] = [];
    const server = new FakeConnection().script("bb/stop", () => stop).script("bb/init", () => init);
    const served = new EnvelopeHost(new BreadboardClient(server), {
      post: (message) => hear(structuredClone(message)),
      onViolation: ({ message }) => violations.push(message),
    });
    const connection = envelopeConnection({
      post: (message) => served.receive(structuredClone(message)),
      onMessage: (handler) => {
        hear = handler;
        return { dispose: () => (hear = () => undefined) };
      },
      onViolation: ({ message }) => violations.push(message),
    });
    return {
      client: new BreadboardClient(connection),
      connection,
      server,
      violations,
      hear: (message: unknown) => hear(message),
    };
  }

  test("speaks through its host as the host speaks with the server", async () => {
    const { client, server } = webview();
    const heard: unknown[] = [];
    client.onNotification("bb/state", (params) => heard.push(params));
    expect(await client.request("bb/stop", { sessionId: "s" })).toEqual(stop);
    server.say("bb/state", { sessions: [] });
    expect(heard).toEqual([{ sessions: [] }]);
    server.script("bb/stop", () => {
      throw Object.assign(new Error("Trust first."), { data: { code: "untrusted_workspace", details: { why: 1 } } });
    });
    await expect(client.request("bb/stop", { sessionId: "s" })).rejects.toMatchObject({
      code: "untrusted_workspace",
      message: "Trust first.",
      details: { why: 1 },
    });
  });

  test("R000-14: ignores what is no envelope, an answer to nothing, and a request", () => {
    const { violations, hear } = webview();
    hear({ v: 1, kind: "res" });
    hear(envelope.succeeded("77", stop));
    hear(envelope.request("1", "bb/init"));
    expect(violations.length).toBe(3);
  });

  test("sends no notification, so that it cannot declare the workspace trusted", async () => {
    const { client } = webview();
    await expect(client.notify("bb/workspaceTrust", { trusted: true })).rejects.toMatchObject({ code: "unsupported" });
  });

  test("that cancels does not wait, and the answer that comes is no violation", async () => {
    const { client, server, violations } = webview();
    let cancel: () => void = () => undefined;
    let answer: (result: unknown) => void = () => undefined;
    server.script("bb/stop", () => new Promise((resolve) => (answer = resolve)));
    const token = {
      isCancellationRequested: false,
      onCancellationRequested: (listener: (event: unknown) => unknown) => {
        cancel = () => void listener(undefined);
        return { dispose: () => (cancel = () => undefined) };
      },
    };
    const waiting = client.request("bb/stop", { sessionId: "s" }, token);
    await settled();
    cancel();
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    answer(stop);
    await settled();
    expect(violations).toEqual([]);
  });

  test("whose connection is given back waits for nothing", async () => {
    const { client, connection, server } = webview();
    server.script("bb/stop", () => new Promise(() => undefined));
    const waiting = client.request("bb/stop", { sessionId: "s" });
    connection.dispose();
    await expect(waiting).rejects.toMatchObject({ code: "disconnected" });
    await expect(client.request("bb/stop", { sessionId: "s" })).rejects.toMatchObject({ code: "disconnected" });
  });
});
