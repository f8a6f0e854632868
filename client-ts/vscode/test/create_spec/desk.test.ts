/** The host's side of seed 004: what a message of the form brings about, with the server played. */
import { expect, it } from "vitest";
import { CreateSpecDesk } from "../../src/host/create_spec_desk";

type Answer = (params: any) => unknown;

const IMAGE = (name: string) => ({
  id: name,
  uri: `file:///${name}`,
  name,
  dataUrl: "data:image/png;base64,AA==",
});

async function desk(answers: Record<string, Answer> = {}) {
  const asked: [string, any][] = [];
  const posted: any[] = [];
  const warnings: string[] = [];
  const violations: string[] = [];
  const submitted: string[] = [];
  const world = {
    running: true,
    visible: true,
    closed: 0,
    markdown: undefined as string | undefined,
    images: undefined as string[] | undefined,
    answer: undefined as "keep" | "discard" | undefined,
    dialogs: 0,
    ids: 0,
  };
  const subject = new CreateSpecDesk({
    post: (message) => void posted.push(message),
    ask: async (method, params) => {
      asked.push([method.replace("bb/createSpec/", ""), params]);
      if (!world.running) throw new Error("The server does not run; restart it.");
      const standard: Record<string, Answer> = {
        "bb/createSpec/ready": () => ({ shouldFocusPrimaryField: true }),
        "bb/createSpec/autosave": () => ({ lastUpdated: 5 }),
        "bb/createSpec/submit": ({ messageId }) => ({ sessionId: "s", messageId, disposition: "started" }),
        "bb/createSpec/closeAttempt": ({ hasDirtyChanges }) => ({ shouldClose: !hasDirtyChanges }),
        "bb/createSpec/discard": () => ({}),
        ...answers,
      };
      return standard[method]?.(params);
    },
    running: () => world.running,
    visible: () => world.visible,
    pickMarkdown: async () => world.markdown,
    pickImages: async () => world.images,
    askBeforeClosing: async () => {
      world.dialogs += 1;
      return world.answer;
    },
    close: () => {
      world.closed += 1;
      subject.gone();
    },
    submitted: (sessionId) => void submitted.push(sessionId),
    warn: (sentence) => void warnings.push(sentence),
    violation: (sentence) => void violations.push(sentence),
    newId: () => `m${(world.ids += 1)}`,
  });
  const say = (word: string, payload?: unknown) =>
    subject.receive({ type: `create-spec/${word}`, ...(payload === undefined ? {} : { payload }) });
  return { subject, world, asked, posted, warnings, violations, submitted, say };
}

async function opened(answers: Record<string, Answer> = {}) {
  const all = await desk(answers);
  await all.say("ready");
  all.posted.length = 0;
  all.asked.length = 0;
  return all;
}

it("R004-05 R004-31 R004-32: `ready` is answered with init, which carries the draft and the focus", async () => {
  const draft = { formData: { description: "kept" }, lastUpdated: 7 };
  const { say, posted } = await desk({
    "bb/createSpec/ready": () => ({ draft, shouldFocusPrimaryField: true }),
  });
  expect(posted).toEqual([]);
  await say("ready");
  expect(posted).toEqual([{ type: "create-spec/init", payload: { draft, shouldFocusPrimaryField: true } }]);
  const empty = await desk({ "bb/createSpec/ready": () => ({ draft: null, shouldFocusPrimaryField: true }) });
  await empty.say("ready");
  expect(empty.posted).toEqual([{ type: "create-spec/init", payload: { shouldFocusPrimaryField: true } }]);
});

it("R004-32: a page that comes again gets the newest draft, and the server is not told that the form was opened anew", async () => {
  const { say, posted, asked, subject } = await opened();
  await say("autosave", { description: "newer" });
  subject.hidden();
  await say("ready");
  expect(asked.map(([method]) => method)).toEqual(["autosave"]);
  expect(posted).toEqual([
    {
      type: "create-spec/init",
      payload: { draft: { formData: { description: "newer" }, lastUpdated: 5 }, shouldFocusPrimaryField: false },
    },
  ]);
});

it("R004-05: without a server init waits, since an empty form would overwrite a draft that nobody read", async () => {
  const { say, posted, world, subject } = await desk();
  world.running = false;
  await say("ready");
  expect(posted).toEqual([]);
  await subject.serverChanged();
  expect(posted).toEqual([]);
  world.running = true;
  await subject.serverChanged();
  expect(posted).toEqual([{ type: "create-spec/init", payload: { shouldFocusPrimaryField: true } }]);
});

it("R004-39: asked for again, an open form gets the focus; a page that is being made gets it with init", async () => {
  const { subject, say, posted } = await opened();
  subject.again();
  expect(posted).toEqual([{ type: "create-spec/focus" }]);
  posted.length = 0;
  subject.hidden();
  subject.again();
  expect(posted).toEqual([]);
  await say("ready");
  expect(posted).toEqual([{ type: "create-spec/init", payload: { shouldFocusPrimaryField: true } }]);
});

it("R004-12 R004-13: a draft goes to the server; what it did not take is said once, and goes when it is back", async () => {
  const { say, asked, world, warnings, subject } = await opened();
  await say("autosave", { description: "a" });
  world.running = false;
  await say("autosave", { description: "ab" });
  await say("autosave", { description: "abc" });
  expect(warnings).toEqual(["The draft of the spec is not saved yet: The server does not run; restart it."]);
  world.running = true;
  await subject.serverChanged();
  await subject.serverChanged();
  expect(asked).toEqual(["a", "ab", "abc", "abc"].map((description) => ["autosave", { description }]));
});

it("R004-33 R004-35 R004-06: a submission reaches the server, then the form is told, closed, and its session shown", async () => {
  const { say, asked, posted, world, submitted } = await opened();
  await say("submit", { description: " text ", imageUris: ["file:///a.png"] });
  expect(asked).toEqual([["submit", { description: "text", imageUris: ["file:///a.png"], messageId: "m1" }]]);
  expect([posted, world.closed, submitted]).toEqual([[{ type: "create-spec/submit:success" }], 1, ["s"]]);
});

it("R004-36: a failure is said in the form, which stays; the same again is the same prompt, another is not", async () => {
  let fails = true;
  const { say, asked, posted, world, submitted } = await opened({
    "bb/createSpec/submit": ({ messageId }) => {
      if (fails) throw new Error("This workspace is not trusted; trust it first.");
      return { sessionId: "s", messageId, disposition: "queued" };
    },
  });
  const submission = { description: "text", imageUris: [] };
  await say("submit", submission);
  expect([posted, world.closed, submitted]).toEqual([
    [
      {
        type: "create-spec/submit:error",
        payload: { message: "This workspace is not trusted; trust it first." },
      },
    ],
    0,
    [],
  ]);
  await say("submit", { description: "other", imageUris: [] });
  await say("submit", submission);
  await say("submit", submission);
  fails = false;
  await say("submit", submission);
  expect(asked.map(([, { messageId }]) => messageId)).toEqual(["m1", "m2", "m3", "m3", "m3"]);
  expect(submitted).toEqual(["s"]);
});

it("R004-36: an answer that does not fit is a failure too", async () => {
  const { say, posted, submitted } = await opened({ "bb/createSpec/submit": () => ({ sessionId: 1 }) });
  await say("submit", { description: "text", imageUris: [] });
  expect(posted).toEqual([
    {
      type: "create-spec/submit:error",
      payload: { message: expect.stringMatching(/^The server's answer to bb\/createSpec\/submit does not fit: /) },
    },
  ]);
  expect(submitted).toEqual([]);
});

it("R004-55 R004-10: what a form should not have sent goes to nobody, and the form is told", async () => {
  const { say, asked, posted } = await opened();
  await say("submit", { description: " \n", imageUris: [] });
  await say("submit", { description: "x", imageUris: Array(6).fill("file:///a.png") });
  await say("submit", { description: "x", imageUris: ["https://example.com/a.png"] });
  expect(asked).toEqual([]);
  expect(posted.map(({ type, payload }) => [type, payload.message])).toEqual([
    ["create-spec/submit:error", "Describe the spec first."],
    ["create-spec/submit:error", "A spec has at most 5 images; remove some."],
    ["create-spec/submit:error", "An image is not a file on this disk; remove it."],
  ]);
});

it("R004-14 R004-38: with nothing to lose the form closes without a question and without a message", async () => {
  const { say, asked, posted, world } = await opened();
  await say("close-attempt", { hasDirtyChanges: false });
  expect(asked).toEqual([["closeAttempt", { hasDirtyChanges: false }]]);
  expect([posted, world.closed, world.dialogs]).toEqual([[], 1, 0]);
});

it("R004-37: who does not want to close gets confirm-close, always with false, and no draft is touched", async () => {
  // The form thinks that it is clean; the server knows better.
  const { say, asked, posted, world } = await opened({ "bb/createSpec/closeAttempt": () => ({ shouldClose: false }) });
  await say("close-attempt", { hasDirtyChanges: false });
  expect(posted).toEqual([{ type: "create-spec/confirm-close", payload: { shouldClose: false } }]);
  expect([world.dialogs, world.closed, asked.map(([method]) => method)]).toEqual([1, 0, ["closeAttempt"]]);
});

it("R004-38: who closes gets no message; the draft goes only when discard was said", async () => {
  const kept = await opened();
  kept.world.answer = "keep";
  await kept.say("close-attempt", { hasDirtyChanges: true });
  expect([kept.asked.map(([method]) => method), kept.posted, kept.world.closed]).toEqual([["closeAttempt"], [], 1]);
  const gone = await opened();
  gone.world.answer = "discard";
  await gone.say("close-attempt", { hasDirtyChanges: true });
  expect([gone.asked.map(([method]) => method), gone.posted, gone.world.closed]).toEqual([
    ["closeAttempt", "discard"],
    [],
    1,
  ]);
});

it("R004-37: a draft that could not be saved or discarded keeps the form open, and says so", async () => {
  const { say, posted, world, warnings } = await opened();
  world.running = false;
  await say("autosave", { description: "text" });
  world.answer = "keep";
  await say("close-attempt", { hasDirtyChanges: true });
  world.answer = "discard";
  await say("close-attempt", { hasDirtyChanges: true });
  expect([world.closed, posted]).toEqual([
    0,
    Array(2).fill({ type: "create-spec/confirm-close", payload: { shouldClose: false } }),
  ]);
  expect(warnings.slice(1)).toEqual([
    "The draft of the spec could not be saved, so the form stays open; restart the server.",
    "The draft of the spec was not discarded: The server does not run; restart it.",
  ]);
});

it("R004-15: a page that is thrown away because nobody sees it asks nobody anything", async () => {
  const { say, world, posted } = await opened();
  world.visible = false;
  await say("close-attempt", { hasDirtyChanges: true });
  expect([world.dialogs, world.closed, posted]).toEqual([0, 0, []]);
});

it("R004-15: a panel that the user closed by its own button is a last notice, and the draft stays", async () => {
  const { say, subject, asked, world } = await opened();
  await say("autosave", { description: "text" });
  asked.length = 0;
  subject.gone();
  await say("autosave", { description: "too late" });
  expect(asked).toEqual([["closeAttempt", { hasDirtyChanges: true, description: "text" }]]);
  expect(world.dialogs).toBe(0);
});

it("R004-16 R004-22 R004-40: a picked file is read by the server, and its words reach the form", async () => {
  const { say, asked, posted, world } = await opened({
    "bb/createSpec/importMarkdown": () => ({ content: "# Spec\r\n" }),
  });
  world.markdown = "file:///elsewhere/spec.md";
  await say("import-markdown:request");
  expect(asked).toEqual([["importMarkdown", { uri: "file:///elsewhere/spec.md" }]]);
  expect(posted).toEqual([{ type: "create-spec/import-markdown:result", payload: { content: "# Spec\r\n" } }]);
});

it("R004-21 R004-41: what the server says of a file that is empty or too large is passed on as it is", async () => {
  for (const [answer, payload] of [
    [{ content: "", warning: "The selected file is empty." }, undefined],
    [{ content: "x", warning: null }, { content: "x" }],
    [{ error: "File exceeds the 512 KB limit." }, undefined],
  ] as const) {
    const { say, posted, world } = await opened({ "bb/createSpec/importMarkdown": () => answer });
    world.markdown = "file:///spec.md";
    await say("import-markdown:request");
    expect(posted).toEqual([{ type: "create-spec/import-markdown:result", payload: payload ?? answer }]);
  }
});

it("R004-19 R004-26 R004-62: a cancelled picker asks the server nothing and has no result", async () => {
  const { say, asked, posted } = await opened();
  await say("import-markdown:request");
  await say("attach-images:request", { currentCount: 0 });
  expect([asked, posted]).toEqual([[], Array(2).fill({ type: "create-spec/picker-closed" })]);
});

it("R004-28 R004-30 R004-46: picked images go to the server by URI, and what it makes of them to the form", async () => {
  const { say, asked, posted, world } = await opened({
    "bb/createSpec/attachImages": () => ({ images: [IMAGE("a.png"), IMAGE("b.png")], capped: null }),
  });
  world.images = ["file:///a.png", "file:///b.png"];
  await say("attach-images:request", { currentCount: 2 });
  expect(asked).toEqual([["attachImages", { uris: ["file:///a.png", "file:///b.png"], currentCount: 2 }]]);
  expect(posted).toEqual([
    { type: "create-spec/attach-images:result", payload: { images: [IMAGE("a.png"), IMAGE("b.png")] } },
  ]);
});

it("R004-29 R004-57: five is the limit, whatever the server says", async () => {
  const { say, posted, world } = await opened({
    "bb/createSpec/attachImages": () => ({ images: [IMAGE("a.png"), IMAGE("b.png")] }),
  });
  world.images = ["file:///a.png", "file:///b.png"];
  await say("attach-images:request", { currentCount: 4 });
  expect(posted).toEqual([
    { type: "create-spec/attach-images:result", payload: { images: [IMAGE("a.png")], capped: true } },
  ]);
});

it("R004-27 R004-50: a refusal of images is passed on, and a server that is gone is one too", async () => {
  const error = "One or more files exceed the 10 MB size limit.";
  const { say, posted, world } = await opened({ "bb/createSpec/attachImages": () => ({ error }) });
  world.images = ["file:///a.png"];
  await say("attach-images:request", { currentCount: 0 });
  world.running = false;
  await say("attach-images:request", { currentCount: 0 });
  expect(posted).toEqual([
    { type: "create-spec/attach-images:result", payload: { error } },
    { type: "create-spec/attach-images:result", payload: { error: "The server does not run; restart it." } },
  ]);
});

it("R004-64: a count outside of 0 to 5 reaches nobody and is told as a violation", async () => {
  const { say, asked, posted, world, violations } = await opened();
  world.images = ["file:///a.png"];
  for (const currentCount of [-1, 6, 1.5, Number.NaN, "0"]) await say("attach-images:request", { currentCount });
  expect([asked, posted, violations.length]).toEqual([[], [], 5]);
});

it("R004-49: an image whose data is no image data does not reach the form, which is let go", async () => {
  const { say, posted, world, violations } = await opened({
    "bb/createSpec/attachImages": () => ({ images: [{ ...IMAGE("a.png"), dataUrl: "https://example.com/a.png" }] }),
  });
  world.images = ["file:///a.png"];
  await say("attach-images:request", { currentCount: 0 });
  expect([posted, violations.length]).toEqual([[{ type: "create-spec/picker-closed" }], 1]);
});

it("R004-36: what came while nobody could hear it comes with the next page, and is said at once elsewhere", async () => {
  const { say, posted, subject, warnings } = await opened({
    "bb/createSpec/submit": () => {
      subject.hidden();
      throw new Error("No engine.");
    },
  });
  await say("submit", { description: "text", imageUris: [] });
  expect([posted, warnings]).toEqual([[], ["The spec was not submitted: No engine."]]);
  await say("ready");
  await say("ready");
  expect(posted.map(({ type }) => type)).toEqual([
    "create-spec/init",
    "create-spec/submit:error",
    "create-spec/init",
  ]);
});

it("a second request of a kind, while the first is under way, is not taken", async () => {
  let go: () => void = () => undefined;
  const { say, asked } = await opened({
    "bb/createSpec/submit": () => new Promise((resolve) => (go = () => resolve({ sessionId: "s" }))),
  });
  const first = say("submit", { description: "text", imageUris: [] });
  await say("submit", { description: "text", imageUris: [] });
  go();
  await first;
  expect(asked.map(([method]) => method)).toEqual(["submit"]);
});

it("what is no message of the form is told as a violation and does nothing", async () => {
  const { subject, asked, posted, violations } = await opened();
  for (const message of [null, 1, {}, { type: "create-spec/cancel" }, { v: 1, kind: "req", id: "1", method: "bb.stop" }])
    await subject.receive(message);
  expect([asked, posted, violations.length]).toEqual([[], [], 5]);
});
