/** The SDK against the real binary. Named by requirement where one exists. */

import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import {
  answerText,
  LastSeenTracker,
  openSession,
  Tabs,
  type InitParams,
  type SavedTab,
  type Session,
  type Tab,
  type Violation,
} from "../src/core/index.js";
import { startServer, type RunningServer, type StartOptions } from "../src/node/index.js";
import { sdkFolder } from "./repository.js";
import { freshPlace, serverBinary } from "./server_binary.js";

let binary = "";
let place: ReturnType<typeof freshPlace>;
let running: RunningServer[] = [];
let violations: Violation[] = [];

beforeAll(() => {
  binary = serverBinary();
});

beforeEach(() => {
  place = freshPlace();
  running = [];
  violations = [];
});

afterEach(async () => {
  await Promise.all(running.map((server) => server.stop()));
  place.remove();
});

async function start(more: Partial<StartOptions> = {}): Promise<RunningServer> {
  const server = await startServer({
    command: binary,
    workspaceFolders: [place.workspace],
    initializationOptions: { stateDir: place.stateDir, engine: { kind: "embedded" } },
    onViolation: (violation) => violations.push(violation),
    ...more,
  });
  running.push(server);
  return server;
}

async function begin(server: RunningServer, params: InitParams = {}): Promise<string> {
  await server.client.request("bb/init", params);
  return (await server.client.request("bb/createSession", {})).sessionId;
}

/** Resolves when `done` holds, which each change of the view may bring. */
function until(session: Session, done: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    if (done()) return resolve();
    const subscription = session.view.onDidChange(() => {
      if (!done()) return;
      subscription.dispose();
      resolve();
    });
  });
}

/** Turns that ended: each ends with one summary. */
function turns(session: Session): number {
  return session.view.blocks("run").filter(({ kind }) => kind === "summary").length;
}

test("a turn, seen through the view store, is what a new selection shows", async () => {
  const server = await start();
  const { client, announcement } = server;
  expect(announcement.methods).toContain("bb/selectSession");
  const sessionId = await begin(server);
  const session = await openSession(client, sessionId);
  for (const [turn, text] of ["Where is the retry limit?", "How high is RETRY_LIMIT in retry.rs?"].entries()) {
    const { disposition } = await client.request("bb/sendMessage", { sessionId, text });
    expect(disposition).toBe("started");
    await until(session, () => turns(session) === turn + 1);
  }
  const selected = await client.request("bb/selectSession", { sessionId });
  await until(session, () => session.view.seq >= selected.seq);
  expect(session.view.snapshot()).toEqual(selected.view);
  expect(session.view.blocks("chat").map(({ kind }) => kind)).toEqual(expect.arrayContaining(["user", "assistant"]));
  expect(JSON.stringify(session.view.blocks("chat"))).toContain("retry.rs");
  expect(violations).toEqual([]);
});

test("older blocks are read page by page until the first, in the order in which they were made", async () => {
  const server = await start();
  const sessionId = await begin(server);
  const session = await openSession(server.client, sessionId);
  const prompts = Array.from({ length: 3 }, (_, at) => `Where is the retry limit? (${at})`);
  for (const [turn, text] of prompts.entries()) {
    await server.client.request("bb/sendMessage", { sessionId, text });
    await until(session, () => turns(session) === turn + 1);
  }
  const whole = session.view.snapshot();
  const [last] = whole.lanes.chat.blocks.slice(-1);
  if (!last) throw new Error("no block");
  session.view.reset({ ...whole, lanes: { ...whole.lanes, chat: { blocks: [last], hasMore: true } } });
  while (await session.loadOlder("chat", 2));
  expect(session.view.snapshot()).toEqual(whole);
});

test("R000-53: after a restart of the server lastSeen brings what was missed, and says what that is worth", async () => {
  const first = await start();
  const seen = new LastSeenTracker();
  seen.follow(first.client);
  const sessionId = await begin(first);
  const session = await openSession(first.client, sessionId);
  await first.client.request("bb/sendMessage", { sessionId, text: "Where is the retry limit?" });
  await until(session, () => turns(session) === 1);
  const before = session.view.snapshot();
  session.dispose();
  await first.stop();
  expect(await first.exited).toBe(0);

  const second = await start();
  const kept = seen.value();
  if (!kept) throw new Error("nothing seen");
  const missing = { epoch: kept.epoch, sessions: { [sessionId]: 1 } };
  const replayed: number[] = [];
  second.client.onNotification("bb/events", ({ events }) => replayed.push(...events.map(({ seq }) => seq)));
  const { resume } = await second.client.request("bb/init", { lastSeen: missing });
  const again = await openSession(second.client, sessionId, { view: session.view });
  expect(resume?.[sessionId]?.verdict).toBe("replayed");
  expect(replayed).toEqual(Array.from({ length: before.seq - 1 }, (_, at) => at + 2));
  expect(again.view.snapshot()).toEqual(before);
  const { resume: complete } = await second.client.request("bb/init", { lastSeen: kept });
  expect(complete?.[sessionId]?.verdict).toBe("complete");
});

/** The tabs of a webview that starts with this server. */
async function webview(): Promise<{ server: RunningServer; tabs: Tabs }> {
  const server = await start();
  await server.client.request("bb/init", { subscribe: { tabs: true } });
  return { server, tabs: new Tabs(server.client, { onViolation: (violation) => violations.push(violation) }) };
}

/** Sends a prompt; resolves with its answer when that has ended. */
function answered(tab: Tab, text: string): Promise<{ status: string; text: string }> {
  const { messageId } = tab.prompt(text);
  return new Promise((resolve) => {
    const subscription = tab.onDidChange(() => {
      const answer = tab.model.prompts.get(messageId);
      if (answer?.status !== "complete" && answer?.status !== "failed") return;
      subscription.dispose();
      resolve({ status: answer.status, text: answerText(answer) });
    });
  });
}

test("R001-05, R001-10: a tab hears each message once and under its prompt, over a restart of the server too", async () => {
  const first = await webview();
  const tab = first.tabs.open();
  const indices: number[] = [];
  first.server.client.onNotification("bb/tab", ({ index }) => indices.push(index));
  const found = { status: "complete", text: expect.stringContaining("retry.rs") as string };
  expect(await answered(tab, "Where is the retry limit?")).toEqual(found);
  expect(await answered(tab, "How high is RETRY_LIMIT in retry.rs?")).toEqual(found);
  expect(indices).toEqual(indices.map((_, at) => at + 1));
  expect([tab.model.state, tab.model.lastSeenIndex]).toEqual(["open", indices.length]);
  const saved = JSON.parse(JSON.stringify(first.tabs.save())) as SavedTab[];
  const before = [...tab.model.prompts.values()];
  await first.server.stop();

  const second = await webview();
  const [again] = await second.tabs.restore(saved);
  expect([again?.tabId, again?.model.state, [...(again?.model.prompts.values() ?? [])]]).toEqual([
    tab.tabId,
    "open",
    before,
  ]);
  expect(await answered(again as Tab, "Where is the retry limit?")).toEqual(found);
  await again?.close();
  expect([second.tabs.all, again?.model.state, violations]).toEqual([[], "closed", []]);
});

test("a refusal of the server has its code and its sentence", async () => {
  const { client } = await start();
  await client.request("bb/init", {});
  await expect(client.request("bb/stop", { sessionId: "none" })).rejects.toMatchObject({
    name: "BreadboardError",
    code: "unknown_session",
    message: expect.stringMatching(/\.$/) as string,
  });
});

test("a server that is killed ends what waits, and says so to what comes after", async () => {
  const server = await start();
  await server.client.request("bb/init", {});
  const waiting = server.client.request("bb/listSessions");
  process.kill(server.pid, "SIGKILL");
  await expect(waiting).rejects.toMatchObject({ code: "disconnected" });
  expect(await server.exited).toBeNull();
  await expect(server.client.request("bb/listSessions")).rejects.toMatchObject({ code: "disconnected" });
});

test.each([
  [
    "cannot be found",
    { command: "no-such-program-of-breadboard" },
    /could not be started \(.*ENOENT.*\); check the path\.$/,
  ],
  ["ends at once", { args: ["--no-such-option"] }, /ended with code \d+ before it answered: .+\.$/],
  [
    "is another program",
    { command: process.execPath, args: ["-e", "process.exit(7)"] },
    /ended with code 7 before it answered\.$/,
  ],
])("a program that %s is one sentence", async (_, options, message) => {
  const error = await start(options).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code: "disconnected" });
  expect((error as Error).message).toMatch(message);
});

test("the example of the README runs", async () => {
  const readme = readFileSync(join(sdkFolder, "README.md"), "utf8");
  const [, example = ""] = /```js\n([\s\S]*?)```/.exec(readme) ?? [];
  expect(
    example
      .trim()
      .split("\n")
      .filter((line) => line.trim() !== "").length,
  ).toBeLessThanOrEqual(14);
  // In the package, so that it finds the package by its name.
  const file = join(sdkFolder, "dist", "readme_example.mjs");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, example);
  const path = join(place.stateDir, "bin");
  mkdirSync(path);
  symlinkSync(binary, join(path, process.platform === "win32" ? "breadboard-ls.exe" : "breadboard-ls"));
  const env = {
    ...process.env,
    PATH: `${path}${delimiter}${process.env["PATH"] ?? ""}`,
    XDG_STATE_HOME: place.stateDir,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: place.workspace, env });
  expect(stdout).toContain("retry.rs");
});
