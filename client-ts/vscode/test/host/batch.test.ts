import { type Change, ViewStore } from "@breadboard-ls/sdk";
import { expect, it } from "vitest";
import { joined, type Told, withRunsJoined } from "../../src/host/batch";

const event = (seq: number) =>
  ({ id: `e${seq}`, type: "t", payload: {}, seq, class: "unknown_event", pane: ["debug"], origin: "engine" }) as never;
const events = (from: number, to: number, sessionId = "s"): Told => ({
  topic: "bb/events",
  payload: {
    sessionId,
    epoch: "e",
    fromSeq: from,
    toSeq: to,
    events: Array.from({ length: to - from + 1 }, (_, at) => event(from + at)),
  },
});
const append = (seq: number): Told => ({
  topic: "bb/view",
  payload: {
    sessionId: "s",
    epoch: "e",
    fromSeq: seq,
    toSeq: seq,
    changes: [{ lane: "chat", op: "append", id: "a", text: String(seq) }],
  },
});

it("R000-66 R003-52: neighbours become one message, every event in its order with its id", () => {
  const out = joined([events(1, 2), events(3, 3), events(4, 9)]);
  expect(out).toEqual([events(1, 9)]);
});

it("what does not continue stays apart: another session, a hole, a snapshot", () => {
  const snapshot: Told = {
    topic: "bb/view",
    payload: {
      sessionId: "s",
      epoch: "e",
      fromSeq: 3,
      toSeq: 3,
      changes: [],
      snapshot: { epoch: "e", seq: 3, lanes: {} as never },
    },
  };
  const story = [
    events(1, 1),
    events(2, 2, "other"),
    events(3, 3),
    events(5, 5),
    append(1),
    append(2),
    snapshot,
    append(4),
  ];
  expect(
    joined(story).map(({ topic, payload }) => [
      topic,
      (payload as { fromSeq: number }).fromSeq,
      (payload as { toSeq: number }).toSeq,
    ]),
  ).toEqual([
    ["bb/events", 1, 1],
    ["bb/events", 2, 2],
    ["bb/events", 3, 3],
    ["bb/events", 5, 5],
    ["bb/view", 1, 2],
    ["bb/view", 3, 3],
    ["bb/view", 4, 4],
  ]);
});

it("of several states the last one stays, in its place", () => {
  const state = (n: number): Told => ({ topic: "bb/state", payload: { sessions: [], pendingPermissionCount: n } });
  expect(joined([state(1), events(1, 1), state(2), state(3), events(2, 2)])).toEqual([
    events(1, 1),
    state(3),
    events(2, 2),
  ]);
});

/** Numbers from 0 to 1 that are the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A story of changes of every kind, with runs of appends, in two lanes with the same ids. */
function changesOf(seed: number): Change[] {
  const next = numbers(seed);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)] as T;
  return Array.from({ length: 60 }, (_, at): Change => {
    const lane = pick(["chat", "chat", "chat", "tasks"] as const);
    const id = pick(["a", "a", "b"]);
    const dice = next();
    if (dice < 0.8) return { lane, op: "append", id, ...(dice < 0.05 ? {} : { text: `${at} ` }) };
    if (dice < 0.9) return { lane, op: "remove", id };
    return { lane, op: "put", id, block: { id, kind: "assistant", seq: at, text: `${at}:`, streaming: true } };
  });
}

it("R000-66: texts that are appended to one block in a row are one, and the view is the same", () => {
  let joins = 0;
  for (let seed = 1; seed <= 200; seed += 1) {
    const changes = changesOf(seed);
    const before = structuredClone(changes);
    const runs = withRunsJoined(changes);
    const [one, other] = [new ViewStore(), new ViewStore()];
    one.applyChanges(changes);
    other.applyChanges(runs);
    expect(other.snapshot()).toEqual(one.snapshot());
    expect(changes).toEqual(before);
    joins += changes.length - runs.length;
  }
  expect(joins).toBeGreaterThan(1_000);
});

it("R000-66: a run of appends is one change, within a message and across messages", () => {
  const part = (fromSeq: number, texts: readonly string[]): Told => ({
    topic: "bb/view",
    payload: {
      sessionId: "s",
      epoch: "e",
      fromSeq,
      toSeq: fromSeq + texts.length - 1,
      changes: texts.map((text) => ({ lane: "chat", op: "append", id: "a", text })),
    },
  });
  expect(joined([part(1, ["a", "b"]), part(3, ["c", "d", "e"])])).toEqual([
    {
      topic: "bb/view",
      payload: {
        sessionId: "s",
        epoch: "e",
        fromSeq: 1,
        toSeq: 5,
        changes: [{ lane: "chat", op: "append", id: "a", text: "abcde" }],
      },
    },
  ]);
});
