/**
 * Notifications of the server, put together before they go to the page.
 *
 * Pure: neighbours of one session that continue each other become one message, texts that are appended to one block
 * right after each other become one text, and of several states the last one stays. Events are never merged, left out
 * or reordered: their lists are joined.
 */
import type { Change, ServerNotifications } from "@breadboard-ls/sdk";

export type Topic = keyof ServerNotifications;

/** One message for the page. */
export type Told = { [T in Topic]: { readonly topic: T; readonly payload: ServerNotifications[T] } }[Topic];

/** Most joined events or changes in one message: one of some hundred kilobytes is drawn within a frame. */
export const MOST_JOINED = 2_000;

/** How many events it tells of, in however many messages. */
export function eventsOf(told: readonly Told[]): number {
  return told.reduce((sum, { topic, payload }) => {
    const counts = topic === "bb/view" || topic === "bb/events";
    return sum + (counts ? payload.toSeq - payload.fromSeq + 1 : 1);
  }, 0);
}

/** The same story in fewer messages. */
export function joined(told: readonly Told[]): Told[] {
  const lastState = told.findLastIndex((one) => one.topic === "bb/state");
  const out: Told[] = [];
  told.forEach((whole, at) => {
    if (whole.topic === "bb/state" && at !== lastState) return;
    const one = shortened(whole);
    const before = out.at(-1);
    const both = before === undefined ? undefined : join(before, one);
    if (both === undefined) out.push(one);
    else out[out.length - 1] = both;
  });
  return out;
}

function shortened(told: Told): Told {
  if (told.topic !== "bb/view" || told.payload.changes.length < 2) return told;
  return { topic: "bb/view", payload: { ...told.payload, changes: withRunsJoined(told.payload.changes) } };
}

function join(a: Told, b: Told): Told | undefined {
  if (a.topic === "bb/events" && b.topic === "bb/events") {
    const { payload: x } = a;
    const { payload: y } = b;
    if (x.sessionId !== y.sessionId || x.epoch !== y.epoch || x.toSeq + 1 !== y.fromSeq) return undefined;
    if (x.events.length + y.events.length > MOST_JOINED) return undefined;
    return { topic: "bb/events", payload: { ...x, toSeq: y.toSeq, events: [...x.events, ...y.events] } };
  }
  if (a.topic === "bb/view" && b.topic === "bb/view") {
    const { payload: x } = a;
    const { payload: y } = b;
    // A change never spans a snapshot.
    if (x.snapshot || y.snapshot || x.sessionId !== y.sessionId || x.epoch !== y.epoch || x.toSeq + 1 !== y.fromSeq)
      return undefined;
    if (x.changes.length + y.changes.length > MOST_JOINED) return undefined;
    return { topic: "bb/view", payload: { ...x, toSeq: y.toSeq, changes: withRunsJoined([...x.changes, ...y.changes]) } };
  }
  return undefined;
}

/** The same changes with each run of appends to one block as one append: a flood of pieces is one text by the frame. */
export function withRunsJoined(changes: readonly Change[]): Change[] {
  const out: Change[] = [];
  for (const change of changes) {
    const before = out.at(-1);
    if (before?.op === "append" && change.op === "append" && before.lane === change.lane && before.id === change.id)
      out[out.length - 1] = { ...before, text: (before.text ?? "") + (change.text ?? "") };
    else out.push(change);
  }
  return out;
}
