/**
 * Starting, stopping and starting again, with stand-ins for the language client and the editor; `e2e/` has the real
 * ones.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

vi.mock("vscode-languageclient/node", async () => {
  const { FakeClient, ...rest } = await import("./language_client_stub");
  return { ...rest, LanguageClient: FakeClient };
});
import { FakeClient } from "./language_client_stub";
import type { AgentTerminal } from "../../src/host/agent_terminal";
import type { ContextProvider } from "../../src/host/context_provider";
import { Credentials } from "../../src/host/credentials";
import { ServerConnection } from "../../src/host/server_connection";
import { askForToken, tellOfToken } from "../../src/host/token_prompt";
import type { LogOutputChannel, SecretStorage } from "vscode";
import * as stub from "./vscode_stub";

let folder = "";
beforeEach(() => {
  stub.reset();
  FakeClient.made.length = 0;
  FakeClient.answer = undefined;
  FakeClient.meanwhile = () => undefined;
  folder = mkdtempSync(path.join(tmpdir(), "bb-server-"));
  writeFileSync(path.join(folder, "breadboard-ls"), "#!/bin/sh\n");
  chmodSync(path.join(folder, "breadboard-ls"), 0o755);
  stub.configuration.user = {
    "server.path": path.join(folder, "breadboard-ls"),
    engine: { kind: "breadboard", url: "http://127.0.0.1:9099" },
  };
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

function server(secrets: Record<string, string> = {}) {
  const heard: unknown[] = [];

  const logged: string[] = [];
  const log = (text: string) => void logged.push(text);
  const subject = new ServerConnection({
    extensionPath: "/ext",
    log: { info: log, warn: log, error: log } as unknown as LogOutputChannel,
    terminal: {} as AgentTerminal,
    context: {} as ContextProvider,
    credentials: new Credentials({
      get: async (key: string) => secrets[key],
      store: async (key: string, value: string) => void (secrets[key] = value),
      delete: async (key: string) => void delete secrets[key],
    } as unknown as SecretStorage),
    toldOfToken: (sentence, wanted) => void tellOfToken(sentence, wanted),
    heard: (method, params) => heard.push([method, params]),
  });
  return { subject, heard, logged };
}

it("starts the program of the user's settings with the user's options, and announces what is implemented", async () => {
  const { subject } = server();
  await subject.restart();
  const [client] = FakeClient.made;
  expect(client?.server).toMatchObject({ command: path.join(folder, "breadboard-ls"), args: ["--stdio"] });
  expect(client?.options.initializationOptions).toEqual({
    engine: { kind: "breadboard", url: "http://127.0.0.1:9099" },
    workspaceTrusted: true,
  });
  const params = {
    capabilities: { workspace: { textDocumentContent: {}, applyEdit: true }, window: { workDoneProgress: true } },
  };
  client?.fill(params);
  expect(params.capabilities).toEqual({
    workspace: { applyEdit: true },
    // Turns have the item in the status bar.
    window: { workDoneProgress: false },
    experimental: { breadboard: { terminalRun: true, documentSave: true, contextProvide: true } },
  });
  expect(subject.status()).toEqual({
    server: "running",
    generation: 1,
    methods: ["bb/init", "bb/setCredentials"],
    agents: [],
    program: { name: "breadboard-ls", from: "setting" },
  });
});

it("the page hears the names of the agents that the server knows, and not how they are started", async () => {
  stub.configuration.user = {
    ...stub.configuration.user,
    agents: {
      gemini: { command: "/opt/secret-place", args: ["--key", "k1"], env: { KEY: "k2" } },
      opencode: { command: "oc" },
    },
  };
  const { subject } = server();
  await subject.restart();
  expect(subject.status().agents).toEqual(["gemini", "opencode"]);
  expect(JSON.stringify(subject.status())).not.toMatch(/secret-place|k1|k2/);
  // The server that runs knows no other.
  stub.configuration.user = { ...stub.configuration.user, agents: { later: { command: "x" } } };
  expect(subject.status().agents).toEqual(["gemini", "opencode"]);
});

it("trust that is given while the server starts is told before it is said to run, and only then", async () => {
  stub.workspace.isTrusted = false;
  FakeClient.meanwhile = () => {
    stub.workspace.isTrusted = true;
  };
  const { subject } = server();
  let told: unknown[] = [];
  subject.onDidChange(() => {
    if (subject.status().server === "running") told = [...(FakeClient.made.at(-1)?.told ?? [])];
  });
  await subject.restart();
  expect(FakeClient.made[0]?.options.initializationOptions).toMatchObject({ workspaceTrusted: false });
  expect(told).toEqual([["bb/workspaceTrust", { trusted: true }]]);

  await subject.restart();
  expect(FakeClient.made[1]?.options.initializationOptions).toMatchObject({ workspaceTrusted: true });
  expect(told).toEqual([]);
});

it("what a workspace may say goes to the server when it asks, and nothing else", async () => {
  const { subject } = server();
  stub.configuration.user = { ...stub.configuration.user, "delivery.maxLatencyMs": 9 };
  await subject.restart();
  const middleware = FakeClient.made[0]?.options.middleware.workspace;
  expect(middleware.configuration({ items: [{ section: "breadboard" }, { section: "other" }] })).toEqual([
    { delivery: { maxLatencyMs: 9 } },
    null,
  ]);
});

/** What the person was told since the last look. */
function seen(): unknown[][] {
  return stub.done.splice(0).filter(([what]) => String(what).startsWith("show"));
}
const info = (sentence: string) => ["showInformationMessage", sentence];
const sentTokens = (of = FakeClient.made.at(-1)) => (of?.sent ?? []).map((sent) => (sent as unknown[])[1]);

it("R000-07 R002-07: a token is sent before the server is said to run, and only to its address", async () => {
  const secrets = {
    "breadboard.token.engine": JSON.stringify({ token: "t1", place: "http://127.0.0.1:9099" }),
    "breadboard.token.model": JSON.stringify({ token: "t2", place: "https://other.example" }),
  };
  const { subject, logged } = server(secrets);
  let sentBefore: unknown[] = [];
  subject.onDidChange(() => {
    if (subject.status().server === "running") sentBefore = [...(FakeClient.made.at(-1)?.sent ?? [])];
  });
  await subject.restart();
  expect(sentBefore).toEqual([["bb/setCredentials", { scope: "engine", token: "t1" }]]);
  expect(seen()).toEqual([]);
  stub.configuration.user = { ...stub.configuration.user, engine: { kind: "embedded" }, model: { name: "claude-x" } };
  await subject.restart();
  expect([sentBefore, seen()]).toEqual([
    [],
    [
      [
        "showWarningMessage",
        "The stored model token was given for another address than Anthropic, so it was not sent there.",
        "Set the Token",
        "Forget the Stored One",
      ],
    ],
  ]);
  expect(logged.some((line) => line.includes("t1") || line.includes("t2"))).toBe(false);
});

it.each([
  ["Set the Token", "breadboard.setModelToken"],
  ["Forget the Stored One", "breadboard.clearModelToken"],
])("a token of another address is answered with a button: %s", async (button, command) => {
  stub.configuration.user = { ...stub.configuration.user, engine: { kind: "embedded" }, model: { name: "claude-x" } };
  stub.answers.warning = button;
  await server({ "breadboard.token.model": JSON.stringify({ token: "t", place: "p" }) }).subject.restart();
  await vi.waitFor(() => expect(stub.done.at(-1)).toEqual([command]));
});

describe("what a person is told when the token of a model is given", () => {
  const anthropic = { name: "m", provider: "anthropic" };
  const choose = (model: object | undefined) =>
    void (stub.configuration.user = { ...stub.configuration.user, engine: { kind: "embedded" }, model });
  const KEPT = " It is kept in the editor's secret storage and given to the server only.";
  const asked = () => stub.dialogs.splice(0).map((dialog) => (dialog as { prompt: string }).prompt);
  beforeEach(() => {
    choose(undefined);
    stub.answers.input = " t0ken\n";
  });

  it("before a model is chosen: that it waits for one; and when one is chosen, that it is used", async () => {
    const { subject } = server();
    await subject.restart();
    await askForToken("model", subject);
    expect([asked(), seen(), sentTokens()]).toEqual([
      [`No model is chosen yet, so it will be for the first one that you choose.${KEPT}`],
      [info("The token is stored; it is used once a model of the built-in engine is chosen in the settings.")],
      [],
    ]);
    // Nothing is chosen still: no word, and nothing sent.
    await subject.restart();
    expect([seen(), sentTokens()]).toEqual([[], []]);
    choose(anthropic);
    await subject.restart();
    expect([seen(), sentTokens()]).toEqual([
      [info("The model token that you stored is used for Anthropic from now on.")],
      [{ scope: "model", token: "t0ken" }],
    ]);
    // From then on it belongs there.
    await subject.restart();
    expect([seen(), sentTokens()]).toEqual([[], [{ scope: "model", token: "t0ken" }]]);
    choose({ ...anthropic, url: "https://proxy.example/v1" });
    await subject.restart();
    expect([seen().map(([what]) => what), sentTokens()]).toEqual([["showWarningMessage"], []]);
  });

  it("after it is chosen and before the server knows it: that it waits for the restart", async () => {
    const { subject } = server();
    await subject.restart();
    choose(anthropic);
    await askForToken("model", subject);
    expect([asked(), seen(), sentTokens()]).toEqual([
      [`For Anthropic.${KEPT}`],
      [info("The token is stored; it is used for Anthropic once the server was restarted.")],
      [],
    ]);
    await subject.restart();
    expect([seen(), sentTokens()]).toEqual([[], [{ scope: "model", token: "t0ken" }]]);
  });

  it("after the server has the model: that it is used", async () => {
    choose({ name: "gpt-x" });
    const { subject } = server();
    await subject.restart();
    await askForToken("model", subject);
    expect([asked(), seen(), sentTokens()]).toEqual([
      [`For OpenAI.${KEPT}`],
      [info("The token is stored, and used for OpenAI from now on.")],
      [{ scope: "model", token: "t0ken" }],
    ]);
  });

  it("while no server runs: that it waits for one", async () => {
    choose(anthropic);
    const { subject } = server();
    await askForToken("model", subject);
    expect(seen()).toEqual([info("The token is stored; it is used for Anthropic once the server runs.")]);
    await subject.restart();
    expect(sentTokens()).toEqual([{ scope: "model", token: "t0ken" }]);
  });

  it("that the server did not take it, where it did not", async () => {
    choose(anthropic);
    const { subject } = server();
    await subject.restart();
    vi.spyOn(FakeClient.made[0] as FakeClient, "sendRequest").mockRejectedValue(new Error("It has a line end."));
    await expect(askForToken("model", subject)).rejects.toThrow(
      "The token is stored, but the server did not take it: It has a line end.",
    );
  });

  it("nothing, where none was given", async () => {
    stub.answers.input = " ";
    const secrets = {};
    await askForToken("model", server(secrets).subject);
    expect([seen(), secrets]).toEqual([[], {}]);
  });

  it("of the built-in engine: that the token of an engine waits for one that takes it", async () => {
    const { subject } = server();
    await subject.restart();
    await askForToken("engine", subject);
    expect([asked(), seen(), sentTokens()]).toEqual([
      [`No engine that takes a token is chosen yet, so it will be for the first one that you choose.${KEPT}`],
      [info("The token is stored; it is used once an engine that takes one is chosen in the settings.")],
      [],
    ]);
  });
});

it("a server that ends is started again after a pause, and given up after too many ends", async () => {
  const { subject } = server();
  await subject.restart();
  for (const [at, pause] of [500, 1000, 2000, 4000, 8000].entries()) {
    FakeClient.made.at(-1)?.end();
    expect(subject.status()).toMatchObject({
      server: "waiting",
      sentence: `The server ended unexpectedly; the log has more. Trying again (${at + 1}).`,
    });
    await expect(subject.request("bb/init", {})).rejects.toMatchObject({ code: "disconnected" });
    await vi.advanceTimersByTimeAsync(pause);
    expect(subject.status()).toMatchObject({ server: "running", generation: at + 2 });
  }
  FakeClient.made.at(-1)?.end();
  expect(subject.status()).toMatchObject({
    server: "failed",
    sentence: expect.stringContaining("ended 6 times in a row; read the log"),
  });
  await subject.restart();
  expect(subject.status().server).toBe("running");
});

it("a program that never answers is named, with what to do, and so it stays when it is given up", async () => {
  const { subject } = server();
  FakeClient.meanwhile = () => {
    throw new Error("write EPIPE");
  };
  await subject.restart();
  const said = expect.stringMatching(/^The program `\S+breadboard-ls` of the setting breadboard\.server\.path did not answer as the server does; correct the setting or clear it\. Trying again \(1\)\.$/);
  expect(subject.status()).toMatchObject({ server: "waiting", sentence: said });
  for (const pause of [500, 1000, 2000, 4000, 8000]) await vi.advanceTimersByTimeAsync(pause);
  expect(subject.status()).toMatchObject({
    server: "failed",
    sentence: expect.stringMatching(/correct the setting or clear it\. It was tried 6 times\.$/),
  });
});

it("R000-72: a server of another version is not used, and the sentence says what to do", async () => {
  FakeClient.answer = { capabilities: { experimental: { breadboard: { v: 2 } } } };
  const { subject } = server();
  await subject.restart();
  expect(subject.status()).toMatchObject({
    server: "failed",
    sentence: expect.stringContaining("update the extension"),
  });
  expect(FakeClient.made[0]?.stopped).toBe(true);
});

it("a program that is not there is said, with what to do, and nothing is started", async () => {
  stub.configuration.user = { "server.path": "/nowhere/breadboard-ls" };
  const { subject } = server();
  await subject.restart();
  expect([FakeClient.made.length, subject.status()]).toEqual([
    0,
    expect.objectContaining({ server: "failed", sentence: expect.stringContaining("/nowhere/breadboard-ls") }),
  ]);
});

it("the user's settings that changed are a reason to restart; what a workspace says is none", async () => {
  const { subject } = server();
  await subject.restart();
  stub.configuration.workspace = { engine: { kind: "acp", command: "/repo/evil" } };
  expect(subject.settingsChanged()).toBe(false);
  stub.configuration.user = { ...stub.configuration.user, model: { name: "m" } };
  expect(subject.settingsChanged()).toBe(true);
});

it("an absent token of cancellation is no second parameter", async () => {
  const { subject } = server();
  await subject.restart();
  await subject.request("bb/init", {});
  expect(FakeClient.made[0]?.arity).toEqual([2]);
});

it("R000-63: trust and tokens are the only things told without being asked", () => {
  const text = readFileSync("src/extension.ts", "utf8") + readFileSync("src/host/server_connection.ts", "utf8");
  expect([...text.matchAll(/notify\("([^"]+)"/g)].map(([, method]) => method)).toEqual([
    "bb/workspaceTrust",
    "workspace/didChangeConfiguration",
  ]);
});
