/**
 * The SDK against servers of other releases of the same wire version: an older one, which lacks what came late, and a newer one, which
 * says what nobody knows yet. Both are the real server behind `tests/clients/other_version.mjs`.
 */

import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { answerText, choiceOf, isKnownOption, openSession, Tabs, type Session, type Tab, type Violation } from "../src/core/index.js";
import { startServer, type RunningServer } from "../src/node/index.js";
import { repository } from "./repository.js";
import { freshPlace, serverBinary } from "./server_binary.js";

const STAND_IN = join(repository, "tests", "clients", "other_version.mjs");

let place: ReturnType<typeof freshPlace>;
let server: RunningServer | undefined;
let violations: Violation[] = [];

beforeEach(() => {
  place = freshPlace();
  violations = [];
});

afterEach(async () => {
  await server?.stop();
  server = undefined;
  place.remove();
});

async function start(release: "older" | "newer" | "broken"): Promise<RunningServer> {
  server = await startServer({
    command: process.execPath,
    args: [STAND_IN, release, serverBinary(), "--stdio"],
    workspaceFolders: [place.workspace],
    initializationOptions: { stateDir: place.stateDir, engine: { kind: "embedded" }, workspaceTrusted: true },
    onViolation: (violation) => violations.push(violation),
  });
  return server;
}

function until<T>(session: Session, look: () => T | undefined): Promise<T> {
  return new Promise((resolve) => {
    const subscription = session.view.onDidChange(tell);
    function tell() {
      const found = look();
      if (found === undefined) return;
      subscription.dispose();
      resolve(found);
    }
    tell();
  });
}

/** A question, an edit that is allowed by this option, and a tab with a question: what every client does. */
async function usual({ client }: RunningServer, optionId = "allow_once"): Promise<Session> {
  await client.request("bb/init", { subscribe: { tabs: true } });
  const { sessionId } = await client.request("bb/createSession", {});
  const session = await openSession(client, sessionId);
  const chat = () => session.view.blocks("chat");
  await client.request("bb/sendMessage", { sessionId, text: "replace `RETRY_LIMIT` with `ATTEMPTS` in retry.rs" });
  const { requestId, digest, options } = await until(session, () =>
    chat()
      .flatMap((block) => (block.kind === "permission" && block.status === "pending" ? [block.permission] : []))
      .at(0),
  );
  const option = options.find((one) => one.optionId === optionId);
  if (option === undefined) throw new Error(`There is no ${optionId} in ${JSON.stringify(options)}.`);
  const decided = { sessionId, requestId, ...choiceOf(option), ...(digest == null ? {} : { digest }) };
  await client.request("bb/approvePermission", decided);
  await until(session, () => chat().find(({ kind }) => kind === "turn-end"));
  const tabs = new Tabs(client, { onViolation: (violation) => violations.push(violation) });
  const tab = tabs.open();
  expect(await answered(tab, "How high is the number of ATTEMPTS?")).toContain("retry.rs");
  await tab.close();
  await session.refresh();
  return session;
}

function answered(tab: Tab, text: string): Promise<string> {
  const { messageId } = tab.prompt(text);
  return new Promise((resolve) => {
    const subscription = tab.onDidChange(() => {
      const answer = tab.model.prompts.get(messageId);
      if (answer?.status !== "complete") return;
      subscription.dispose();
      resolve(answerText(answer));
    });
  });
}

test("R000-70: an older server is used as far as it goes, and what it lacks is refused with a sentence", async () => {
  const running = await start("older");
  expect(running.announcement.methods).toContain("bb/sendMessage");
  expect(running.announcement.methods).not.toContain("bb/turn/list");
  const session = await usual(running);
  expect(session.view.blocks("chat").map(({ kind }) => kind)).toContain("permission");
  await expect(running.client.request("bb/turn/list", { sessionId: session.sessionId })).rejects.toMatchObject({
    name: "BreadboardError",
    code: "unknown_method",
    message: expect.stringMatching(/update the server\.$/) as string,
  });
  expect(violations).toEqual([]);
});

test("R000-70: of a newer server nothing is lost, and what nobody knows yet is kept and does no harm", async () => {
  const running = await start("newer");
  expect(running.announcement.methods).toContain("bb/tomorrow/do");
  const classes = new Set<string>();
  running.client.onNotification("bb/events", ({ events }) => events.forEach((event) => classes.add(event.class)));
  const session = await usual(running, "sundays");
  const kinds = session.view.blocks("chat").map(({ kind }) => kind as string);
  expect(kinds).toEqual(expect.arrayContaining(["user", "permission", "turn-end", "hologram"]));
  expect([...classes]).toContain("tomorrow.class");
  // Words that nobody knows yet stand where they were said.
  const said = session.view.blocks("chat").map((block) => ("status" in block ? block.status : "outcome" in block ? block.outcome : block.kind));
  expect(said).toEqual(expect.arrayContaining(["shelved", "excused", "postponed"]));
  expect(session.view.blocks("chat").at(0)).toMatchObject({ kind: "user", ofTomorrow: { is: ["new"] } });
  await expect(running.client.request("bb/stop", { sessionId: "none" })).rejects.toMatchObject({
    code: "unknown_session",
  });
  expect(violations).toEqual([]);
});

test("R000-72: a server of another version of the wire is refused with what to do, and ends", async () => {
  await expect(start("broken")).rejects.toMatchObject({
    code: "version_mismatch",
    message: expect.stringMatching(/^breadboard-ls .* version 2 .* version 1; update the SDK/) as string,
  });
});

test("R000-70: an option of a kind that nobody knows goes by its id, and what stands beside it is no", () => {
  const known = { optionId: "always", label: "Always", kind: "allow_rule" };
  const unknown = { optionId: "sundays", label: "On Sundays", kind: "allow_on_sundays" };
  expect([known, unknown].map((option) => [isKnownOption(option), choiceOf(option)])).toEqual([
    [true, { decision: "allow_rule", optionId: "always" }],
    [false, { decision: "deny", optionId: "sundays" }],
  ]);
});
