// @vitest-environment jsdom
/** What an ask draws of its subject, when it may be allowed, and which rule an answer saves. */
import type { Block, FileChange, Permission, PermissionOption, Subject } from "@breadboard-ls/sdk";
import { describe, expect, it, vi } from "vitest";
import { GRACE_MS } from "../../src/webview/blocks/approval_card";
import { kindsOf } from "../../src/webview/blocks/diff";
import { METHODS, openPage, refuse } from "./page";

const OPTIONS: PermissionOption[] = [
  { optionId: "once", label: "Allow once", kind: "allow_once" },
  { optionId: "no", label: "Deny", kind: "deny" },
];
const ask = (subject: Subject, more: Partial<Permission> = {}, id = "p1", turn = 1): Block => ({
  id,
  seq: 5,
  turn,
  kind: "permission",
  status: "pending",
  permission: { requestId: id, digest: "sha256:d1", title: "What is asked", subject, options: OPTIONS, ...more },
});
const edit = (diff: string, more: object = {}): Subject => ({
  kind: "edit",
  files: [{ filePath: "src/a.rs", change: "modify", added: 1, removed: 1, diff }],
  ...more,
});
/** A new file of so many lines. */
const longDiff = (lines: number): string =>
  `@@ -0,0 +1,${lines} @@\n${Array.from({ length: lines }, (_, at) => `+line ${at + 1}\n`).join("")}`;
const once = { sessionId: "s1", requestId: "p1", decision: "allow_once", optionId: "once", digest: "sha256:d1" };

type Page = Awaited<ReturnType<typeof openPage>>;
const texts = (page: Page, selector: string) => page.all(selector).map(({ textContent }) => textContent);
const wait = (page: Page, holds: () => void) =>
  vi.waitFor(async () => {
    await page.frame();
    holds();
  });
/** Does something when no hand is on its way any more. */
async function calmly(work: () => Promise<void>): Promise<void> {
  const now = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 60_000);
  await work();
  now.mockRestore();
}
async function enter(page: Page, selector: string, value: string, kind = "input"): Promise<void> {
  const control = page.one(selector) as HTMLInputElement | HTMLSelectElement;
  control.value = value;
  control.dispatchEvent(new Event(kind, { bubbles: true }));
  await page.frame();
}

describe("an option of a kind that a newer server says", () => {
  const sundays: PermissionOption = { optionId: "sundays", label: "Allow on Sundays", kind: "allow_on_sundays" };
  const command: Subject = { kind: "command", command: "make", cwd: "." };
  const unknown = (more: Partial<Permission> = {}) => ask(command, { options: [sundays, ...OPTIONS], ...more });

  it("stands under its label beside the others, is told of, and goes by its id as no consent of this page's", async () => {
    const page = await openPage({ lanes: { chat: [unknown()] } });
    expect([texts(page, ".buttons .primary"), texts(page, ".buttons .secondary")]).toEqual([
      ["Allow once"],
      ["Allow on Sundays", "Deny"],
    ]);
    expect(page.one(".approval").textContent).toContain("What “Allow on Sundays” does is not known here");
    await calmly(() => page.click(".approval button", /^Allow on Sundays$/));
    expect(page.asked("bb.approvePermission")).toEqual([{ ...once, decision: "deny", optionId: "sundays" }]);
    expect(page.all(".banner.error")).toEqual([]);
  });

  it("is held to what allowing is held to: trust, and that all of it was shown", async () => {
    const untrusted = await openPage({ lanes: { chat: [unknown()] }, status: { trusted: false } });
    expect((untrusted.one(".approval button", /^Allow on Sundays$/) as HTMLButtonElement).disabled).toBe(true);
    const folded = await openPage({ lanes: { chat: [ask(edit(longDiff(300)), { options: [sundays, ...OPTIONS] })] } });
    await calmly(() => folded.click(".approval button", /^Allow on Sundays$/));
    expect(folded.asked("bb.approvePermission")).toEqual([]);
  });

  it("is named where it was chosen, since how it stands says too little", async () => {
    const chosen = { optionId: "sundays", label: "Allow on Sundays" };
    const page = await openPage({ lanes: { chat: [{ ...unknown(), status: "allowed", chosen } as Block] } });
    expect(page.one(".approval .status").textContent).toBe("allowed: “Allow on Sundays”");
  });
});

describe("the subject of an ask", () => {
  it("a command beside what is not saved: the file as code, and one answer that stands out", async () => {
    const subject: Subject = { kind: "command", command: "make", cwd: ".", reason: "to see\nnot saved: `a.rs`." };
    const options = ([["save_and_run", "Save and run"], ["once", "Run anyway"]] as const).map(([optionId, label]) => ({
      optionId,
      label,
      kind: "allow_once" as const,
    }));
    const page = await openPage({ lanes: { chat: [ask(subject, { options })] } });
    expect([page.one(".reason code").textContent, texts(page, ".buttons .primary"), texts(page, ".buttons .secondary")]).toEqual([
      "a.rs",
      ["Save and run"],
      ["Run anyway"],
    ]);
  });

  it("an edit: each file with what happens to it, its counts and its diff, and the reason", async () => {
    const subject: Subject = {
      kind: "edit",
      reason: "The name was wrong.",
      files: [
        { filePath: "src/a.rs", change: "modify", added: 1, removed: 1, diff: "@@ -1 +1 @@\n--- old\n+++ new\n" },
        { filePath: "b.txt", root: "web", change: "create", added: 0 },
        { filePath: "new.txt", oldPath: "old.txt", change: "rename" },
        { filePath: "gone.txt", change: "delete", removed: 3 },
      ],
    };
    const page = await openPage({ lanes: { chat: [ask(subject)] } });
    expect([
      page.one(".approval").getAttribute("aria-label"),
      page.one(".approval header").textContent,
      page.one(".reason").textContent,
    ]).toEqual(["Request: What is asked", "The agent asks to change files", "Reason: The name was wrong."]);
    expect(
      page
        .all(".changes > li")
        .map((file) => [...file.querySelectorAll(".change, .path, .count")].map(({ textContent }) => textContent)),
    ).toEqual([
      ["change", "src/a.rs", "+1", "−1"],
      ["create", "web/b.txt", "+0"],
      ["rename", "old.txt → new.txt"],
      ["delete", "gone.txt", "−3"],
    ]);
    expect(page.all(".diff .line").map((line) => [line.className, line.textContent])).toEqual([
      ["line hunk", "@@ -1 +1 @@\n"],
      ["line removed", "--- old\n"],
      ["line added", "+++ new\n"],
    ]);
  });

  it("a command: the exact line, where it runs and its variables", async () => {
    const subject: Subject = { kind: "command", command: "make\n  all", cwd: "web", env: { CI: "1", DEBUG: "a b" } };
    const page = await openPage({ lanes: { chat: [ask(subject)] } });
    expect([
      page.one("pre[aria-label=Command]").textContent,
      page.one(".subject .hint").textContent,
      texts(page, '[aria-label="Environment variables"] > div > *'),
    ]).toEqual(["make\n  all", "in web", ["CI", "1", "DEBUG", "a b"]]);
  });

  it("a command in the root says nothing of a place or of variables", async () => {
    const page = await openPage({ lanes: { chat: [ask({ kind: "command", command: "ls", cwd: ".", env: {} })] } });
    expect(page.one(".subject").textContent).toBe("ls");
  });

  it("a tool: its name, and its arguments as lines", async () => {
    const input = { query: "two words", limit: 3, tags: ["a", "b"], deep: { x: 1 }, user_id: null };
    const page = await openPage({ lanes: { chat: [ask({ kind: "tool", name: "web_search", input })] } });
    expect([page.one(".tool-name").textContent, texts(page, "[aria-label=Arguments] > div > *")]).toEqual([
      "web_search",
      ["query", "two words", "limit", "3", "tags", "a\nb", "deep", '{\n  "x": 1\n}', "user_id", "null"],
    ]);
  });

  it("what the agent never told is said in one sentence", async () => {
    const page = await openPage({ lanes: { chat: [ask({ kind: "tool", name: "shell", unknown: true })] } });
    expect(page.one(".approval .notice").textContent).toBe(
      "The agent did not say exactly what it would do, so this can be allowed once only.",
    );
  });

  it("a settled ask is its sentence alone", async () => {
    const page = await openPage({ lanes: { chat: [{ ...ask(edit(longDiff(3))), status: "allowed" } as Block] } });
    expect([texts(page, ".approval .asked"), page.all(".approval .diff").length]).toEqual([["What is asked"], 0]);
  });
});

it("D17: a settled card says what was chosen, where it holds and who keeps it, from its block alone", async () => {
  const options: PermissionOption[] = [
    { optionId: "save_and_run", label: "Save and run", kind: "allow_once" },
    { optionId: "once", label: "Run anyway", kind: "allow_once" },
    { optionId: "deny", label: "Deny", kind: "deny" },
  ];
  const always = { optionId: "always", label: "Always" };
  const rows: [object, string][] = [
    [
      { status: "allowed", chosen: { ...always, rule: { pattern: "x", scope: "session", holder: "server" } } },
      "allowed, and kept by the server for this session",
    ],
    [
      {
        status: "allowed",
        chosen: { ...always, rule: { pattern: "x", scope: "workspace", holder: "engine", keptBy: "breadboard" } },
      },
      "allowed, and kept by breadboard for this workspace; take it back there",
    ],
    [
      {
        status: "allowed",
        chosen: {
          ...always,
          rule: { pattern: "x", scope: "workspace", holder: "engine", keptBy: "breadboard", keptIn: ".e/rules.json" },
        },
      },
      "allowed, and kept by breadboard in .e/rules.json for this workspace; take it back there",
    ],
    [
      { status: "allowed", chosen: { ...always, rule: { pattern: "x", holder: "agent", keptBy: "claude" } } },
      "allowed, and kept by claude; take it back there",
    ],
    [{ status: "allowed", chosen: { optionId: "once", label: "Run anyway" } }, "allowed: “Run anyway”"],
    [{ status: "denied", chosen: { optionId: "deny", label: "Deny" } }, "denied"],
    [{ status: "allowed" }, "allowed"],
  ];
  for (const [settled, words] of rows) {
    const block = { ...ask({ kind: "tool", name: "shell" }, { options }), ...settled } as Block;
    const page = await openPage({ lanes: { chat: [block] } });
    expect(page.one(".approval header .status").textContent).toBe(words);
  }
});

it("a command beside unsaved files has an answer that saves them first, by its own id", async () => {
  const reason = "Changed in the editor, not saved: `a.txt`.";
  const options: PermissionOption[] = [
    { optionId: "save_and_run", label: "Save and run", kind: "allow_once" },
    { optionId: "allow_once", label: "Run anyway", kind: "allow_once" },
    { optionId: "deny", label: "Deny", kind: "deny" },
  ];
  const command: Subject = { kind: "command", command: "make", cwd: ".", reason };
  const page = await openPage({ lanes: { chat: [ask(command, { options })] } });
  expect(texts(page, ".approval .buttons button").slice(0, 3)).toEqual(["Save and run", "Run anyway", "Deny"]);
  expect(page.one(".approval").textContent).toContain("not saved: a.txt");
  // While it saves, another answer can be given: the editor may never say that it saved.
  await page.put(11, "chat", { ...ask(command, { options }), status: "saving" } as Block);
  expect(page.one(".approval header .status").textContent).toBe("saving what is unsaved, then it runs");
  expect(texts(page, ".approval .buttons button").slice(1, 3)).toEqual(["Run anyway", "Deny"]);
  // A save that failed is said where it is asked again.
  const problem = "The editor did not save `a.txt`, so the command did not run.";
  await page.put(12, "chat", { ...ask(command, { options }), status: "pending", problem } as Block);
  expect(page.one(".approval .fault").textContent).toBe(problem);
});

describe("a question", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string", title: "Your name", description: "As it is signed.", minLength: 2 },
      count: { type: "integer", minimum: 1, default: 5 },
      push: { type: "boolean", default: true },
      level: { enum: ["low", "high"], enumNames: ["Low", "High"] },
      note: { type: "string" },
    },
    required: ["name", "level"],
  };
  const question: Subject = { kind: "question", text: "Sign the release?", input: { message: "Sign it.", schema } };

  it("is a form whose fields go with the answer that allows", async () => {
    const page = await openPage({ lanes: { chat: [ask(question)] } });
    expect([texts(page, ".question"), texts(page, ".field label > span")]).toEqual([
      ["Sign the release?", "Sign it."],
      ["Your name (required)", "count", "push", "level (required)", "note"],
    ]);
    await enter(page, ".field [name=name]", "Ada");
    await enter(page, ".field [name=level]", "1", "change");
    await page.click(".field [name=push]");
    await calmly(() => page.click(".approval button", /^Allow once$/));
    expect(page.asked("bb.approvePermission")).toEqual([
      { ...once, content: { name: "Ada", count: 5, push: false, level: "high" } },
    ]);
  });

  it("is not answered while a field is wrong, and says which", async () => {
    const page = await openPage({ lanes: { chat: [ask(question)] } });
    await enter(page, ".field [name=name]", "A");
    await enter(page, ".field [name=count]", "1.5");
    await calmly(() => page.click(".approval button", /^Allow once$/));
    expect([texts(page, ".fault"), page.asked("bb.approvePermission")]).toEqual([
      ["This must have at least 2 characters.", "This must be a whole number.", "Fill this in."],
      [],
    ]);
    expect(page.one(".field [name=count]").getAttribute("aria-invalid")).toBe("true");
  });

  it("is denied without what was filled in", async () => {
    const page = await openPage({ lanes: { chat: [ask(question)] } });
    await enter(page, ".field [name=name]", "Ada");
    await calmly(() => page.click(".approval button", /^Deny$/));
    expect(page.asked("bb.approvePermission")).toEqual([{ ...once, decision: "deny", optionId: "no" }]);
  });

  it("shows an address, and visits it only when it is pressed", async () => {
    const url = "https://example.org/login";
    const page = await openPage({
      lanes: { chat: [ask({ kind: "question", text: "Log in", input: { message: "Log in", url } })] },
    });
    expect([page.one(".address code").textContent, page.asked("editor.openLink")]).toEqual([url, []]);
    await page.click(".address button");
    expect(page.asked("editor.openLink")).toEqual([{ uri: url }]);
    await calmly(() => page.click(".approval button", /^Allow once$/));
    expect(page.asked("bb.approvePermission")).toEqual([once]);
  });
});

describe("a subject that was cut", () => {
  const cut = ask(edit("@@ -0,0 +1,300 @@\n+line 1\n", { truncated: true }));
  const status = { methods: ["bb/permission/get"] };
  const whole = (subject: Subject, more: object = {}) => ({
    permission: { ...(cut as { permission: Permission }).permission, subject, ...more },
    status: "pending",
  });
  const allow = (page: Page) => page.one(".approval button", /^Allow once$/);

  it("cannot be allowed before all of it was read and drawn, and can be denied", async () => {
    let give: (answer: unknown) => void = () => undefined;
    const page = await openPage({
      status,
      lanes: { chat: [cut] },
      answers: { "bb.permission.get": () => new Promise((resolve) => (give = resolve)) },
    });
    await wait(page, () => expect(page.asked("bb.permission.get")).toEqual([{ sessionId: "s1", requestId: "p1" }]));
    await calmly(async () => {
      await page.click(".approval button", /^Allow once$/);
      expect([page.asked("bb.approvePermission"), allow(page).getAttribute("aria-disabled")]).toEqual([[], "true"]);
      await page.click(".approval button", /^Deny$/);
    });
    give(whole(edit(longDiff(300))));
    await wait(page, () => expect(texts(page, ".approval .diff .line").length).toBe(200));
    await page.click(".approval .diff button", "Show all 301 lines");
    await calmly(() => page.click(".approval button", /^Allow once$/));
    expect(page.asked("bb.approvePermission")).toEqual([{ ...once, decision: "deny", optionId: "no" }, once]);
  });

  it("a hand that was on its way when the rest came allows nothing, and a later one does", async () => {
    let give: (answer: unknown) => void = () => undefined;
    const page = await openPage({
      status,
      lanes: { chat: [cut] },
      answers: { "bb.permission.get": () => new Promise((resolve) => (give = resolve)) },
    });
    await wait(page, () => expect(page.asked("bb.permission.get").length).toBe(1));
    const now = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 60_000);
    give(whole(edit("+x\n")));
    for (let frames = 0; frames < 5; frames += 1) await page.frame();
    expect(texts(page, ".approval .diff .line")).toEqual(["+x\n"]);
    allow(page).click();
    expect(page.asked("bb.approvePermission")).toEqual([]);
    now.mockReturnValue(performance.now() + GRACE_MS);
    allow(page).click();
    now.mockRestore();
    await page.frame();
    expect(page.asked("bb.approvePermission")).toEqual([once]);
  });

  it("of 300 lines says how many are not shown, and shows the very last one", async () => {
    const page = await openPage({
      status,
      lanes: { chat: [cut] },
      answers: { "bb.permission.get": () => whole(edit(longDiff(300))) },
    });
    await wait(page, () => expect(page.one(".diff .hint").textContent).toBe("101 more lines. Show all 301 lines"));
    await page.click(".diff button", "Show all 301 lines");
    const lines = texts(page, ".approval .diff .line");
    expect([lines.length, lines.at(-1), page.all(".diff .hint").length]).toEqual([301, "+line 300\n", 0]);
    expect(document.activeElement).toBe(page.one(".diff pre"));
  });

  it("that cannot be read is said, and is read again when somebody wants it", async () => {
    const page = await openPage({
      status,
      lanes: { chat: [cut] },
      answers: { "bb.permission.get": refuse("internal", "The journal cannot be read") },
    });
    await wait(page, () =>
      expect(page.one(".approval .fault").textContent).toBe(
        "This is not all of it, and the rest could not be read: The journal cannot be read. Until then it can only " +
          "be denied. Try again",
      ),
    );
    await calmly(() => page.click(".approval button", /^Allow once$/));
    expect(page.asked("bb.approvePermission")).toEqual([]);
    page.answers["bb.permission.get"] = () => whole(edit("+x\n"));
    await page.click(".approval .fault button", "Try again");
    await wait(page, () => expect(page.all(".approval .fault")).toEqual([]));
    await calmly(() => page.click(".approval button", /^Allow once$/));
    expect([texts(page, ".approval .diff .line"), page.asked("bb.approvePermission")]).toEqual([["+x\n"], [once]]);
  });

  it.each([
    ["is another than the one that was shown", whole(edit("+x\n"), { digest: "sha256:d2" }), /not what was shown/],
    ["is cut as well", whole(edit("+x\n", { truncated: true })), /does not have all of it/],
    [
      "has a file that is cut",
      whole({ kind: "edit", files: [{ filePath: "a", change: "modify", truncated: true }] }),
      /does not have all of it/,
    ],
  ])("whose whole %s cannot be allowed", async (_what, answer, sentence) => {
    const page = await openPage({ status, lanes: { chat: [cut] }, answers: { "bb.permission.get": () => answer } });
    await wait(page, () => expect(page.one(".approval .fault").textContent).toMatch(sentence));
    await calmly(() => page.click(".approval button", /^Allow once$/));
    expect(page.asked("bb.approvePermission")).toEqual([]);
  });

  it("one that is whole is not read again", async () => {
    const page = await openPage({ status, lanes: { chat: [ask(edit("+x\n"))] } });
    expect(page.asked("bb.permission.get")).toEqual([]);
  });
});

describe("an ask that is longer than its card draws at first", () => {
  const file = (at: number, diff: string): FileChange => ({ filePath: `f${at}.rs`, change: "create", diff });
  const edits = (...files: FileChange[]): Subject => ({ kind: "edit", files });
  const allow = (page: Page) => page.one(".approval button", /^Allow once$/);
  const tryIt = async (page: Page) => {
    await calmly(() => page.click(".approval button", /^Allow once$/));
    return page.asked("bb.approvePermission");
  };
  const folded = (page: Page) => texts(page, ".approval .hint[role=status]");
  const hint = (what: string) => `Folded away and not shown yet: ${what}. It can be allowed once all of it was shown. Show all of it`;

  it("cannot be allowed while lines of it are folded away, and can be denied", async () => {
    const page = await openPage({ lanes: { chat: [ask(edit(longDiff(300)))] } });
    expect([folded(page), allow(page).getAttribute("aria-disabled"), await tryIt(page)]).toEqual([
      [hint("101 lines")],
      "true",
      [],
    ]);
    expect(document.getElementById(allow(page).getAttribute("aria-describedby") ?? "")?.textContent).toBe(hint("101 lines"));
    await calmly(() => page.click(".approval button", /^Deny$/));
    expect(page.asked("bb.approvePermission")).toEqual([{ ...once, decision: "deny", optionId: "no" }]);
  });

  it("can be allowed once all was unfolded, and not by the hand that unfolded it", async () => {
    const page = await openPage({ lanes: { chat: [ask(edit(longDiff(300)))] } });
    const now = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 60_000);
    await page.click(".approval .hint[role=status] button", "Show all of it");
    expect([texts(page, ".approval .diff .line").length, folded(page)]).toEqual([301, []]);
    expect(document.activeElement).toBe(page.one(".diff pre"));
    allow(page).click();
    expect(page.asked("bb.approvePermission")).toEqual([]);
    now.mockReturnValue(performance.now() + GRACE_MS);
    allow(page).click();
    now.mockRestore();
    await page.frame();
    expect(page.asked("bb.approvePermission")).toEqual([once]);
  });

  it("a rule of it cannot be saved either", async () => {
    const rule: PermissionOption = {
      optionId: "session",
      label: "Allow for this session",
      kind: "allow_rule",
      rule: { pattern: "edit: src/a.rs", scope: "session", holder: "server" },
    };
    const page = await openPage({ lanes: { chat: [ask(edit(longDiff(300)), { options: [...OPTIONS, rule] })] } });
    await calmly(() => page.click(".buttons button", "Allow for this session"));
    await calmly(() => page.click(".rule button", "Save the rule and allow"));
    expect(page.asked("bb.approvePermission")).toEqual([]);
  });

  it("in several parts needs each of them: files that are not listed, and long changes of those that are", async () => {
    const files = Array.from({ length: 52 }, (_, at) => file(at, longDiff(at === 3 || at === 51 ? 300 : 1)));
    const page = await openPage({ lanes: { chat: [ask(edits(...files))] } });
    expect(folded(page)).toEqual([hint("2 files and 202 lines")]);
    await page.click(".approval .diff button", "Show all 301 lines");
    expect([folded(page), await tryIt(page)]).toEqual([[hint("2 files and 101 lines")], []]);
    await page.click(".approval .subject > .hint button", "Show all 52 files");
    expect([folded(page), await tryIt(page)]).toEqual([[hint("101 lines")], []]);
    await page.click(".approval .diff button", "Show all 301 lines");
    expect([folded(page), await tryIt(page)]).toEqual([[], [once]]);
  });

  it("counts as shown where the editor compares it, and not where the editor could not", async () => {
    const patch: Block = {
      id: "patch-x1",
      seq: 4,
      turn: 1,
      kind: "patch",
      patchId: "x1",
      files: [
        { filePath: "f1.rs", added: 300, removed: 0 },
        { filePath: "f2.rs", added: 300, removed: 0 },
      ],
    };
    const page = await openPage({
      lanes: { chat: [patch, ask(edits(file(1, longDiff(300)), file(2, longDiff(300))), { patchId: "x1" })] },
      answers: { "editor.showDiff": refuse("not_found", "There is no such file") },
    });
    const compare = async (at: number) => {
      page.all(".approval .files button", "Compare")[at]?.click();
      await page.frame();
      return folded(page);
    };
    expect([await compare(0), page.asked("editor.showDiff").length]).toEqual([[hint("202 lines")], 1]);
    page.answers["editor.showDiff"] = () => ({});
    expect([await compare(0), await tryIt(page)]).toEqual([[hint("101 lines")], []]);
    expect([await compare(1), texts(page, ".approval .diff .line").length]).toEqual([[], 400]);
    expect(await tryIt(page)).toEqual([once]);
  });

  it("whose change is that of its patch counts the lines of the patch", async () => {
    const patch: Block = {
      id: "patch-x1",
      seq: 4,
      turn: 1,
      kind: "patch",
      patchId: "x1",
      files: [{ filePath: "f1.rs", added: 300, removed: 0 }],
      diff: longDiff(300),
    };
    const page = await openPage({
      lanes: { chat: [patch, ask(edits({ filePath: "f1.rs", change: "create" }), { patchId: "x1" })] },
    });
    expect([folded(page), await tryIt(page)]).toEqual([[hint("101 lines")], []]);
    await page.click(".approval .diff button", "Show all 301 lines");
    expect(await tryIt(page)).toEqual([once]);
  });

  it("of 200 lines is drawn whole, and what was unfolded of one text counts for no other", async () => {
    const page = await openPage({ lanes: { chat: [ask(edit(longDiff(199)))] } });
    expect(folded(page)).toEqual([]);
    await page.put(11, "chat", ask(edit(longDiff(300)), { digest: "sha256:d2" }));
    await page.click(".approval .diff button", "Show all 301 lines");
    expect(folded(page)).toEqual([]);
    await page.put(12, "chat", ask(edit(longDiff(300)), { digest: "sha256:d3" }));
    expect([folded(page), await tryIt(page)]).toEqual([[hint("101 lines")], []]);
  });
});

describe("an ask and the patch that it is about", () => {
  const patch = (patchId = "x1", turn = 1): Block => ({
    id: `patch-${patchId}`,
    seq: 4,
    turn,
    kind: "patch",
    patchId,
    files: [{ filePath: "src/a.rs", added: 1, removed: 0 }],
    diff: "@@ -0,0 +1 @@\n+of the patch\n",
  });
  const mine = edit("@@ -0,0 +1 @@\n+of the ask\n");
  const added = (page: Page) => texts(page, ".diff .added");

  const call = (more: object = {}): Block =>
    ({ id: "t1", seq: 3, turn: 1, kind: "tool", name: "propose_patch", status: "running", ...more }) as Block;

  it("are one card with the call that proposed it: before the answer and after it", async () => {
    const page = await openPage({ lanes: { chat: [call(), patch(), ask(mine, { patchId: "x1" })] } });
    expect([page.all(".row").length, added(page), texts(page, ".approval .path")]).toEqual([
      1,
      ["+of the ask\n"],
      ["src/a.rs"],
    ]);
    await page.click(".approval .files button", "Compare");
    expect(page.asked("editor.showDiff")).toEqual([
      { sessionId: "s1", filePath: "src/a.rs", beforeRef: "disk", afterRef: "patch:x1" },
    ]);
    await page.put(11, "chat", { ...ask(mine, { patchId: "x1" }), status: "allowed" } as Block);
    await page.put(12, "chat", call({ status: "ok", preview: '{"summary":"applied"}' }));
    expect([page.all(".row").length, page.one(".approval header").textContent, added(page)]).toEqual([1, "allowed", []]);
    // Both sides would be the same now.
    expect([page.asked("editor.closeDiff"), page.all(".approval .files button", "Compare").length]).toEqual([
      [{ afterRef: "patch:x1" }],
      0,
    ]);
    const diff = page.one(".approval details") as HTMLDetailsElement;
    diff.open = true;
    diff.dispatchEvent(new Event("toggle"));
    await page.frame();
    expect(added(page)).toEqual(["+of the ask\n"]);
  });

  it("where nobody is asked the patch has the call, and says why it failed", async () => {
    const failed = call({ status: "failed", preview: '{"error":"`src/a.rs` was changed meanwhile."}' });
    const page = await openPage({ lanes: { chat: [failed, patch()] } });
    expect([page.all(".row").length, page.one(".patch header .status").textContent, texts(page, ".patch .output")]).toEqual([
      1,
      "failed",
      ["`src/a.rs` was changed meanwhile."],
    ]);
  });

  it("in a workspace of several folders open and compare the file of the folder that is named", async () => {
    const patched = { ...patch(), files: [{ filePath: "web/src/a.rs", added: 1, removed: 0 }] } as Block;
    const page = await openPage({ status: { roots: ["uploads", "web"] }, lanes: { chat: [patched] } });
    await page.click(".patch .path");
    await page.click(".patch button", "Compare");
    expect(page.story("editor.openFile", "editor.showDiff")).toEqual([
      ["editor.openFile", { path: "src/a.rs", root: "web" }],
      [
        "editor.showDiff",
        { sessionId: "s1", filePath: "src/a.rs", root: "web", beforeRef: "disk", afterRef: "patch:x1" },
      ],
    ]);
    await page.pane("Files");
    await page.click(".pane .files button", "Compare with HEAD");
    expect(page.asked("editor.showDiff").at(-1)).toEqual({ sessionId: "s1", filePath: "src/a.rs", root: "web" });
  });

  it.each([
    ["by the id of the call", { toolCallId: "c1" }, { toolCallId: "c1" }],
    ["by its place right after the call", {}, {}],
  ])("a call that was not allowed is denied, whatever its engine says: %s", async (_how, ofCall, ofAsk) => {
    const run = call({ name: "run_command", title: "run_command make", status: "failed", preview: "The user denied it. Do not try again.", ...ofCall });
    const denied = { ...ask({ kind: "command", command: "make", cwd: "." }, ofAsk), status: "denied" } as Block;
    const page = await openPage({ lanes: { chat: [run, denied] } });
    expect([page.one(".tool").className, page.one(".tool summary").textContent, texts(page, ".tool .hint")]).toEqual([
      "card tool denied",
      "Run makedenied",
      ["It was not allowed, so nothing was done."],
    ]);
    // The answer is a line: all of the call stands in its card.
    expect([page.one(".approval header").textContent, texts(page, ".approval .asked")]).toEqual([
      "deniedWhat is asked",
      [],
    ]);
  });

  it("are not guessed from the title: a command that names a file of a patch shows no diff of it", async () => {
    const command: Subject = { kind: "command", command: "cargo test src/a.rs", cwd: "." };
    const page = await openPage({
      lanes: { chat: [patch(), ask(command, { title: "Run `cargo test src/a.rs`" })] },
    });
    expect([page.all(".approval .diff").length, page.one(".approval .subject").textContent, added(page)]).toEqual([
      0,
      "cargo test src/a.rs",
      ["+of the patch\n"],
    ]);
  });

  it.each([
    ["another patch", patch("x2")],
    ["a patch of another turn", patch("x1", 2)],
  ])("%s keeps its diff", async (_what, other) => {
    const page = await openPage({ lanes: { chat: [other, ask(mine, { patchId: "x1" })] } });
    expect(added(page)).toEqual(["+of the patch\n", "+of the ask\n"]);
  });
});

describe("an ask that the editor wants seen", () => {
  const command: Subject = { kind: "command", command: "make all", cwd: "." };
  const show = async (page: Page, params: object) => {
    page.deliver({ v: 1, kind: "req", id: "h1", method: "page.showAsk", params });
    await page.frame();
    return document.activeElement?.closest("[data-request]")?.getAttribute("data-request") ?? document.activeElement;
  };

  it.each([
    ["by its id", { requestId: "p2" }, "p2"],
    ["the oldest, where it names none", {}, "p1"],
    ["the oldest, where it was answered meanwhile", { requestId: "gone" }, "p1"],
  ])("has the focus in the chat: %s", async (_which, named, id) => {
    const page = await openPage({ lanes: { chat: [ask(command), ask(command, {}, "p2")] } });
    await page.pane("Run");
    expect(await show(page, { sessionId: "s1", ...named })).toBe(id);
  });

  it("where nothing waits any more the prompt has it", async () => {
    const page = await openPage();
    expect(await show(page, { sessionId: "s1", requestId: "p1" })).toBe(page.one(".composer textarea"));
  });
});

describe("the rule of an answer", () => {
  const command: Subject = { kind: "command", command: "make all", cwd: "." };
  const options: PermissionOption[] = [
    {
      optionId: "session",
      label: "Allow for this session",
      kind: "allow_rule",
      rule: { pattern: "run: make all", scope: "session", holder: "server" },
    },
    {
      optionId: "workspace",
      label: "Always allow in this workspace",
      kind: "allow_rule",
      rule: { pattern: "run: make *", scope: "workspace", holder: "engine" },
    },
    {
      optionId: "agent",
      label: "Always",
      kind: "allow_rule",
      rule: { pattern: "Always allow make", holder: "agent" },
    },
  ];
  const open = (offered = options) => openPage({ lanes: { chat: [ask(command, { options: offered })] } });
  const rule = (page: Page) => [
    (page.one(".rule input") as HTMLInputElement).value,
    (page.one(".rule select") as HTMLSelectElement).value,
    texts(page, ".rule option"),
  ];
  const saved = { ...once, decision: "allow_rule" };

  it("is the rule of that option, with its own scope, whichever was looked at before", async () => {
    const page = await open();
    await page.click(".buttons button", "Always allow in this workspace");
    expect(rule(page)).toEqual(["run: make *", "workspace", ["in this session", "in this workspace"]]);
    await enter(page, ".rule select", "session", "change");
    await enter(page, ".rule input", "run: make x");
    await page.click(".buttons button", "Allow for this session");
    expect(rule(page)).toEqual(["run: make all", "session", ["in this session"]]);
    await page.click(".buttons button", "Always allow in this workspace");
    expect(rule(page)).toEqual(["run: make x", "session", ["in this session", "in this workspace"]]);
    await page.click(".buttons button", "Allow for this session");
    await calmly(() => page.click(".rule button", "Save the rule and allow"));
    expect(page.asked("bb.approvePermission")).toEqual([{ ...saved, optionId: "session" }]);
  });

  it("can be narrowed in its words only where an engine keeps it and takes a `*`: any other change is refused", async () => {
    const exact = { pattern: "run: make", scope: "workspace", holder: "engine", keptIn: ".e/rules.json" } as const;
    const page = await open([...options, { optionId: "exact", label: "Exactly this", kind: "allow_rule", rule: exact }]);
    const standing: unknown[] = [];
    for (const label of ["Allow for this session", "Always allow in this workspace", "Exactly this"]) {
      await page.click(".buttons button", label);
      const { value, readOnly } = page.one(".rule input") as HTMLInputElement;
      standing.push([value, readOnly, texts(page, ".rule .hint")]);
    }
    expect(standing).toEqual([
      ["run: make all", true, []],
      ["run: make *", false, ["The engine keeps this rule; a * at its end stands for whatever follows."]],
      ["run: make", true, ["The engine keeps this rule in .e/rules.json."]],
    ]);
  });

  it("is sent as it was narrowed, in its words and in where it holds", async () => {
    const page = await open();
    await page.click(".buttons button", "Always allow in this workspace");
    await enter(page, ".rule select", "session", "change");
    await enter(page, ".rule input", "run: make x");
    await calmly(() => page.click(".rule button", "Save the rule and allow"));
    expect(page.asked("bb.approvePermission")).toEqual([
      { ...saved, optionId: "workspace", ruleUpdate: { pattern: "run: make x", scope: "session" } },
    ]);
  });

  it("in the workspace stays in the workspace where nobody narrowed it in the end", async () => {
    const page = await open();
    await page.click(".buttons button", "Allow for this session");
    await page.click(".buttons button", "Always allow in this workspace");
    await enter(page, ".rule select", "session", "change");
    await enter(page, ".rule select", "workspace", "change");
    await calmly(() => page.click(".rule button", "Save the rule and allow"));
    expect(page.asked("bb.approvePermission")).toEqual([{ ...saved, optionId: "workspace" }]);
  });

  it("is sent where it was changed, and only what was", async () => {
    const page = await open();
    await page.click(".buttons button", "Always allow in this workspace");
    await enter(page, ".rule select", "session", "change");
    await calmly(() => page.click(".rule button", "Save the rule and allow"));
    expect(page.asked("bb.approvePermission")).toEqual([
      { ...saved, optionId: "workspace", ruleUpdate: { scope: "session" } },
    ]);
  });

  it("that the agent keeps is said, and the answer is given at once", async () => {
    const page = await open();
    expect(page.one(".kept").textContent).toBe("Always: the agent keeps this rule, Always allow make");
    await calmly(() => page.click(".buttons button", /^Always$/));
    expect([page.all(".rule").length, page.asked("bb.approvePermission")]).toEqual([
      0,
      [{ ...saved, optionId: "agent" }],
    ]);
  });

  it("that the agent keeps and whose label is cut is named once, whole", async () => {
    const pattern = `Always allow ${"make ".repeat(60)}`;
    const label = "Always allow make make⟨… 250 more characters, sha256 540c51440c06bf3f⟩";
    const options: PermissionOption[] = [
      { optionId: "always", label, kind: "allow_rule", rule: { pattern, holder: "agent" } },
    ];
    const page = await openPage({ lanes: { chat: [ask({ kind: "command", command: "make", cwd: "." }, { options })] } });
    expect(page.one(".kept").textContent).toBe(`the agent keeps this rule, ${pattern}`);
  });
});

it("a line of a file that begins like a head is no head; the lines that name a file are", () => {
  const lines = [
    ["--- a/x", "head"],
    ["+++ b/x", "head"],
    ["@@ -1,2 +1,2 @@", "hunk"],
    ["--- one", "removed"],
    ["+++ two", "added"],
    [" same", "context"],
    ["\\ No newline at end of file", "context"],
    ["@@ -9,0 +9 @@", "hunk"],
    ["+x", "added"],
  ] as const;
  expect(kindsOf(lines.map(([line]) => line))).toEqual(lines.map(([, kind]) => kind));
});

describe("a card that comes with its end", () => {
  /** What the browser says of the head of the card. */
  const observers: ((isIntersecting: boolean) => void)[] = [];
  class Observer {
    constructor(tell: (entries: readonly { isIntersecting: boolean }[]) => void) {
      observers.push((isIntersecting) => tell([{ isIntersecting }]));
    }
    observe(): void {}
    disconnect(): void {}
  }

  it("can be allowed once its beginning was on the screen, and denied before", async () => {
    vi.stubGlobal("IntersectionObserver", Observer);
    observers.length = 0;
    const page = await openPage({ lanes: { chat: [ask({ kind: "command", command: "one\ntwo", cwd: "." })] } });
    const allow = () => page.one(".buttons .primary");
    await page.frame();
    expect([allow().getAttribute("aria-disabled"), texts(page, ".approval .hint")]).toEqual(["true", []]);
    // The head is above the edge
    observers.at(-1)?.(false);
    await page.frame();
    expect(texts(page, ".approval .hint")).toEqual([
      "It begins further up, which was not on the screen yet. It can be allowed once it was. Show its beginning",
    ]);
    await calmly(async () => {
      allow().click();
      await page.frame();
    });
    expect(page.asked("bb.approvePermission")).toEqual([]);
    // It is brought into view
    const into = vi.fn();
    page.one(".approval").scrollIntoView = into;
    page.all("button").find(({ textContent }) => textContent === "Show its beginning")?.click();
    expect(into).toHaveBeenCalledWith({ block: "start" });
    observers.at(-1)?.(true);
    await page.frame();
    expect(texts(page, ".approval .hint")).toEqual([]);
    await calmly(async () => {
      allow().click();
      await page.frame();
    });
    expect(page.asked("bb.approvePermission")).toEqual([once]);
    vi.unstubAllGlobals();
  });
});

it("line ends of Windows are not drawn where every line has them, and are where they are what changes", async () => {
  for (const [diff, drawn] of [
    ["@@ -1,2 +1,2 @@\n k␍\n-x␍\n+y␍\n", "@@ -1,2 +1,2 @@\n k\n-x\n+y\n"],
    ["@@ -1,2 +1,2 @@\n k␍\n-x␍\n+x\n", "@@ -1,2 +1,2 @@\n k␍\n-x␍\n+x\n"],
  ] as const) {
    const page = await openPage({ lanes: { chat: [ask(edit(diff))] } });
    expect(texts(page, ".diff pre")).toEqual([drawn]);
  }
});

describe("an edit of several changes", () => {
  const hunk = (id: string, at: number, lines: string) => ({
    id,
    oldStart: at,
    oldLines: 1,
    newStart: at,
    newLines: 1,
    content: lines,
    state: "proposed",
  });
  const PATCH = {
    patchId: "pt",
    sessionId: "s1",
    requestId: "p1",
    digest: "sha256:d1",
    status: "pending",
    files: [
      { filePath: "src/a.rs", change: "modify", outcome: "pending", hunks: [hunk("h1", 1, "-a\n+b\n"), hunk("h2", 30, "-c\n+d\n")] },
      { filePath: "b.txt", root: "web", change: "modify", outcome: "pending", hunks: [hunk("h3", 1, "-e\n+f\n")] },
    ],
  };
  const two: Subject = {
    kind: "edit",
    files: [
      { filePath: "src/a.rs", change: "modify", added: 2, removed: 2, diff: "@@ -1 +1 @@\n-a\n+b\n@@ -30 +30 @@\n-c\n+d\n" },
      { filePath: "b.txt", root: "web", change: "modify", added: 1, removed: 1, diff: "@@ -1 +1 @@\n-e\n+f\n" },
    ],
  };
  const methods = [...METHODS, "bb/patch/decide"];
  const open = (answers: Record<string, (params: any) => unknown> = {}, more: Partial<Permission> = { patchId: "pt" }) =>
    openPage({
      lanes: { chat: [ask(two, more)] },
      status: { methods },
      answers: { "bb.patch.get": () => ({ patch: PATCH }), ...answers },
    });
  const press = async (page: Page, name: string, nth = 0) => {
    const buttons = page.all("button").filter(({ textContent }) => textContent === name);
    buttons[nth]?.click();
    await page.frame();
  };
  const apart = async (page: Page) => {
    await wait(page, () => expect(page.all(".hunk-buttons").length).toBe(3));
  };

  it("R002-45: each has its buttons below it, and all are sent once each has its answer", async () => {
    const page = await open({ "bb.patch.decide": () => ({ patchId: "pt", files: [] }) });
    await apart(page);
    expect(page.all(".hunk-buttons").map((group) => group.getAttribute("aria-label"))).toEqual([
      "Change 1 of 3",
      "Change 2 of 3",
      "Change 3 of 3",
    ]);
    expect(texts(page, ".diff pre")).toEqual([
      "@@ -1 +1 @@\n-a\n+b\n",
      "@@ -30 +30 @@\n-c\n+d\n",
      "@@ -1 +1 @@\n-e\n+f\n",
    ]);
    await calmly(async () => {
      await press(page, "Accept", 0);
      // Nothing of it can be allowed as a whole by a slip while it is decided change by change
      expect([texts(page, ".buttons:not([hidden]) .primary"), page.one(".buttons[hidden]").textContent]).toEqual([
        ["2 of 3 changes to decide"],
        "Allow onceDenyReview in the editorDetails",
      ]);
      await press(page, "2 of 3 changes to decide");
      await press(page, "Reject", 1);
      await press(page, "Reject", 2);
      expect(page.asked("bb.patch.decide")).toEqual([]);
      // A choice can be changed until it is sent
      await press(page, "Accept", 2);
      await press(page, "Accept 2 of 3 changes");
    });
    const hunks = [
      { id: "h1", accepted: true },
      { id: "h2", accepted: false },
      { id: "h3", accepted: true },
    ];
    expect(page.asked("bb.patch.decide")).toEqual([
      { patchId: "pt", sessionId: "s1", scope: "hunk", hunks, digest: "sha256:d1" },
    ]);
    expect(page.asked("editor.chooseHunk").at(-1)).toEqual({ patchId: "pt", hunkId: "h3", choice: "accepted" });
  });

  it("what is chosen in the editor is chosen here, and a change is shown there", async () => {
    const page = await open({ "editor.hunkChoices": () => ({ choices: [{ id: "h2", choice: "rejected" }] }) });
    await apart(page);
    const pressed = () =>
      page.all(".hunk-buttons").map((group) => texts(page, ".hunk-buttons button[aria-pressed=true]").length && group.className);
    expect(pressed()).toEqual(["hunk-buttons", "hunk-buttons rejected", "hunk-buttons"]);
    page.deliver({
      v: 1,
      kind: "req",
      id: "host-1",
      method: "page.hunkChosen",
      params: { patchId: "pt", hunkId: "h1", choice: "accepted" },
    });
    await page.frame();
    expect(pressed()).toEqual(["hunk-buttons accepted", "hunk-buttons rejected", "hunk-buttons"]);
    await press(page, "Show in the editor", 2);
    await press(page, "Review in the editor");
    expect(page.asked("editor.review")).toEqual([
      { sessionId: "s1", patchId: "pt", hunkId: "h3" },
      { sessionId: "s1", patchId: "pt" },
    ]);
    // The same choice again takes it back
    await press(page, "Accept", 0);
    await press(page, "Reject", 1);
    expect([page.asked("editor.chooseHunk").map(({ choice }) => choice), texts(page, ".approval .primary")]).toEqual([
      ["none", "none"],
      ["Allow once"],
    ]);
  });

  it("R002-45: what happens to a file as a whole is decided beside the changes of lines", async () => {
    const subject: Subject = {
      kind: "edit",
      files: [
        { filePath: "new.rs", oldPath: "old.rs", change: "rename", added: 1, removed: 1, diff: "@@ -1 +1 @@\n-a\n+b\n" },
        { filePath: "gone.rs", change: "delete", added: 0, removed: 1, diff: "@@ -1 +0,0 @@\n-fn a() {}\n" },
        { filePath: "logo.png", change: "modify", added: 0, removed: 0 },
      ],
    };
    const of = (id: string, more: object = {}) => ({ id, oldStart: 0, oldLines: 0, newStart: 0, newLines: 0, content: "", state: "proposed", ...more });
    const files = [
      { ...PATCH.files[0], filePath: "new.rs", hunks: [of("h1", { part: "file", label: "is renamed from old.rs" }), of("h2", { part: "lines" })] },
      { ...PATCH.files[0], filePath: "gone.rs", hunks: [of("h3", { part: "file", label: "is deleted" })] },
      { ...PATCH.files[0], filePath: "logo.png", hunks: [of("h4", { part: "content", label: "gets other bytes" })] },
    ];
    const page = await openPage({
      lanes: { chat: [ask(subject, { patchId: "pt" })] },
      status: { methods },
      answers: { "bb.patch.get": () => ({ patch: { ...PATCH, files } }), "bb.patch.decide": () => ({ patchId: "pt", files: [] }) },
    });
    await wait(page, () => expect(page.all(".hunk-buttons").length).toBe(4));
    expect(page.all(".hunk-buttons").map((group) => group.getAttribute("aria-label"))).toEqual([
      "Change 2 of 4",
      "Change 1 of 4: is renamed from old.rs",
      "Change 3 of 4: is deleted",
      "Change 4 of 4: gets other bytes",
    ]);
    expect(texts(page, ".diff .code-keyword")).toEqual(["fn"]);
    await calmly(async () => {
      await press(page, "Accept", 0);
      await press(page, "Reject", 1);
      await press(page, "Reject", 2);
      await press(page, "Accept", 3);
      await press(page, "Accept 2 of 4 changes");
    });
    expect(page.asked("bb.patch.decide").map(({ hunks }) => hunks)).toEqual([
      [
        { id: "h1", accepted: false },
        { id: "h2", accepted: true },
        { id: "h3", accepted: false },
        { id: "h4", accepted: true },
      ],
    ]);
  });

  it("a change that is folded away can be rejected and not accepted", async () => {
    const long = `@@ -1 +1 @@\n-a\n+b\n@@ -30 +30,300 @@\n-c\n${"+d\n".repeat(300)}`;
    const subject: Subject = { kind: "edit", files: [{ filePath: "src/a.rs", change: "modify", added: 1, removed: 1, diff: long }] };
    const page = await openPage({
      lanes: { chat: [ask(subject, { patchId: "pt" })] },
      status: { methods },
      answers: { "bb.patch.get": () => ({ patch: { ...PATCH, files: [PATCH.files[0]] } }) },
    });
    await wait(page, () => expect(page.all(".hunk-buttons").length).toBe(2));
    const accepts = () => page.all(".hunk-buttons button").filter(({ textContent }) => textContent === "Accept");
    expect(accepts().map((button) => button.getAttribute("aria-disabled"))).toEqual(["false", "true"]);
    await press(page, "Accept", 1);
    expect(page.asked("editor.chooseHunk")).toEqual([]);
    await press(page, "Show all of it");
    await press(page, "Accept", 1);
    expect(page.asked("editor.chooseHunk")).toEqual([{ patchId: "pt", hunkId: "h2", choice: "accepted" }]);
  });

  it("what cannot be read or is another edit has no buttons, and the whole can still be answered", async () => {
    for (const answer of [
      refuse("not_found", "There is no such edit."),
      () => ({ patch: { ...PATCH, digest: "sha256:other" } }),
      // Other changes than those that are drawn
      () => ({ patch: { ...PATCH, files: PATCH.files.slice(0, 1) } }),
    ]) {
      const page = await open({ "bb.patch.get": answer });
      await wait(page, () => expect(page.asked("bb.patch.get").length).toBe(1));
      expect(page.all(".hunk-buttons")).toEqual([]);
      await calmly(() => press(page, "Allow once"));
      expect(page.asked("bb.approvePermission")).toEqual([once]);
    }
  });

  it("a file that was left as it is is said", async () => {
    const files = [{ filePath: "src/a.rs", outcome: "conflict", message: "It changed since." }];
    const page = await open({ "bb.patch.decide": () => ({ patchId: "pt", files }) });
    await apart(page);
    await calmly(async () => {
      for (const nth of [0, 1, 2]) await press(page, "Accept", nth);
      await press(page, "Accept all 3 changes");
    });
    await wait(page, () => expect(page.root.textContent).toContain("src/a.rs: It changed since."));
  });

  it("is offered where there are several and the server can: not for one change, and not for what was not told", async () => {
    const offered = async (subject: Subject, more: Partial<Permission>, known: string[]) => {
      const page = await openPage({ lanes: { chat: [ask(subject, more)] }, status: { methods: known } });
      return texts(page, "button").includes("Review in the editor");
    };
    expect([
      await offered(two, { patchId: "pt" }, methods),
      await offered(two, {}, methods),
      await offered(two, { patchId: "pt" }, METHODS),
      await offered(edit("@@ -1 +1 @@\n-a\n+b\n"), { patchId: "pt" }, methods),
      await offered({ ...two, unknown: true }, { patchId: "pt" }, methods),
    ]).toEqual([true, false, false, false, false]);
  });

  it("that was made in part says which part, and shows what was proposed as that", async () => {
    const call: Block = { id: "t1", seq: 4, turn: 1, kind: "tool", name: "edit", status: "denied", toolCallId: "c1" };
    const page = await openPage({
      lanes: {
        chat: [
          call,
          { ...ask(two, { patchId: "pt", toolCallId: "c1" }), status: "allowed", chosen: { optionId: "no", label: "Accept 1 of 2 changes" } } as Block,
        ],
      },
    });
    expect([page.one(".approval header").textContent, texts(page, ".approval summary")]).toEqual([
      "allowed: “Accept 1 of 2 changes”",
      ["All that was proposed"],
    ]);
  });

  it("that was allowed is taken back by two presses, and each file says what became of it", async () => {
    const files = [
      { filePath: "src/a.rs", outcome: "reverted" },
      { filePath: "b.txt", outcome: "applied", message: "It changed since." },
    ];
    const settled = (subject: Subject, status = "allowed") => [{ ...ask(subject, { patchId: "pt" }), status } as Block];
    const known = [...METHODS, "bb/patch/revert"];
    const page = await openPage({
      lanes: { chat: settled(two) },
      status: { methods: known },
      answers: { "bb.patch.revert": () => ({ patchId: "pt", files }) },
    });
    await press(page, "Take back…");
    expect(page.asked("bb.patch.revert")).toEqual([]);
    await press(page, "Leave it");
    await press(page, "Take back…");
    await press(page, "Take back");
    expect(page.asked("bb.patch.revert")).toEqual([{ patchId: "pt", sessionId: "s1" }]);
    await wait(page, () =>
      expect(page.root.textContent).toContain(
        "src/a.rs: what this edit changed was taken back. b.txt was left as it is: It changed since.",
      ),
    );
    // Not where nothing was made, nor for a file that came or went
    const gone: Subject = { kind: "edit", files: [{ filePath: "a", change: "delete" }] };
    for (const [chat, methods] of [
      [settled(two, "denied"), known],
      [settled(gone), known],
      [settled(two), METHODS],
    ] as const) {
      const other = await openPage({ lanes: { chat }, status: { methods } });
      expect(texts(other, "button")).not.toContain("Take back…");
    }
  });
});
