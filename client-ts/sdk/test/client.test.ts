import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import {
  CancellationTokenSource,
  createMessageConnection,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
  type MessageConnection,
} from "vscode-jsonrpc/node.js";
import {
  BreadboardClient,
  BreadboardError,
  readAnnouncement,
  VALUES,
  type Connection,
  type Violation,
} from "../src/core/index.js";
import { FakeConnection } from "./fake_connection.js";
import { readText } from "./repository.js";

/** Two ends of a real JSON-RPC connection. */
function ends(): {
  client: BreadboardClient;
  connection: MessageConnection;
  server: MessageConnection;
  violations: Violation[];
} {
  const [up, down] = [new PassThrough(), new PassThrough()];
  const connection = createMessageConnection(new StreamMessageReader(down), new StreamMessageWriter(up));
  const server = createMessageConnection(new StreamMessageReader(up), new StreamMessageWriter(down));
  connection.listen();
  server.listen();
  const violations: Violation[] = [];
  // No adapter: the real thing is a `Connection`.
  const fits: Connection = connection;
  return {
    client: new BreadboardClient(fits, { onViolation: (one) => violations.push(one) }),
    connection,
    server,
    violations,
  };
}

const stop = { sessionId: "s", stopping: true };

describe("over a real vscode-jsonrpc connection", () => {
  test("a request carries its params as an object and keeps fields that no schema knows", async () => {
    const { client, server } = ends();
    const heard: unknown[] = [];
    // The handler of all methods sees the params as they came; one of a single method would see a list spread out.
    server.onRequest(
      (method, params) => (heard.push(params), method === "bb/stop" ? { ...stop, later: [1] } : { sessions: [] }),
    );
    const answer = await client.request("bb/stop", { sessionId: "s" });
    expect(answer).toEqual({ ...stop, later: [1] });
    expect(await client.request("bb/listSessions")).toEqual({ sessions: [] });
    expect(heard).toEqual([{ sessionId: "s" }, {}]);
  });

  test("an error has the code of the wire, its sentence and its details", async () => {
    const { client, server } = ends();
    server.onRequest(
      "bb/stop",
      () =>
        new ResponseError(-32803, "No session has this id; list them.", {
          code: "unknown_session",
          details: { id: "s" },
        }),
    );
    const error = await client.request("bb/stop", { sessionId: "s" }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(BreadboardError);
    expect(error).toMatchObject({
      code: "unknown_session",
      message: "No session has this id; list them.",
      details: { id: "s" },
    });
  });

  test("a method that the other side does not know is unknown_method", async () => {
    const { client } = ends();
    await expect(client.request("bb/stop", { sessionId: "s" })).rejects.toMatchObject({ code: "unknown_method" });
  });

  test("a request can be cancelled", async () => {
    const { client, server } = ends();
    const source = new CancellationTokenSource();
    server.onRequest(
      "bb/stop",
      (_: unknown, token) =>
        new Promise((_, reject) => {
          token.onCancellationRequested(() => reject(new ResponseError(-32800, "Cancelled.")));
          source.cancel();
        }),
    );
    await expect(client.request("bb/stop", { sessionId: "s" }, source.token)).rejects.toMatchObject({
      code: "cancelled",
    });
  });

  test("what waits when the connection goes is disconnected, and so is what comes after", async () => {
    const { client, connection, server } = ends();
    const asked = new Promise<void>((resolve) =>
      server.onRequest("bb/stop", () => (resolve(), new Promise(() => undefined))),
    );
    const waiting = client.request("bb/stop", { sessionId: "s" });
    await asked;
    connection.dispose();
    await expect(waiting).rejects.toMatchObject({ code: "disconnected" });
    await expect(client.request("bb/stop", { sessionId: "s" })).rejects.toMatchObject({ code: "disconnected" });
  });

  test("a notification reaches every listener, also beside one that throws", async () => {
    const { client, server, violations } = ends();
    const heard: string[] = [];
    client.onNotification("bb/connection", ({ status }) => heard.push(`first ${status}`));
    client.onNotification("bb/connection", () => {
      throw new Error("mine");
    });
    const all = new Promise<void>((resolve) =>
      client.onNotification("bb/connection", ({ status }) => (heard.push(`third ${status}`), resolve())),
    );
    await server.sendNotification("bb/connection", { status: "connected" });
    await all;
    expect(heard).toEqual(["first connected", "third connected"]);
    expect(violations.map(({ message }) => message)).toEqual(["A listener of bb/connection threw: Error: mine."]);
  });

  test("a request of the server is answered until the handler is given back", async () => {
    const { client, server } = ends();
    const heard: unknown[] = [];
    const run = { command: "ls", args: [], cwd: "." };
    const ran = { exitCode: 0, stdout: "", stderr: "", durationMs: 1 };
    const answering = client.onRequest("bb/terminal/run", (params) => (heard.push(params), ran));
    expect(await server.sendRequest("bb/terminal/run", run)).toEqual(ran);
    expect(heard).toEqual([run]);
    answering.dispose();
    await expect(server.sendRequest("bb/terminal/run", run)).rejects.toMatchObject({ code: -32601 });
    const deaf = new BreadboardClient(new FakeConnection());
    expect(() => deaf.onRequest("bb/terminal/run", () => null)).toThrow(
      expect.objectContaining({ code: "unsupported" }),
    );
  });

  test("a notification goes out", async () => {
    const { client, server } = ends();
    const heard = new Promise((resolve) => server.onNotification("bb/workspaceTrust", resolve));
    await client.notify("bb/workspaceTrust", { trusted: true });
    expect(await heard).toEqual({ trusted: true });
  });
});

describe("what does not fit", () => {
  test("is not sent", async () => {
    const connection = new FakeConnection();
    const client = new BreadboardClient(connection);
    const wrong = client.request("bb/stop", { sessionId: 5 } as never);
    await expect(wrong).rejects.toMatchObject({
      code: "invalid_params",
      message: "The params of bb/stop do not fit: /sessionId must be string.",
    });
    await expect(client.notify("bb/workspaceTrust", {} as never)).rejects.toMatchObject({ code: "invalid_params" });
    expect([connection.sent, connection.notified]).toEqual([[], []]);
  });

  test("as an answer is an error, and a violation", async () => {
    const violations: Violation[] = [];
    const connection = new FakeConnection().script("bb/stop", () => ({ sessionId: "s" }));
    const client = new BreadboardClient(connection, { onViolation: (one) => violations.push(one) });
    await expect(client.request("bb/stop", { sessionId: "s" })).rejects.toMatchObject({ code: "invalid_answer" });
    expect(violations.map(({ method, value }) => [method, value])).toEqual([["bb/stop", { sessionId: "s" }]]);
  });

  test("R000-14: as a notification is ignored, and a violation", () => {
    const violations: string[] = [];
    const connection = new FakeConnection();
    const client = new BreadboardClient(connection, { onViolation: ({ message }) => violations.push(message) });
    let heard = 0;
    client.onNotification("bb/connection", () => (heard += 1));
    connection.say("bb/connection", { status: 5 });
    connection.say("bb/connection", undefined);
    expect([heard, violations.length]).toEqual([0, 2]);
  });

  test("but is a block kind or an event class of a newer server is passed on", () => {
    const connection = new FakeConnection();
    const client = new BreadboardClient(connection);
    const heard: unknown[] = [];
    client.onNotification("bb/view", (params) => heard.push(params));
    client.onNotification("bb/events", (params) => heard.push(params));
    const about = { sessionId: "s", epoch: "e", fromSeq: 1, toSeq: 1 };
    const block = { id: "h", seq: 1, kind: "hologram", depth: 3 };
    const view = { ...about, changes: [{ lane: "chat", op: "put", id: "h", block }] };
    const event = { id: "", type: "t", payload: {}, seq: 1, class: "later.class", pane: ["chat"], origin: "engine" };
    connection.say("bb/view", view);
    connection.say("bb/events", { ...about, events: [event] });
    connection.say("bb/view", {
      ...view,
      changes: [{ lane: "chat", op: "put", id: "h", block: { ...block, kind: "user" } }],
    });
    expect(heard).toEqual([view, { ...about, events: [event] }]);
  });
});

test("a listener that is given back hears no more, and the last one lets go of the connection", () => {
  const connection = new FakeConnection();
  const client = new BreadboardClient(connection);
  const heard: string[] = [];
  const first = client.onNotification("bb/connection", () => heard.push("first"));
  const second = client.onNotification("bb/connection", () => heard.push("second"));
  first.dispose();
  first.dispose();
  connection.say("bb/connection", { status: "connected" });
  expect([heard, connection.heard]).toEqual([["second"], ["bb/connection"]]);
  second.dispose();
  expect(connection.heard).toEqual([]);
  client.onNotification("bb/state", () => undefined);
  client.dispose();
  expect(connection.heard).toEqual([]);
  expect(() => client.onNotification("bb/state", () => undefined)).toThrow("This client was disposed; make a new one.");
});

test("a token that is not there is no argument: some connections send it as a second positional parameter", async () => {
  const connection = new FakeConnection().script("bb/listSessions", () => ({ sessions: [] }));
  const client = new BreadboardClient(connection);
  const source = new CancellationTokenSource();
  await client.request("bb/listSessions");
  await client.request("bb/listSessions", {});
  await client.request("bb/listSessions", {}, undefined);
  await client.request("bb/listSessions", undefined, undefined);
  await client.request("bb/listSessions", {}, source.token);
  expect(connection.arity).toEqual([2, 2, 2, 2, 3]);
});

test("the codes are those of PROTOCOL.md", () => {
  const table = readText("PROTOCOL.md").split("\n## Errors\n")[1]?.split("\n## ")[0] ?? "";
  const codes = [...table.matchAll(/^\| `(\w+)` \| -\d+ \|/gm)].map(([, code]) => code);
  expect([...VALUES.ErrorCode]).toEqual(codes);
});

describe("the announcement", () => {
  const result = (breadboard: unknown) => ({
    serverInfo: { name: "breadboard-ls", version: "9.1.0" },
    capabilities: { experimental: { breadboard } },
  });

  test("says what this build can do", () => {
    const said = { v: 1, methods: ["bb/init"], notifications: ["bb/state"] };
    expect(readAnnouncement(result({ ...said, later: true }))).toEqual({ ...said, server: "breadboard-ls 9.1.0" });
  });

  test.each([
    [
      "R000-72: of a newer version",
      result({ v: 2 }),
      "breadboard-ls 9.1.0 speaks version 2 of the bb protocol and this SDK version 1; update the SDK (or what contains it).",
    ],
    [
      "R000-72: of an older version",
      result({ v: 0 }),
      "breadboard-ls 9.1.0 speaks version 0 of the bb protocol and this SDK version 1; update breadboard-ls.",
    ],
    [
      "that is not there",
      { capabilities: {} },
      "The server does not speak the bb protocol; check that the command starts breadboard-ls.",
    ],
    ["of nothing", null, "The server does not speak the bb protocol; check that the command starts breadboard-ls."],
  ])("%s says what to do", (_, initialized, message) => {
    expect(() => readAnnouncement(initialized)).toThrow(expect.objectContaining({ code: "version_mismatch", message }));
  });
});
