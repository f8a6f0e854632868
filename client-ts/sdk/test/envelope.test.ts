import { describe, expect, test } from "vitest";
import {
  BreadboardClient,
  BreadboardError,
  envelope,
  envelopeConnection,
  REQUESTS,
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

describe("a webview", () => {
  function webview() {
    let hear: (message: unknown) => void = () => undefined;
    const violations: string[] = [];
    const server = new FakeConnection().script("bb/stop", () => stop).script("bb/init", () => init);
    const post = (message: unknown) => hear(structuredClone(message));
    const connection = envelopeConnection({
      post: ({ id, method, params }) =>
        void server.sendRequest(envelope.wireMethod(method) ?? method, structuredClone(params)).then(
          (result) => post(envelope.succeeded(id, result)),
          (cause: unknown) => post(envelope.failed(id, BreadboardError.from(cause))),
        ),
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
    const { client, server, hear } = webview();
    const heard: unknown[] = [];
    client.onNotification("bb/state", (params) => heard.push(params));
    expect(await client.request("bb/stop", { sessionId: "s" })).toEqual(stop);
    hear(envelope.notification("bb/state", { sessions: [] }));
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
