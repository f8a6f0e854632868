import { expect, it } from "vitest";
import { joined, type Told } from "../../src/host/batch";

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
