import type { PendingPermission, StateParams } from "@breadboard-ls/sdk";
import { expect, it } from "vitest";
import { Attention, type Notify } from "../../src/host/attention";

const pending = (requestId: string, title: string, askedAt: number): PendingPermission => ({
  sessionId: "s1",
  source: "embedded",
  askedAt,
  permission: {
    requestId,
    digest: "sha256:d",
    title,
    subject: { kind: "command", command: "make", cwd: "." },
    options: [],
  },
});
const state = (status: string, count = 0): StateParams => ({
  sessions: [{ sessionId: "s1", title: "First", status, seq: 4, ...(count === 0 ? {} : { pendingPermissionCount: count }) }],
});

const ASKS: Notify = { asks: true, failures: false, ends: false };

function attention({ visible = false, notify = ASKS, pressed = false } = {}) {
  const done: unknown[][] = [];
  const world = { visible, asks: [] as PendingPermission[], answer: undefined as unknown, end: "done" };
  const subject = new Attention({
    ask: async (method) =>
      method === "bb/view/page"
        ? {
            blocks: [
              { id: "n", seq: 2, kind: "notice", level: "error", text: "The model is gone." },
              { id: "e", seq: 3, kind: "turn-end", outcome: world.end },
            ],
            hasMore: false,
          }
        : (world.answer ?? { pending: world.asks, rules: [] }),
    visible: () => world.visible,
    notify: () => notify,
    badge: (count) => void done.push(["badge", count]),
    say: async (sentence) => (done.push(["say", sentence]), pressed),
    show: (...what) => void done.push(["show", ...what]),
    failed: (sentence) => void done.push(["failed", sentence]),
  });
  const hear = async (heard: StateParams | undefined): Promise<unknown[][]> => {
    done.length = 0;
    await subject.heard(heard);
    // A turn that ended is told beside.
    await Promise.resolve();
    return [...done];
  };
  return { subject, world, done, hear };
}

it("an ask that comes while the view is hidden is told with its title, once, and can be shown from there", async () => {
  const { world, hear } = attention({ pressed: true });
  world.asks = [pending("p2", "Write src/b.rs", 2), pending("p1", "Run `make all`", 1)];
  expect(await hear(state("waiting", 2))).toEqual([
    ["badge", 2],
    ["say", "The agent asks: Run `make all` (and 1 more)"],
    ["show", "s1", "p1"],
  ]);
  expect(await hear(state("waiting", 2))).toEqual([["badge", 2]]);
  world.asks = [pending("p2", "Write src/b.rs", 2), pending("p3", "x".repeat(200), 3)];
  expect(await hear(state("waiting", 1))).toEqual([["badge", 1]]);
  expect(await hear(state("waiting", 2))).toEqual([
    ["badge", 2],
    ["say", `The agent asks: ${"x".repeat(119)}…`],
    ["show", "s1", "p3"],
  ]);
  expect(await hear(undefined)).toEqual([["badge", 0]]);
});

it("one that came while the view was seen is not told of when it is hidden", async () => {
  const { world, hear } = attention({ visible: true });
  world.asks = [pending("p1", "Run", 1)];
  expect(await hear(state("waiting", 1))).toEqual([["badge", 1]]);
  world.visible = false;
  world.asks.push(pending("p2", "Write", 2));
  expect(await hear(state("waiting", 2))).toEqual([
    ["badge", 2],
    ["say", "The agent asks: Write"],
  ]);
});

it.each<[string, Notify, string, string[]]>([
  ["asks", ASKS, "done", ["The agent asks: Run"]],
  ["ends", { ...ASKS, ends: true }, "done", ["The agent asks: Run", "The turn in “First” has ended."]],
  ["failures, of which there is none", { ...ASKS, failures: true }, "done", ["The agent asks: Run"]],
  ["failures", { asks: false, failures: true, ends: false }, "failed", ["The turn in “First” failed. The model is gone."]],
  ["both, of a failure", { asks: false, failures: true, ends: true }, "failed", ["The turn in “First” failed. The model is gone."]],
  ["nothing", { asks: false, failures: false, ends: false }, "failed", []],
])("what is told is what the settings say: %s", async (_name, notify, end, sentences) => {
  const { world, hear, done } = attention({ notify });
  world.asks = [pending("p1", "Run", 1)];
  world.end = end;
  const told = [...(await hear(state("waiting", 1)))];
  await hear(state("idle"));
  await new Promise((resolve) => setTimeout(resolve));
  told.push(...done);
  expect(told.filter(([what]) => what === "say").map(([, sentence]) => sentence)).toEqual(sentences);
});

it("the ask that waits longest is shown; where it cannot be read the log says why", async () => {
  const { subject, world, done } = attention();
  expect(await subject.showOldest()).toBe(false);
  world.asks = [pending("p2", "b", 2), pending("p1", "a", 1)];
  expect([await subject.showOldest(), done]).toEqual([true, [["show", "s1", "p1"]]]);
  world.answer = { pending: 1 };
  done.length = 0;
  expect([await subject.showOldest(), done]).toEqual([false, [["failed", expect.stringContaining("could not be read")]]]);
});

it("a turn that ends in a session that is not open here is another client's to tell of", async () => {
  const { hear } = attention({ notify: { asks: true, failures: true, ends: true } });
  const listed = (status: string): StateParams => ({ sessions: [{ sessionId: "s2", title: "Second", status }] });
  await hear(listed("running"));
  expect(await hear(listed("idle"))).toEqual([["badge", 0]]);
});

it("a turn whose end comes a moment behind its state is told by its own end, not by the one before", async () => {
  const said: string[] = [];
  const before = [{ id: "u1", seq: 1, kind: "user", text: "one" }, { id: "e1", seq: 2, kind: "turn-end", outcome: "done" }];
  const after = [...before, { id: "u2", seq: 3, kind: "user", text: "two" }];
  const pages = [after, [...after, { id: "e2", seq: 5, kind: "turn-end", outcome: "failed", text: "The model is gone." }]];
  const subject = new Attention({
    ask: async () => ({ blocks: pages.length > 1 ? pages.shift() : pages[0], hasMore: false }),
    visible: () => false,
    notify: () => ({ asks: true, failures: true, ends: false }),
    badge: () => undefined,
    say: async (sentence) => (said.push(sentence), false),
    show: () => undefined,
    failed: (sentence) => void said.push(sentence),
  });
  await subject.heard(state("running"));
  await subject.heard(state("idle"));
  await expect.poll(() => said).toEqual(["The turn in “First” failed. The model is gone."]);
});
