import { describe, expect, test } from "vitest";
import {
  growthSince,
  onEachFrame,
  ViewStore,
  type Block,
  type Change,
  type View,
  type ViewDelta,
  type ViewParams,
} from "../src/core/index.js";
import { list, readJson } from "./repository.js";

interface ClientFixture {
  description: string;
  snapshot: View;
  changes: Change[];
  expected: View;
}

function text(id: string, words: string): Block {
  return { id, seq: 1, kind: "assistant", text: words, streaming: true };
}

function view(seq: number, chat: Block[] = [], hasMore = false, epoch = "e"): View {
  const empty = () => ({ blocks: [], hasMore: false });
  return { epoch, seq, lanes: { chat: { blocks: chat, hasMore }, tasks: empty(), run: empty(), debug: empty() } };
}

function put(block: Block): Change {
  return { lane: "chat", op: "put", id: block.id, block };
}

function append(id: string, words: string): Change {
  return { lane: "chat", op: "append", id, text: words };
}

function remove(id: string): Change {
  return { lane: "chat", op: "remove", id };
}

function said(fromSeq: number, toSeq: number, changes: Change[], more: Partial<ViewParams> = {}): ViewParams {
  return { sessionId: "s", epoch: "e", fromSeq, toSeq, changes, ...more };
}

function heard(store: ViewStore): ViewDelta[] {
  const deltas: ViewDelta[] = [];
  store.onDidChange((delta) => deltas.push(delta));
  return deltas;
}

const lane = { added: [], changed: [], removed: [], older: [] };

describe("the laws that the server's tests use", () => {
  const files = list("tests/fixtures/client", ".json");

  test("are there", () => {
    expect(files.length).toBeGreaterThanOrEqual(7);
  });

  test.each(files)("%s", (file) => {
    const { snapshot, changes, expected } = readJson(`tests/fixtures/client/${file}`) as ClientFixture;
    const store = new ViewStore(snapshot);
    store.applyChanges(changes);
    expect(store.snapshot()).toEqual(expected);
    expect(store.blocks("chat").map(({ id }) => id)).toEqual(expected.lanes.chat.blocks.map(({ id }) => id));
  });
});

describe("a bb/view", () => {
  test("whose toSeq is not above the seq is ignored", () => {
    const store = new ViewStore(view(4, [text("a", "x")]));
    const deltas = heard(store);
    expect(store.apply(said(3, 4, [append("a", "y")]))).toBe("stale");
    expect([store.snapshot(), deltas]).toEqual([view(4, [text("a", "x")]), []]);
  });

  test("that continues is applied and moves the seq", () => {
    const store = new ViewStore(view(4, [text("a", "x")]));
    expect(store.apply(said(5, 7, [append("a", "y")]))).toBe("applied");
    expect(store.snapshot()).toEqual(view(7, [text("a", "xy")]));
  });

  test("that leaves events out is not applied, since the view would be wrong from then on", () => {
    const store = new ViewStore(view(4, [text("a", "x")]));
    expect(store.apply(said(6, 7, [append("a", "y")]))).toBe("gap");
    expect(store.snapshot()).toEqual(view(4, [text("a", "x")]));
  });

  test("of another journal is not applied", () => {
    const store = new ViewStore(view(4, [text("a", "x")]));
    expect(store.apply(said(5, 7, [append("a", "y")], { epoch: "other" }))).toBe("epoch");
    expect(store.snapshot()).toEqual(view(4, [text("a", "x")]));
  });

  test("with a snapshot replaces everything, also over a hole and over another journal", () => {
    const store = new ViewStore(view(4, [text("a", "x")]));
    const deltas = heard(store);
    const over = view(90, [text("b", "y")]);
    const anew = view(2, [text("c", "z")], false, "other");
    expect(store.apply(said(90, 90, [], { snapshot: over }))).toBe("applied");
    expect(store.snapshot()).toEqual(over);
    expect(store.apply(said(2, 2, [], { snapshot: anew, epoch: "other" }))).toBe("applied");
    expect(store.snapshot()).toEqual(anew);
    expect(deltas).toEqual([
      { reset: true, lanes: {} },
      { reset: true, lanes: {} },
    ]);
  });

  test("with a lane or an operation of a newer server leaves the rest alone", () => {
    const store = new ViewStore(view(0, [text("a", "x")]));
    const newer = [
      { lane: "later", op: "put", id: "q" },
      { lane: "chat", op: "move", id: "a" },
    ] as unknown as Change[];
    expect(store.apply(said(1, 1, [...newer, append("a", "y")]))).toBe("applied");
    expect(store.snapshot()).toEqual(view(1, [text("a", "xy")]));
  });
});

describe("blocks", () => {
  test("are never changed in place", () => {
    const store = new ViewStore(view(0, [text("a", "x")]));
    const [block, blocks] = [store.block("chat", "a"), store.blocks("chat")];
    store.applyChanges([append("a", "y"), put(text("b", "z"))]);
    expect([block, blocks]).toEqual([text("a", "x"), [text("a", "x")]]);
    expect(store.blocks("chat")).toEqual([text("a", "xy"), text("b", "z")]);
    expect(store.blocks("chat")).toBe(store.blocks("chat"));
  });

  test("of ten thousand cost a change what one of ten does", () => {
    const many = Array.from({ length: 10_000 }, (_, at) => text(`b${at}`, "x"));
    let reads = 0;
    const guarded = many.map((block) => new Proxy(block, { get: (of, key) => ((reads += 1), Reflect.get(of, key)) }));
    const store = new ViewStore(view(0, guarded));
    reads = 0;
    store.applyChanges([append("b9999", "y"), put(text("new", "z")), remove("new")]);
    expect(reads).toBeLessThan(20);
  });
});

describe("older pages", () => {
  test("go in front and say whether there is more", () => {
    const store = new ViewStore(view(9, [text("c", "3")], true));
    const deltas = heard(store);
    expect([store.oldest("chat"), store.hasMore("chat")]).toEqual(["c", true]);
    store.addOlder("chat", { blocks: [text("a", "1"), text("b", "2")], hasMore: false });
    expect(store.snapshot()).toEqual(view(9, [text("a", "1"), text("b", "2"), text("c", "3")], false));
    expect([store.oldest("chat"), store.hasMore("chat")]).toEqual(["a", false]);
    expect(deltas).toEqual([{ reset: false, lanes: { chat: { ...lane, older: ["a", "b"] } } }]);
  });

  test("give a block that was put at the end its place, and leave it what the changes made of it", () => {
    const store = new ViewStore(view(9, [text("c", "3")], true));
    store.applyChanges([put(text("a", "newer"))]);
    const deltas = heard(store);
    store.addOlder("chat", { blocks: [text("a", "older"), text("b", "2")], hasMore: false });
    expect(store.blocks("chat")).toEqual([text("a", "newer"), text("b", "2"), text("c", "3")]);
    expect(deltas).toEqual([{ reset: false, lanes: { chat: { ...lane, removed: ["a"], older: ["a", "b"] } } }]);
  });

  test("take appends from then on", () => {
    const store = new ViewStore(view(9, [text("c", "3")], true));
    store.applyChanges([append("a", "lost, as the law says")]);
    store.addOlder("chat", { blocks: [text("a", "1")], hasMore: false });
    store.applyChanges([append("a", "+")]);
    expect(store.block("chat", "a")).toEqual(text("a", "1+"));
  });

  test("that are empty still say that there is no more", () => {
    const store = new ViewStore(view(9, [text("c", "3")], true));
    const deltas = heard(store);
    store.addOlder("chat", { blocks: [], hasMore: false });
    expect([store.hasMore("chat"), deltas]).toEqual([false, [{ reset: false, lanes: { chat: lane } }]]);
  });
});

describe("what changed", () => {
  test("is told once a message, by lane and id", () => {
    const store = new ViewStore(view(0, [text("a", "x"), text("b", "y")]));
    const deltas = heard(store);
    store.apply(said(1, 3, [append("a", "1"), append("a", "2"), put(text("c", "z")), append("c", "!"), remove("b")]));
    expect(deltas).toEqual([
      { reset: false, lanes: { chat: { ...lane, added: ["c"], changed: ["a"], removed: ["b"] } } },
    ]);
  });

  test("of a block that came and went is nothing to draw", () => {
    const store = new ViewStore(view(0));
    const deltas = heard(store);
    store.applyChanges([put(text("a", "x")), remove("a")]);
    expect(deltas).toEqual([{ reset: false, lanes: { chat: lane } }]);
  });

  test("is not told to a listener that was given back", () => {
    const store = new ViewStore(view(0));
    const deltas: ViewDelta[] = [];
    store.onDidChange((delta) => deltas.push(delta)).dispose();
    store.applyChanges([put(text("a", "x"))]);
    expect(deltas).toEqual([]);
  });
});

describe("R000-67: one drawing a frame", () => {
  function frames(store: ViewStore) {
    const waiting: (() => void)[] = [];
    const drawn: ViewDelta[] = [];
    const subscription = onEachFrame(
      store,
      (run) => waiting.push(run),
      (delta) => drawn.push(delta),
    );
    const frame = () => waiting.splice(0).forEach((run) => run());
    return { frame, drawn, waiting, subscription };
  }

  test("however many messages came, and none without", () => {
    const store = new ViewStore(view(0, [text("a", "x"), text("gone", "x")]));
    const { frame, drawn, waiting } = frames(store);
    for (let seq = 1; seq <= 100; seq += 1) store.apply(said(seq, seq, [append("a", ".")]));
    store.apply(said(101, 101, [put(text("b", "y")), remove("gone")]));
    store.apply(said(102, 102, [append("b", "z"), put(text("gone", "again"))]));
    expect([waiting.length, drawn]).toEqual([1, []]);
    frame();
    frame();
    expect(drawn).toEqual([
      { reset: false, lanes: { chat: { ...lane, added: ["b", "gone"], changed: ["a"], removed: ["gone"] } } },
    ]);
  });

  test("of a snapshot swallows what came before and after it", () => {
    const store = new ViewStore(view(0, [text("a", "x")]));
    const { frame, drawn } = frames(store);
    store.applyChanges([append("a", ".")]);
    store.reset(view(5, [text("b", "y")]));
    store.applyChanges([append("b", ".")]);
    frame();
    expect(drawn).toEqual([{ reset: true, lanes: {} }]);
  });

  test("is not made after it was given back", () => {
    const store = new ViewStore(view(0, [text("a", "x")]));
    const { frame, drawn, subscription } = frames(store);
    store.applyChanges([append("a", ".")]);
    subscription.dispose();
    frame();
    expect(drawn).toEqual([]);
  });
});

test("what was appended to a block since an earlier state of it is known, and nothing else is taken for it", () => {
  const store = new ViewStore(view(1, [text("a", "one"), text("b", "two")]));
  const now = (id = "a"): Block => store.block("chat", id) as Block;
  const first = now();
  expect(growthSince(first, now())).toBe("");
  expect(growthSince(first, now("b"))).toBeUndefined();
  store.applyChanges([append("a", " x"), append("b", " y")]);
  const second = now();
  store.applyChanges([{ lane: "chat", op: "append", id: "a" }, append("a", "z")]);
  const third = now();
  expect([growthSince(first, second), growthSince(second, third), growthSince(first, third)]).toEqual([" x", "z", " xz"]);
  expect([growthSince(third, second), growthSince(first, now("b"))]).toEqual([undefined, undefined]);
  // Put anew it is another text, even with the same words; and it grows from there.
  store.applyChanges([put(text("a", "one xz"))]);
  const fourth = now();
  store.applyChanges([append("a", "!")]);
  expect([growthSince(third, fourth), growthSince(third, now()), growthSince(fourth, now())]).toEqual([
    undefined,
    undefined,
    "!",
  ]);
});

test("two texts that grew out of the same one are not mixed up", () => {
  const start = text("a", "one");
  const [left, right] = [new ViewStore(view(1, [start])), new ViewStore(view(1, [start]))];
  left.applyChanges([append("a", "L")]);
  right.applyChanges([append("a", "R")]);
  left.applyChanges([append("a", "l")]);
  right.applyChanges([append("a", "r")]);
  const [l, r] = [left.block("chat", "a") as Block, right.block("chat", "a") as Block];
  expect([growthSince(l, r), growthSince(r, l)]).toEqual([undefined, undefined]);
  // The first to grow is not known any more to have grown out of it, which is no harm.
  expect([growthSince(start, l), growthSince(start, r)]).toEqual([undefined, "Rr"]);
});
