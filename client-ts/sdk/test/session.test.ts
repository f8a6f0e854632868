import { describe, expect, test } from "vitest";
import { BreadboardClient, LastSeenTracker, openSession, ViewStore, type Block, type View } from "../src/core/index.js";
import { FakeConnection, settled } from "./fake_connection.js";

function view(seq: number, words: string, hasMore = false, epoch = "e"): View {
  const empty = () => ({ blocks: [], hasMore: false });
  const block: Block = { id: "a", seq: 1, kind: "assistant", text: words, streaming: true };
  return { epoch, seq, lanes: { chat: { blocks: [block], hasMore }, tasks: empty(), run: empty(), debug: empty() } };
}

function selected(seq: number, words: string, hasMore = false) {
  return { sessionId: "s", seq, view: view(seq, words, hasMore), resume: { verdict: "complete", to: seq } };
}

function said(fromSeq: number, toSeq: number, words: string, sessionId = "s", epoch = "e") {
  return { sessionId, epoch, fromSeq, toSeq, changes: [{ lane: "chat", op: "append", id: "a", text: words }] };
}

async function opened(answer = selected(4, "x")) {
  const connection = new FakeConnection();
  const violations: string[] = [];
  const client = new BreadboardClient(connection, { onViolation: ({ message }) => violations.push(message) });
  const opening = openSession(client, "s");
  connection.of("bb/selectSession")[0]?.answer(answer);
  return { connection, client, violations, session: await opening };
}

describe("opening a session", () => {
  test("applies the notifications that overtook the answer, and only those that it does not hold", async () => {
    const connection = new FakeConnection();
    const opening = openSession(new BreadboardClient(connection), "s");
    connection.say("bb/view", said(4, 4, "held already"));
    connection.say("bb/view", said(5, 6, "y"));
    connection.say("bb/view", said(1, 1, "of another", "other"));
    connection.say("bb/view", said(7, 7, "z"));
    connection.of("bb/selectSession")[0]?.answer(selected(4, "x"));
    const session = await opening;
    expect(session.view.snapshot()).toEqual(view(7, "xyz"));
    expect(session.resume).toEqual({ verdict: "complete", to: 4 });
  });

  test("selects again when more overtook it than it keeps", async () => {
    const connection = new FakeConnection();
    const opening = openSession(new BreadboardClient(connection), "s");
    for (let seq = 5; seq < 5 + 1025; seq += 1) connection.say("bb/view", said(seq, seq, "."));
    connection.of("bb/selectSession")[0]?.answer(selected(4, "x"));
    await settled();
    connection.of("bb/selectSession")[1]?.answer(selected(1029, "whole"));
    expect((await opening).view.snapshot()).toEqual(view(1029, "whole"));
  });

  test("that is refused says why and hears nothing more", async () => {
    const connection = new FakeConnection();
    const opening = openSession(new BreadboardClient(connection), "s");
    connection
      .of("bb/selectSession")[0]
      ?.refuse({ code: -32803, message: "No such session.", data: { code: "unknown_session" } });
    await expect(opening).rejects.toMatchObject({ code: "unknown_session", message: "No such session." });
    expect(connection.heard).toEqual([]);
  });
});

describe("an open session", () => {
  test("follows its own notifications", async () => {
    const { connection, session } = await opened();
    connection.say("bb/view", said(5, 5, "y"));
    connection.say("bb/view", said(5, 5, "no", "other"));
    expect(session.view.snapshot()).toEqual(view(5, "xy"));
  });

  test.each([
    ["a hole", said(7, 7, "late")],
    ["another journal", said(1, 5, "anew", "s", "e2")],
  ])("selects again, once, after %s", async (_, message) => {
    const { connection, session } = await opened();
    connection.say("bb/view", message);
    connection.say("bb/view", message);
    const again = connection.of("bb/selectSession");
    expect(again.length).toBe(2);
    again[1]?.answer(selected(8, "whole"));
    await settled();
    expect(session.view.snapshot()).toEqual(view(8, "whole"));
  });

  test("says when that fails", async () => {
    const { connection, session } = await opened();
    const failures: string[] = [];
    session.onDidFail(({ code }) => failures.push(code));
    connection.say("bb/view", said(7, 7, "late"));
    connection.of("bb/selectSession")[1]?.refuse(new Error("Connection is closed."));
    await settled();
    expect(failures).toEqual(["disconnected"]);
  });

  test("surfaces each verdict of its own", async () => {
    const { connection, session } = await opened();
    const verdicts: string[] = [];
    session.onDidResume(({ verdict }) => verdicts.push(verdict));
    const lost = { verdict: "lost", reason: "The engine was restarted." };
    connection.say("bb/connection", { status: "connected", sessionId: "other", resume: { verdict: "resynced" } });
    connection.say("bb/connection", { status: "connected", sessionId: "s", gapDetected: true, resume: lost });
    expect([verdicts, session.resume]).toEqual([["lost"], lost]);
  });

  test("reads older pages, but not into a view that was replaced meanwhile", async () => {
    const { connection, session } = await opened(selected(4, "x", true));
    const older = { id: "o", seq: 1, kind: "user", text: "q" };
    const reading = session.loadOlder("chat", 10);
    const [page] = connection.of("bb/view/page");
    expect(page?.params).toEqual({ sessionId: "s", lane: "chat", before: "a", limit: 10 });
    page?.answer({ blocks: [older], hasMore: false });
    expect(await reading).toBe(true);
    expect(session.view.blocks("chat").map(({ id }) => id)).toEqual(["o", "a"]);
    expect(await session.loadOlder("chat")).toBe(false);

    const { connection: second, session: other } = await opened(selected(4, "x", true));
    const late = other.loadOlder("chat");
    const replaced: View = { ...view(9, "n"), lanes: { ...view(9, "n").lanes, chat: { blocks: [], hasMore: false } } };
    second.say("bb/view", { sessionId: "s", epoch: "e", fromSeq: 9, toSeq: 9, changes: [], snapshot: replaced });
    second.of("bb/view/page")[0]?.answer({ blocks: [older], hasMore: false });
    expect(await late).toBe(false);
    expect(other.view.snapshot()).toEqual(replaced);
  });

  test("fills the store of an earlier connection, so that who draws it stays", async () => {
    const store = new ViewStore(view(2, "old"));
    let drawn = 0;
    store.onDidChange(() => (drawn += 1));
    const connection = new FakeConnection().script("bb/selectSession", () => selected(4, "x"));
    const session = await openSession(new BreadboardClient(connection), "s", { view: store });
    expect([session.view === store, store.snapshot(), drawn]).toEqual([true, view(4, "x"), 1]);
  });

  test("hears nothing after it was given back", async () => {
    const { connection, session } = await opened();
    session.dispose();
    connection.say("bb/view", said(5, 5, "y"));
    expect([session.view.snapshot(), connection.heard]).toEqual([view(4, "x"), []]);
  });
});

describe("what was last seen", () => {
  test("is nothing before anything was", () => {
    expect(new LastSeenTracker().value()).toBeNull();
  });

  test("follows events and views, and begins the numbers of a session anew with another epoch", () => {
    const connection = new FakeConnection();
    const seen = new LastSeenTracker({ epoch: "e", sessions: { s: 3, t: 1 } });
    const following = seen.follow(new BreadboardClient(connection));
    connection.say("bb/events", { sessionId: "s", epoch: "e", fromSeq: 4, toSeq: 6, events: [] });
    connection.say("bb/view", said(4, 5, "y"));
    expect(seen.value()).toEqual({ epoch: "e", sessions: { s: 6, t: 1 } });
    connection.say("bb/view", said(1, 2, "y", "t", "e2"));
    expect(seen.value()).toEqual({ epoch: "e", epochs: { t: "e2" }, sessions: { s: 6, t: 2 } });
    expect(new LastSeenTracker(seen.value() ?? undefined).value()).toEqual(seen.value());
    seen.forget("t");
    connection.say("bb/view", said(1, 2, "y", "s", "e2"));
    expect(seen.value()).toEqual({ epoch: "e2", sessions: { s: 2 } });
    following.dispose();
    expect(connection.heard).toEqual([]);
  });

  test("counts a selected view as seen", async () => {
    const seen = new LastSeenTracker();
    const connection = new FakeConnection().script("bb/selectSession", () => selected(4, "x"));
    await openSession(new BreadboardClient(connection), "s", { lastSeen: seen });
    connection.say("bb/view", said(5, 5, "y"));
    expect(seen.value()).toEqual({ epoch: "e", sessions: { s: 5 } });
  });
});
