// @vitest-environment jsdom
/** Seed 003's panes and seed 000's webview lines, each on a page. */
import { readFileSync } from "node:fs";
import type { Block } from "@breadboard-ls/sdk";
import { describe, expect, it, vi } from "vitest";
import { SHEET } from "../../src/webview/blocks/sheets";
import { momentWords } from "../../src/webview/moment";
import { openPage, refuse, viewOf } from "./page";

const user = (id: string, text: string): Block => ({ id, seq: 1, turn: 1, kind: "user", text });
const tool = (more: object = {}): Block =>
  ({ id: "t", seq: 3, turn: 1, kind: "tool", name: "run", status: "running", title: "run make", ...more }) as Block;
const ask = (status = "pending", more: object = {}): Block =>
  ({
    id: "p1",
    seq: 5,
    turn: 1,
    kind: "permission",
    status,
    permission: {
      requestId: "p1",
      digest: "sha256:d1",
      title: "Run `make all`",
      subject: { kind: "command", command: "make all", cwd: "." },
      options: [
        { optionId: "o1", label: "Allow once", kind: "allow_once" },
        {
          optionId: "o2",
          label: "Allow for this session",
          kind: "allow_rule",
          rule: { pattern: "run: make all", scope: "session", holder: "server" },
        },
        { optionId: "o3", label: "Deny", kind: "deny" },
      ],
      ...more,
    },
  }) as Block;

describe("the chat pane", () => {
  it("R003-09 R003-37: a prompt is a block of its own, as it was typed", async () => {
    const page = await openPage({ lanes: { chat: [user("u1", "fix <b>this</b>\n  now")] } });
    expect(page.one(".user .text").textContent).toBe("fix <b>this</b>\n  now");
    expect(page.all(".user b")).toEqual([]);
  });

  it("R001-25 R003-10 R003-11 R003-12 R003-13 R003-14 R003-38: an answer grows in its one block, and is Markdown", async () => {
    const page = await openPage();
    await page.put(11, "chat", { id: "a1", seq: 11, turn: 1, kind: "assistant", text: "Hello **wor", streaming: true });
    await page.change(12, { lane: "chat", op: "append", id: "a1", text: "ld**" });
    expect(page.all(".assistant")).toHaveLength(1);
    expect(page.one(".assistant strong").textContent).toBe("world");
    expect(page.one(".assistant").getAttribute("aria-busy")).toBe("true");
  });

  it("a link of an answer is followed once: the editor, which hears the page's clicks too, does not hear that one", async () => {
    const text = "see [place](src/lib.rs:2) and [site](https://example.org/)";
    const page = await openPage({ lanes: { chat: [{ id: "a", seq: 4, kind: "assistant", text, streaming: false }] } });
    const heard = vi.fn();
    document.addEventListener("click", heard);
    await page.click(".assistant a", "place");
    await page.click(".assistant a", "site");
    document.removeEventListener("click", heard);
    expect(page.story("editor.openFile", "editor.openLink")).toEqual([
      ["editor.openFile", { path: "src/lib.rs", line: 2 }],
      ["editor.openLink", { uri: "https://example.org/" }],
    ]);
    expect(heard).not.toHaveBeenCalled();
  });

  it("R003-15 R003-16: reasoning stands apart, open while it grows", async () => {
    const page = await openPage();
    await page.put(11, "chat", { id: "r1", seq: 11, turn: 1, kind: "reasoning", text: "Reading.", streaming: true });
    expect((page.one("details.reasoning") as HTMLDetailsElement).open).toBe(true);
    await page.put(12, "chat", { id: "r1", seq: 11, turn: 1, kind: "reasoning", text: "Reading.", streaming: false });
    expect((page.one("details.reasoning") as HTMLDetailsElement).open).toBe(false);
  });

  it("R003-17 R003-18 R003-19 R003-39 R003-40 R003-41: a tool runs, and its result closes the same card", async () => {
    const page = await openPage({ lanes: { chat: [tool()] } });
    expect([page.one(".tool .status").textContent, (page.one("details.tool") as HTMLDetailsElement).open]).toEqual([
      "running",
      true,
    ]);
    await page.put(11, "chat", tool({ preview: "compiling a.c\n" }));
    expect(page.one(".tool .output").textContent).toBe("compiling a.c\n");
    await page.put(12, "chat", tool({ status: "ok", preview: "2 files" }));
    expect([
      page.all(".tool").length,
      page.one(".tool .status").textContent,
      page.one(".tool .output").textContent,
    ]).toEqual([1, "done", "2 files"]);
  });

  it("R000-68 R003-54 R003-55: a long result is a preview; the whole and its artifact are a click away", async () => {
    const page = await openPage({
      lanes: {
        chat: [
          tool({ status: "ok", preview: "start", truncated: true, bytes: 2048, resultSeq: 7, artifact: "out.log" }),
        ],
      },
      answers: {
        "bb.eventBody": ({ seq }) => ({
          event: {
            id: "",
            type: "tool_result",
            payload: { text: `whole of ${seq}` },
            seq,
            class: "tool.result",
            pane: ["chat"],
            origin: "engine",
          },
        }),
      },
    });
    expect(page.one(".tool .output").textContent).toBe("start");
    await page.click(".tool button", "Show all (2.0 KiB)");
    expect(page.one(".tool .output").textContent).toContain("whole of 7");
    await page.click(".tool button", "Open the whole output");
    expect(page.asked("editor.openArtifact")).toEqual([{ sessionId: "s1", artifactPath: "out.log" }]);
  });

  it("R003-20 R003-42: an ask is a card in the chat that can be answered there, and is counted", async () => {
    const page = await openPage({ lanes: { chat: [ask()] } });
    expect([page.one(".approval").getAttribute("aria-label"), page.one(".approval .asked").textContent]).toEqual([
      "Request: Run `make all`",
      "make all",
    ]);
    expect(page.all(".approval .buttons button").map((button) => button.textContent)).toEqual([
      "Allow once",
      "Allow for this session…",
      "Deny",
      "Details",
    ]);
    expect(page.one(".panes vscode-badge").textContent).toBe("1");
    expect(page.one(".waiting").textContent).toContain("One request waits.");
  });

  it("R003-21 R003-43: an ask that is settled shows how, and takes no more answers", async () => {
    const page = await openPage({ lanes: { chat: [ask()] } });
    for (const [at, [status, word]] of [
      ["allowed", "allowed"],
      ["denied", "denied"],
      ["expired", "denied: the time ran out"],
      ["cancelled", "cancelled"],
    ].entries()) {
      await page.put(11 + at, "chat", ask(status));
      expect([
        page.one(".approval .status").textContent,
        page.all(".approval .buttons").length,
        page.all(".waiting").length,
      ]).toEqual([word, 0, 0]);
    }
  });

  it("R003-23: a checkpoint that was restored is said in the chat", async () => {
    const page = await openPage({
      lanes: { chat: [{ id: "n", seq: 4, kind: "notice", level: "info", text: "The workspace went back to ckpt-1." }] },
    });
    expect(page.one(".notice.info").textContent).toContain("went back to ckpt-1");
  });

  it("R003-33 R003-34 R003-44 R003-59: an error or a gap is a card that stands out, and is read aloud", async () => {
    const page = await openPage({
      lanes: {
        chat: [
          { id: "n", seq: 4, kind: "notice", level: "error", text: "Events 3 to 9 are missing." },
          { id: "m", seq: 5, kind: "notice", level: "warning", text: "Careful." },
        ],
      },
    });
    expect(page.one(".notice.error").getAttribute("role")).toBe("alert");
    expect(page.one(".notice.warning").textContent).toContain("Careful.");
  });

  it("R000-52 R003-36: what nobody knows is shown as text, by its type, and nothing of it runs", async () => {
    const evil = '<img src=x onerror="window.evil=1"><script>window.evil=1</script>';
    const page = await openPage({
      lanes: {
        chat: [
          { id: "d", seq: 4, kind: "unknown", type: evil, preview: evil },
          { id: "n", seq: 5, kind: "from.the.future", html: evil } as unknown as Block,
        ],
        debug: [{ id: "x", seq: 6, kind: "unknown", type: "odd", preview: evil }],
      },
    });
    expect(page.all(".unknown")).toHaveLength(2);
    expect(page.all(".unknown code")[0]?.textContent).toBe(evil);
    await page.pane("Debug");
    expect(page.one(".pane .unknown pre").textContent).toBe(evil);
    expect([page.all("img, script").length, (window as { evil?: number }).evil]).toEqual([0, undefined]);
  });

  it("a plan shows its steps and how they stand", async () => {
    const page = await openPage({
      lanes: {
        chat: [{ id: "pl", seq: 4, kind: "plan", steps: [{ text: "Read", status: "done" }, { text: "Write" }] }],
      },
    });
    expect(page.all(".plan li").map((step) => step.textContent)).toEqual(["Read(done)", "Write"]);
  });

  it("a patch shows its files and its diff, and compares in the editor", async () => {
    const page = await openPage({
      lanes: {
        chat: [
          {
            id: "pa",
            seq: 4,
            kind: "patch",
            patchId: "x1",
            files: [{ filePath: "src/a.rs", added: 1, removed: 2 }],
            rationale: "Shorter.",
            diff: "@@ -1 +1 @@\n-old\n+new\n",
          },
        ],
      },
    });
    expect(page.all(".diff .line").map((line) => [line.className, line.textContent])).toEqual([
      ["line hunk", "@@ -1 +1 @@\n"],
      ["line removed", "-old\n"],
      ["line added", "+new\n"],
    ]);
    await page.click(".patch button", "Compare");
    expect(page.asked("editor.showDiff")).toEqual([
      { sessionId: "s1", filePath: "src/a.rs", beforeRef: "disk", afterRef: "patch:x1" },
    ]);
  });
});

describe("answering an ask", () => {
  /** The hand is not on its way any more. */
  const calm = () => vi.spyOn(performance, "now").mockReturnValue(performance.now() + 10_000);

  it("R000-28 R000-29: every answer names its option and the digest of what was shown", async () => {
    const page = await openPage({ lanes: { chat: [ask()] } });
    const now = calm();
    await page.click(".approval button", /^Allow once$/);
    await page.click(".approval button", /^Deny$/);
    now.mockRestore();
    expect(page.asked("bb.approvePermission")).toEqual([
      { sessionId: "s1", requestId: "p1", decision: "allow_once", optionId: "o1", digest: "sha256:d1" },
      { sessionId: "s1", requestId: "p1", decision: "deny", optionId: "o3", digest: "sha256:d1" },
    ]);
  });

  it("a rule is shown before it is saved, and can be narrowed", async () => {
    const page = await openPage({ lanes: { chat: [ask()] } });
    const now = calm();
    await page.click(".approval button", "Allow for this session");
    expect(page.asked("bb.approvePermission")).toEqual([]);
    const input = page.one(".rule input") as HTMLInputElement;
    expect(input.value).toBe("run: make all");
    input.value = "run: make one";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await page.frame();
    await page.click(".rule button", "Save the rule and allow");
    now.mockRestore();
    expect(page.asked("bb.approvePermission")).toEqual([
      {
        sessionId: "s1",
        requestId: "p1",
        decision: "allow_rule",
        optionId: "o2",
        digest: "sha256:d1",
        ruleUpdate: { pattern: "run: make one" },
      },
    ]);
  });

  it("a click that was on its way when the card came is not an answer", async () => {
    const page = await openPage({ lanes: { chat: [ask()] } });
    vi.spyOn(performance, "now").mockReturnValue(0);
    await page.put(11, "chat", { ...ask(), id: "p2" } as Block);
    await page.click('[data-block="p2"] button', /^Allow once$/);
    vi.restoreAllMocks();
    expect(page.asked("bb.approvePermission")).toEqual([]);
  });

  it("R000-63: in a folder that is not trusted it can be denied only, and the way to trust is there", async () => {
    const page = await openPage({ lanes: { chat: [ask()] }, status: { trusted: false } });
    expect(
      page
        .all(".approval .buttons button")
        .map((button) => [button.textContent, (button as HTMLButtonElement).disabled]),
    ).toEqual([
      ["Allow once", true],
      ["Allow for this session…", true],
      ["Deny", false],
      ["Details", false],
    ]);
    await page.click(".approval .hint button", "Manage trust");
    expect(page.asked("editor.manageTrust")).toHaveLength(1);
  });

  it("an ask that ends on another day says which", async () => {
    const now = Date.parse("2026-03-03T20:00:00Z");
    const expiresAt = now + 2 * 24 * 3_600_000;
    vi.spyOn(Date, "now").mockReturnValue(now);
    const page = await openPage({ lanes: { chat: [ask("pending", { expiresAt })] } });
    vi.restoreAllMocks();
    const [day] = new Intl.DateTimeFormat(undefined, { weekday: "long" }).format(expiresAt).split(" ");
    expect(page.one(".approval .hint").textContent).toBe(`Counts as denied after ${momentWords(expiresAt, now)}.`);
    expect(page.one(".approval .hint").textContent).toContain(day);
  });

  it("until it can be answered its buttons say so, and keep the focus", async () => {
    const page = await openPage({ lanes: { chat: [ask()] } });
    const allow = page.one(".approval button", /^Allow once$/);
    allow.focus();
    expect([allow.getAttribute("aria-disabled"), document.activeElement]).toEqual(["true", allow]);
    await vi.waitFor(async () => {
      await page.frame();
      expect([allow.getAttribute("aria-disabled"), document.activeElement]).toEqual(["false", allow]);
    });
    allow.click();
    await page.frame();
    expect(page.asked("bb.approvePermission")).toHaveLength(1);
  });

  it("while its answer is on its way it takes no other, and its button keeps the focus", async () => {
    let recorded: (answer: unknown) => void = () => undefined;
    const page = await openPage({
      lanes: { chat: [ask()] },
      answers: { "bb.approvePermission": () => new Promise((resolve) => (recorded = resolve)) },
    });
    const now = calm();
    const allow = page.one(".approval button", /^Allow once$/);
    allow.focus();
    await page.click(".approval button", /^Allow once$/);
    await page.click(".approval button", /^Deny$/);
    now.mockRestore();
    expect([page.asked("bb.approvePermission").length, allow.getAttribute("aria-disabled")]).toEqual([1, "true"]);
    expect(document.activeElement).toBe(allow);
    recorded({ requestId: "p1", outcome: "recorded", resolution: "allowed", resolvedBy: "user" });
    await page.frame();
  });

  describe("where the focus goes once it is answered", () => {
    const second = (): Block => ({ ...ask("pending", { requestId: "p2", title: "Run `rm`" }), id: "p2", seq: 6 }) as Block;

    it("to the next ask that waits", async () => {
      const page = await openPage({ lanes: { chat: [ask(), second()] } });
      page.one('[data-block="p1"] button', /^Allow once$/).focus();
      await page.put(11, "chat", ask("allowed"));
      expect(document.activeElement).toBe(page.one('[data-block="p2"] button', /^Allow once$/));
    });

    it("to an answer that can be given, where the folder is not trusted", async () => {
      const page = await openPage({ lanes: { chat: [ask(), second()] }, status: { trusted: false } });
      page.one('[data-block="p1"] button', /^Deny$/).focus();
      await page.put(11, "chat", ask("denied"));
      expect(document.activeElement).toBe(page.one('[data-block="p2"] button', /^Deny$/));
    });

    it("to the prompt where none waits", async () => {
      const page = await openPage({ lanes: { chat: [ask()] } });
      page.one(".approval button", /^Allow once$/).focus();
      await page.put(11, "chat", ask("allowed"));
      expect(document.activeElement).toBe(page.one(".composer textarea"));
    });

    it("nowhere, where it was not in the card", async () => {
      const page = await openPage({ lanes: { chat: [ask(), second()] } });
      const tab = page.one("#pane-tab-tasks");
      tab.focus();
      await page.put(11, "chat", ask("allowed"));
      expect(document.activeElement).toBe(tab);
    });

    it("and what was pressed for the one is no answer to the next", async () => {
      const page = await openPage({ lanes: { chat: [ask(), second()] } });
      page.one('[data-block="p1"] button', /^Allow once$/).focus();
      const now = calm();
      await page.put(11, "chat", ask("allowed"));
      const next = document.activeElement as HTMLElement;
      next.click();
      await page.frame();
      now.mockRestore();
      expect([next.textContent, page.asked("bb.approvePermission")]).toEqual(["Allow once", []]);
      expect((await page.key(next, "Enter", { repeat: true })).defaultPrevented).toBe(true);
      expect((await page.key(next, "Enter")).defaultPrevented).toBe(false);
    });

    it("and the key that is still held down sends no draft", async () => {
      const page = await openPage({ lanes: { chat: [ask()] } });
      const area = await page.type("a draft");
      await page.key(area, "Enter", { repeat: true });
      expect(page.asked("bb.tab.prompt")).toEqual([]);
    });
  });

  it("the way to the oldest ask leads to its first answer", async () => {
    const others = Array.from({ length: 60 }, (_, n) => user(`u${n}`, `prompt ${n}`));
    const page = await openPage({ lanes: { chat: [ask(), ...others] } });
    await page.click(".waiting button", "Show it");
    await vi.waitFor(async () => {
      await page.frame();
      expect(document.activeElement).toBe(page.one('[data-block="p1"] button', /^Allow once$/));
    });
  });

  it("an ask that was answered elsewhere says so", async () => {
    const page = await openPage({
      lanes: { chat: [ask()] },
      answers: {
        "bb.approvePermission": ({ requestId }) => ({
          requestId,
          outcome: "already_resolved",
          resolution: "denied",
          resolvedBy: "stop",
        }),
      },
    });
    const now = calm();
    await page.click(".approval button", /^Allow once$/);
    now.mockRestore();
    expect(page.one(".banner.error").textContent).toContain("answered before (by: stop): denied.");
  });
});

describe("the tasks pane", () => {
  const task = (taskId: string, status: string, parentId?: string): Block => ({
    id: `k-${taskId}`,
    seq: 1,
    kind: "task",
    taskId,
    title: taskId,
    status,
    ...(parentId === undefined ? {} : { parentId }),
  });

  it("R003-24 R003-45 R003-46 R003-47: tasks stand under their parents, orphans in their group", async () => {
    const page = await openPage({
      lanes: {
        tasks: [
          task("a", "running"),
          task("b", "failed", "a"),
          task("orphans", "queued"),
          task("c", "completed", "orphans"),
        ],
      },
    });
    await page.pane("Tasks");
    const path = (item: Element): string => {
      const above = item.parentElement?.closest("[data-task]");
      return (above ? `${path(above)}/` : "") + item.getAttribute("data-task");
    };
    expect(
      page.all("[data-task]").map((item) => `${path(item)} ${item.querySelector(".status")?.textContent}`),
    ).toEqual(["a running", "a/b failed", "orphans queued", "orphans/c completed"]);
  });

  it("R003-27: the conversation tree is one closed group a run with no task in it, and its nodes stand in Debug alone", async () => {
    // What the server makes of the nodes of two runs, with tasks before and behind.
    const { expected } = JSON.parse(
      readFileSync("../../tests/fixtures/reducers/r003_63_nodes_of_the_tree_and_unknown_events_leave_the_chat_alone.json", "utf8"),
    ) as { expected: Record<"chat" | "tasks" | "run" | "debug", { blocks: Block[] }> };
    const [first, second] = expected.tasks.blocks as [Block, Block];
    const page = await openPage({
      lanes: {
        chat: expected.chat.blocks,
        tasks: [task("a", "running"), first, task("b", "failed", "a"), second, task("c", "queued")],
        run: expected.run.blocks,
        debug: expected.debug.blocks,
      },
    });
    const nodes = () => page.root.textContent?.match(/ctn_\d+|ctree_node/g) ?? [];
    expect(nodes()).toEqual([]);
    await page.pane("Tasks");
    const drawn = (item: Element): unknown[] => [
      item.querySelector(":scope > .task")?.textContent?.trim(),
      item.getAttribute("aria-expanded"),
      [...item.querySelectorAll(":scope > ul > li")].map(drawn),
    ];
    expect(page.all(".tree > li").map(drawn)).toEqual([
      ["a running", "true", [["b failed", null, []]]],
      ["Conversation tree: 2 nodes completed", null, []],
      ["Conversation tree: 1 node running", null, []],
      ["c queued", null, []],
    ]);
    expect(nodes()).toEqual([]);
    await page.pane("Debug");
    expect(page.all('[aria-label="Without a word of ours"] .unknown summary code').map(({ textContent }) => textContent)).toEqual([
      "ctree_node",
      "never.heard",
      "ctree_snapshot",
      "ctree_node",
    ]);
    expect(nodes().filter((node) => node !== "ctree_node")).toEqual(["ctn_000002", "ctn_000003"]);
  });

  it("a tree that bites its own tail is drawn once", async () => {
    const page = await openPage({
      lanes: { tasks: [task("r", "running"), task("a", "running", "r"), task("r2", "running", "a")] },
    });
    await page.pane("Tasks");
    expect(page.all("[data-task]")).toHaveLength(3);
  });
});

describe("the run pane", () => {
  it("names the engine as the conversation does, and one that is not known as it came", async () => {
    for (const [kind, words] of [["embedded", "Built-in engine · openai/a · connected"], ["hologram", "hologram · openai/a · connected"]] as const) {
      const page = await openPage({ engine: { kind, model: "openai/a" } });
      await page.pane("Run");
      expect(page.one("section[aria-label=Engine] p").textContent).toBe(words);
    }
  });

  it("R003-22 R003-49: checkpoints stand with their status, and a restore warns before it overwrites", async () => {
    const page = await openPage({
      lanes: {
        run: [
          {
            id: "c1",
            seq: 1,
            kind: "checkpoint",
            checkpointId: "ckpt-1",
            title: "Before the change",
            status: "available",
          },
        ],
      },
    });
    await page.pane("Run");
    expect(page.one(".checkpoint").textContent).toContain("Before the change available");
    await page.click(".checkpoint button", "Restore…");
    expect(page.one("[role=alertdialog]").textContent).toMatch(
      /overwrites what was changed in tracked files since, also what is not committed/,
    );
    expect(page.asked("bb.command")).toEqual([]);
    await page.click("[role=alertdialog] button", "Overwrite and restore");
    expect(page.asked("bb.command")).toEqual([
      { sessionId: "s1", command: "restore_checkpoint", args: { checkpoint_id: "ckpt-1", mode: "code" } },
    ]);
  });

  it("R003-30 R003-50: links to logs and artifacts are a table of their own", async () => {
    const page = await openPage({
      lanes: {
        run: [
          { id: "l1", seq: 1, kind: "link", uri: "logs/run.log", label: "Log" },
          { id: "l2", seq: 2, kind: "link", uri: "https://example.org/x", label: "Site" },
        ],
      },
    });
    await page.pane("Run");
    await page.click('[aria-label="Artifacts"] button', "Log");
    await page.click('[aria-label="Artifacts"] button', "Site");
    expect([page.asked("editor.openArtifact"), page.asked("editor.openLink")]).toEqual([
      [{ sessionId: "s1", artifactPath: "logs/run.log" }],
      [{ uri: "https://example.org/x" }],
    ]);
  });

  it("R003-51: the summary has what the run came to, and its counts as names and values", async () => {
    const page = await openPage({
      lanes: {
        run: [
          {
            id: "s",
            seq: 9,
            kind: "summary",
            success: true,
            text: "The turn is done.",
            details: { tokens_used: 12, tools_used: ["read_file"] },
          },
        ],
      },
    });
    await page.pane("Run");
    expect(page.one(".summary header").textContent).toContain("The turn is done.");
    expect(page.all(".summary .facts > div").map((fact) => fact.textContent)).toEqual([
      "tokens used12",
      "tools usedread",
    ]);
  });

  it("R003-29: what a run tells of itself stands in Run, each in its own line, and not in the chat", async () => {
    const notice = (id: string, seq: number, text: string): Block => ({ id, seq, kind: "notice", level: "info", text });
    const page = await openPage({
      lanes: {
        run: [
          notice("skills-catalog", 1, "2 skills are available."),
          notice("skills-selection", 2, "Skills in use: only a."),
          notice("tree-1", 3, "The conversation tree has 7 nodes."),
          notice("u", 8, "Reward: 0.5."),
        ],
      },
    });
    expect(page.all(".notice")).toEqual([]);
    await page.pane("Run");
    expect(page.all(".notice").map((notice) => notice.textContent?.trim())).toEqual([
      "2 skills are available.",
      "Skills in use: only a.",
      "The conversation tree has 7 nodes.",
      "Reward: 0.5.",
    ]);
  });
});

it("R001-58: an agent that ended can be started again, where the server offers it", async () => {
  const page = await openPage({
    engine: { kind: "acp" },
    status: { methods: ["bb/agent/restart"] },
    answers: { "bb.agent.restart": () => ({ generation: 2 }) },
  });
  await page.pane("Run");
  await page.click(".pane button", "Restart the agent");
  expect(page.asked("bb.agent.restart")).toEqual([{}]);
  const other = await openPage({ engine: { kind: "acp" } });
  await other.pane("Run");
  expect(other.all(".pane button", "Restart the agent")).toEqual([]);
});

describe("the rules", () => {
  const RULES = [
    { ruleId: "r1", pattern: "Run cargo test", scope: "workspace", holder: "server", revocable: true },
    { ruleId: "r2", pattern: "Edit src/", scope: "session", sessionId: "s2", holder: "server", revocable: true },
  ];
  const sessions = [
    { sessionId: "s1", title: "First", status: "idle" },
    { sessionId: "s2", title: "Other", status: "idle" },
  ];
  const status = { methods: ["bb/permission/list", "bb/permission/revoke"] };

  it("are shown in the run pane with where they hold, and are taken back one by one", async () => {
    let rules = RULES;
    const page = await openPage({
      sessions,
      status,
      answers: {
        "bb.permission.list": () => ({ pending: [], rules }),
        "bb.permission.revoke": ({ ruleId }) => {
          rules = rules.filter((rule) => rule.ruleId !== ruleId);
          return { ruleId, revoked: true };
        },
      },
    });
    const shown = () =>
      page
        .all("[aria-label=Rules] li")
        .map((rule) => [rule.querySelector("code")?.textContent, rule.querySelector(".hint")?.textContent]);
    await page.pane("Run");
    expect(shown()).toEqual([
      ["Run cargo test", "in this workspace, kept by the server"],
      ["Edit src/", "in the session Other, kept by the server"],
    ]);
    await page.click("[aria-label=Rules] button", /Take back the rule Run cargo test/);
    expect(page.asked("bb.permission.revoke")).toEqual([{ ruleId: "r1" }]);
    expect(shown()).toEqual([["Edit src/", "in the session Other, kept by the server"]]);
    expect(document.activeElement).toBe(page.one("[aria-label=Rules]"));
    await page.click("[aria-label=Rules] button", /Take back the rule Edit/);
    expect(page.one("[aria-label=Rules]").textContent).toContain("None is saved");
  });

  it("that an engine or an agent keeps have no button, and say where they are taken back", async () => {
    const rules = [
      { ruleId: "r1", pattern: "npm *", scope: "workspace", holder: "engine", revocable: false },
      { ruleId: "r2", pattern: "Always Allow", holder: "agent", keptBy: "claude", revocable: false },
      { ruleId: "r3", pattern: "run: make", scope: "session", holder: "engine", revocable: true },
      {
        ruleId: "r4",
        pattern: "make *",
        scope: "workspace",
        holder: "engine",
        keptBy: "breadboard",
        keptIn: ".breadboard/permission_rules.json",
        revocable: false,
      },
    ];
    const page = await openPage({ status, answers: { "bb.permission.list": () => ({ pending: [], rules }) } });
    await page.pane("Run");
    const texts = (element: Element, selector: string) =>
      [...element.querySelectorAll(selector)].map(({ textContent }) => textContent);
    expect(page.all("[aria-label=Rules] li").map((rule) => [texts(rule, ".hint"), texts(rule, "button")])).toEqual([
      [["in this workspace, kept by the engine", "It is taken back at the engine, which keeps it."], []],
      [["kept by claude", "It is taken back at the agent, which keeps it."], []],
      [["in this session, kept by the engine"], ["Take back"]],
      [
        [
          "in this workspace, kept by breadboard in .breadboard/permission_rules.json",
          "It is taken back at the engine, which keeps it.",
        ],
        [],
      ],
    ]);
  });

  it("that is gone already is said, and the list is read anew", async () => {
    let rules = RULES.slice(0, 1);
    const page = await openPage({
      status,
      answers: {
        "bb.permission.list": () => ({ pending: [], rules }),
        "bb.permission.revoke": () => {
          rules = [];
          throw { code: "not_found", message: "There is no such rule." };
        },
      },
    });
    await page.pane("Run");
    await page.click("[aria-label=Rules] button", "Take back");
    expect(page.one(".banner.error").textContent).toContain("There is no such rule.");
    expect(page.all("[aria-label=Rules] li")).toEqual([]);
  });

  it("are not offered where the server does not know them", async () => {
    const page = await openPage();
    await page.pane("Run");
    expect([page.all("[aria-label=Rules]"), page.asked("bb.permission.list")]).toEqual([[], []]);
  });
});

describe("the files pane", () => {
  const listing = {
    path: "",
    truncated: false,
    entries: [
      { path: "src", name: "src", type: "directory" },
      { path: "a.txt", name: "a.txt", type: "file", size: 3 },
    ],
  };

  it("R000-30 R000-31 R000-34: folders open, files are previews, and can be named and compared", async () => {
    const page = await openPage({
      answers: {
        "bb.listFiles": ({ path }) => (path === "" ? listing : { path, entries: [], truncated: false }),
        "bb.readFileSnippet": ({ path }) => ({
          path,
          content: "abc",
          totalBytes: 3_000,
          truncated: true,
          ranges: [],
          source: "buffer",
        }),
      },
    });
    await page.pane("Files");
    await page.click(".file-row .path", "a.txt");
    expect([page.one(".snippet").textContent, page.all(".file .hint").at(-1)?.textContent]).toEqual([
      "abc",
      "The start of 2.9 KiB · from the open editor, unsaved changes included",
    ]);
    await page.click(".file-row button", /^Compare a.txt/);
    expect(page.asked("editor.showDiff")).toEqual([{ sessionId: "s1", filePath: "a.txt" }]);
    const details = page.one(".folder details") as HTMLDetailsElement;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    await page.frame();
    expect(page.asked("bb.listFiles").map(({ path }) => path)).toEqual(["", "src"]);
    await page.click(".file-row button", /^Mention a.txt/);
    expect(page.model.prompts.draft.value.text).toBe("@a.txt ");
  });

  it("every folder of a workspace of several has its own place", async () => {
    const page = await openPage({ status: { roots: ["one", "two"] }, answers: { "bb.listFiles": () => listing } });
    await page.pane("Files");
    expect(page.all('[aria-label="Workspace"] > details > summary').map((summary) => summary.textContent)).toEqual([
      " one",
      " two",
    ]);
    expect(page.asked("bb.listFiles").map(({ root }) => root)).toEqual(["one", "two"]);
  });
});

describe("the debug pane", () => {
  const event = (seq: number, more: object = {}) => ({
    id: `x${seq}`,
    type: "odd.type",
    payload: { n: seq },
    seq,
    class: "unknown_event",
    pane: ["debug"],
    origin: "engine",
    ...more,
  });

  it("R000-46 R000-47 R000-50 R003-25 R003-26 R003-28 R003-36: raw events in order, while they are looked at", async () => {
    const page = await openPage({
      answers: { "bb.events.read": ({ fromSeq }) => ({ events: [event(fromSeq)], hasMore: false }) },
    });
    expect(page.asked("bb.init")).toEqual([{ subscribe: { view: true, events: false, tabs: false } }]);
    await page.pane("Debug");
    expect(page.asked("bb.init").at(-1)).toEqual({ subscribe: { view: true, events: true, tabs: false } });
    await page.tell("bb/events", {
      sessionId: "s1",
      epoch: "e",
      fromSeq: 11,
      toSeq: 14,
      events: [
        event(11, { type: "skills_catalog", class: "skills.catalog" }),
        event(12, { type: "skills_selection", class: "skills.selection" }),
        event(13, { type: "ctree_snapshot", class: "ctree.snapshot" }),
        event(14, { repaired: true }),
      ],
    });
    await page.tell("bb/events", { sessionId: "other", epoch: "e", fromSeq: 1, toSeq: 1, events: [event(1)] });
    expect(page.all("[data-seq] summary").map((row) => row.textContent)).toEqual([
      "1 odd.type unknown_event",
      "11 skills_catalog skills.catalog",
      "12 skills_selection skills.selection",
      "13 ctree_snapshot ctree.snapshot",
      "14 odd.type unknown_event · repaired",
    ]);
    await page.pane("Chat");
    expect(page.asked("bb.init").at(-1)).toEqual({ subscribe: { view: true, events: false, tabs: false } });
  });
});

describe("the connection", () => {
  it("R000-57: a page shows that it reconnects, and when it is over", async () => {
    const page = await openPage();
    await page.tell("bb/connection", {
      status: "connecting",
      sessionId: "s1",
      retryCount: 3,
      lastError: "The stream was cut.",
    });
    expect(page.one(".banner.warning").textContent).toContain(
      "Reconnecting to the engine (try 3). The stream was cut.",
    );
    await page.tell("bb/connection", { status: "error", sessionId: "s1", lastError: "Refused." });
    expect(page.one(".banner.error").textContent).toContain("The engine does not answer. Refused.");
    const ended = "The engine ended the session: failed.";
    await page.tell("bb/connection", { status: "error", sessionId: "s1", lastError: ended, cause: "session_ended" });
    expect(page.one(".banner.error").textContent?.trim()).toBe(ended);
    await page.tell("bb/connection", { status: "connected", sessionId: "s1" });
    expect(page.all(".banner")).toEqual([]);
  });

  it("where the engine wants a token it can be set from there", async () => {
    const page = await openPage({ engine: { kind: "breadboard" } });
    await page.tell("bb/connection", { status: "error", lastError: "The engine refused the token (HTTP 401)." });
    await page.click(".banner.error button", "Set the token");
    expect(page.asked("editor.setToken")).toEqual([{ scope: "engine" }]);
  });

  it("R000-58 R003-58 R003-60: missing events are said until they are back, and can be rebuilt", async () => {
    const page = await openPage({ answers: { "bb.rebuild": () => ({ resume: { verdict: "resynced", events: 7 } }) } });
    await page.tell("bb/connection", {
      status: "connected",
      sessionId: "s1",
      gapDetected: true,
      resume: { verdict: "lost", from: 3, to: 9, reason: "The engine forgot them." },
    });
    const warning = page.one(".banner.warning");
    expect(warning.getAttribute("role")).toBe("alert");
    expect(warning.textContent).toContain(
      "This conversation may have holes. What is known: events are lost (events 3 to 9). The engine forgot them.",
    );
    await page.tell("bb/connection", { status: "connected", sessionId: "s1" });
    expect(page.all(".banner.warning")).toHaveLength(1);
    await page.click(".banner button", "Rebuild from the run's artifacts");
    expect(page.asked("bb.rebuild")).toEqual([{ sessionId: "s1" }]);
    expect(page.one(".banner.warning").textContent).toContain("Rebuilt: nothing is missing any more; all of it was read again.");
    await page.click(".banner button", "Dismiss");
    expect(page.all(".banner")).toEqual([]);
  });

  it("R003-60: a history that was read again without a hole is no warning", async () => {
    const page = await openPage();
    await page.tell("bb/connection", {
      status: "connected",
      sessionId: "s1",
      resume: { verdict: "resynced", from: 3, to: 9 },
    });
    expect(page.all(".banner")).toEqual([]);
  });

  it("R000-56: a rebuild that the engine cannot do is said, and changes nothing", async () => {
    const page = await openPage({
      answers: { "bb.rebuild": refuse("unsupported", "This engine keeps no artifacts.") },
    });
    await page.tell("bb/connection", { status: "connected", sessionId: "s1", gapDetected: true });
    await page.click(".banner button", "Rebuild from the run's artifacts");
    expect(page.one(".banner.error").textContent).toContain("It cannot be rebuilt: This engine keeps no artifacts.");
    expect(page.all(".banner.warning")).toHaveLength(1);
  });

  it("a server that is gone, and a folder that is not trusted, are said with what to do", async () => {
    const page = await openPage({
      status: { server: "failed", sentence: "The program was not found; install it.", trusted: false },
    });
    expect(page.one(".banner.error").textContent).toContain("The program was not found; install it.");
    expect(page.one(".banner.info").textContent).toContain("Restricted mode");
    await page.click(".banner button", "Restart");
    expect(page.asked("editor.restart")).toHaveLength(1);
    expect((page.one(".composer-bar .primary") as HTMLButtonElement).disabled).toBe(true);
  });

  it("a new server is asked for everything anew, and nothing is there twice", async () => {
    const page = await openPage({ lanes: { chat: [user("u1", "hi")] } });
    page.deliver({
      v: 1,
      kind: "req",
      id: "h1",
      method: "page.status",
      params: { ...page.status, server: "waiting", sentence: "It ended." },
    });
    await page.frame();
    expect(page.one(".banner.warning").textContent).toContain("It ended.");
    page.deliver({ v: 1, kind: "req", id: "h2", method: "page.status", params: { ...page.status, generation: 2 } });
    await page.frame();
    expect([
      page.all(".banner").length,
      page.all(".user").length,
      page.asked("bb.init").length,
      page.asked("bb.selectSession").length,
    ]).toEqual([0, 1, 2, 2]);
    expect(page.sent.filter(({ kind }) => kind === "res").map(({ id, ok }) => [id, ok])).toEqual([
      ["h1", true],
      ["h2", true],
    ]);
  });
});

describe("a page that comes back", () => {
  it("R001-60 R001-63 R001-68: has its sessions, pane and drafts; transcripts come as snapshots", async () => {
    const first = await openPage({
      sessions: [
        { sessionId: "s1", title: "One" },
        { sessionId: "s2", title: "Two" },
      ],
      lanes: { chat: [user("u1", "hi")] },
    });
    await first.model.tabs.select("s2");
    await first.type("a draft");
    const saved = JSON.parse(JSON.stringify(first.saved.at(-1)));
    expect(JSON.stringify(saved)).not.toContain("hi");
    const again = await openPage({
      sessions: [
        { sessionId: "s1", title: "One" },
        { sessionId: "s2", title: "Two" },
      ],
      lanes: { chat: [user("u1", "hi")] },
      saved,
    });
    expect(again.all(".strip .tab").map((tab) => [tab.textContent, tab.classList.contains("active")])).toEqual([
      ["One", false],
      ["Two", true],
    ]);
    expect((again.one(".composer textarea") as HTMLTextAreaElement).value).toBe("a draft");
    expect(again.all(".user")).toHaveLength(1);
  });

  it("a prompt whose answer never came is sent again under the same id", async () => {
    const first = await openPage({ answers: { "bb.tab.prompt": refuse("disconnected", "Gone.") } });
    await first.type("do it");
    await first.model.prompts.send();
    const saved = JSON.parse(JSON.stringify(first.saved.at(-1)));
    const again = await openPage({ saved });
    await again.model.prompts.send();
    expect([first.asked("bb.tab.prompt")[0].messageId, again.asked("bb.tab.prompt")[0].messageId]).toEqual([
      saved.drafts.s1.messageId,
      saved.drafts.s1.messageId,
    ]);
    expect(again.model.prompts.draft.value.text).toBe("");
  });

  it("R001-68: of what the editor kept and what is on the disk, the newer counts", async () => {
    const draft = (at: number, text: string) => ({
      at,
      pane: "chat",
      open: ["s1"],
      active: "s1",
      drafts: { s1: { text, attachments: [] } },
    });
    const typed = async (kept: object, file: object | string) => {
      const remembered = typeof file === "string" ? file : JSON.stringify(file);
      const page = await openPage({ saved: kept, status: { remembered } });
      return (page.one(".composer textarea") as HTMLTextAreaElement).value;
    };
    expect(await typed(draft(5, "old"), draft(6, "new"))).toBe("new");
    expect(await typed(draft(6, "new"), draft(5, "old"))).toBe("new");
    expect(await typed(draft(6, "new"), "no json")).toBe("new");
  });

  it("what an earlier version left and does not fit is left out", async () => {
    const page = await openPage({ saved: { pane: 7, open: "x", drafts: { s1: { text: 1 } }, active: {} } });
    expect([page.all(".strip .tab").length, page.violations]).toEqual([1, []]);
  });
});

describe("performance", () => {
  it("R000-67: however many changes come, the page is drawn once a frame", async () => {
    const page = await openPage();
    await page.put(11, "chat", { id: "a1", seq: 11, turn: 1, kind: "assistant", text: "", streaming: true });
    const drawn = vi.fn();
    const watcher = new MutationObserver(drawn);
    watcher.observe(page.root, { subtree: true, childList: true, characterData: true });
    for (let seq = 12; seq < 1_012; seq += 1) {
      page.deliver({
        v: 1,
        kind: "evt",
        topic: "bb/view",
        payload: {
          sessionId: "s1",
          epoch: "e",
          fromSeq: seq,
          toSeq: seq,
          changes: [{ lane: "chat", op: "append", id: "a1", text: "x" }],
        },
      });
    }
    expect([page.painting.length, page.one(".assistant").textContent]).toEqual([1, ""]);
    const before = page.frames();
    await page.frame();
    watcher.disconnect();
    expect(page.one(".assistant").textContent?.trim()).toBe("x".repeat(1_000));
    expect(page.frames() - before).toBeLessThanOrEqual(3);
  });

  it("R000-67: a piece of an answer that is finished is not touched while the answer grows", async () => {
    const page = await openPage();
    const answer = { id: "a1", seq: 11, turn: 1, kind: "assistant" as const, text: "one\n\ntwo\n\nthr", streaming: true };
    await page.put(11, "chat", answer);
    const finished = page.all(".prose .piece").slice(0, 2);
    expect(finished.map((piece) => piece.textContent?.trim())).toEqual(["one", "two"]);
    const touched: Node[] = [];
    const watcher = new MutationObserver((changes) => touched.push(...changes.map(({ target }) => target)));
    for (const piece of finished)
      watcher.observe(piece, { subtree: true, childList: true, characterData: true, attributes: true });
    const text = `${answer.text}ee\n\nfour`;
    await page.put(12, "chat", { ...answer, text });
    await page.put(13, "chat", { ...answer, text: `${text} five` });
    expect(page.all(".prose .piece").map((piece) => piece.textContent?.trim())).toEqual([
      "one",
      "two",
      "three",
      "four five",
    ]);
    expect([touched, page.all(".prose .piece").slice(0, 2)]).toEqual([[], finished]);
    watcher.disconnect();
  });

  it("that a turn runs is said by a bar with a name, for as long as it runs", async () => {
    const page = await openPage();
    const bars = () => page.all('[role="progressbar"]').map((bar) => bar.getAttribute("aria-label"));
    const seen = [bars()];
    for (const status of ["running", "idle"]) {
      await page.tell("bb/state", { sessions: [{ sessionId: "s1", title: "First", status }], activeSessionId: "s1" });
      seen.push(bars());
    }
    expect(seen).toEqual([[], ["A turn is running"], []]);
  });

  it("R000-67: of a long answer few parts can be left out of sight, and none of them is touched while the answer grows", async () => {
    const page = await openPage();
    // Two pieces fill a sheet.
    const piece = (at: number) => `${at}${"x".repeat(SHEET / 2)}`;
    const text = (count: number) => Array.from({ length: count }, (_, at) => piece(at)).join("\n\n");
    const answer = { id: "a1", seq: 11, turn: 1, kind: "assistant" as const, text: text(9), streaming: true };
    await page.put(11, "chat", answer);
    const sheets = () => page.all(".prose > .sheet");
    const seen = () => sheets().map((sheet) => [sheet.className, [...sheet.children].map((one) => one.textContent?.[0])]);
    const past = (...pieces: string[]) => ["sheet past", pieces];
    const near = (...pieces: string[]) => ["sheet", pieces];
    expect(seen()).toEqual([past("0", "1"), past("2", "3"), past("4", "5"), near("6", "7"), near("8")]);
    const before = sheets().slice(0, 4);
    const touched: Node[] = [];
    const watcher = new MutationObserver((changes) => touched.push(...changes.map(({ target }) => target)));
    for (const sheet of before.flatMap((one) => [...one.children]))
      watcher.observe(sheet, { subtree: true, childList: true, characterData: true, attributes: true });
    await page.put(12, "chat", { ...answer, text: `${text(10)}` });
    await page.put(13, "chat", { ...answer, text: `${text(11)} more` });
    expect(seen()).toEqual([past("0", "1"), past("2", "3"), past("4", "5"), past("6", "7"), near("8", "9"), near("1")]);
    expect([touched, sheets().slice(0, 4)]).toEqual([[], before]);
    watcher.disconnect();
  });

  it("a reader who goes up is left there, and one at the end stays at the end", async () => {
    const page = await openPage({
      lanes: { chat: Array.from({ length: 50 }, (_, at) => user(`u${at}`, `prompt ${at}`)) },
    });
    const scroller = page.one(".scroller");
    let top = 3_000;
    const layout = { scrollHeight: 3_600, clientHeight: 600 };
    Object.defineProperties(scroller, {
      scrollHeight: { get: () => layout.scrollHeight },
      clientHeight: { get: () => layout.clientHeight },
      scrollTop: {
        get: () => top,
        set: (to: number) => void (top = Math.min(to, layout.scrollHeight - layout.clientHeight)),
      },
    });
    const scrolled = async (to: number) => {
      top = to;
      scroller.dispatchEvent(new Event("scroll"));
      await page.frame();
    };
    const stands = () => [page.all(".to-end").length, top];
    await scrolled(3_000);
    // Nobody's hand: a row turned out higher than expected.
    layout.scrollHeight = 3_700;
    await scrolled(2_500);
    expect(stands()).toEqual([0, 3_100]);
    await scrolled(3_100);
    // Nor is a click in the chat, or a wheel that goes down, when a row is smaller afterwards.
    for (const event of [new MouseEvent("pointerdown"), new MouseEvent("pointerup"), new WheelEvent("wheel", { deltaY: 9 })])
      scroller.dispatchEvent(event);
    layout.scrollHeight = 3_600;
    await scrolled(2_500);
    expect(stands()).toEqual([0, 3_000]);
    await scrolled(3_000);
    // A wheel that goes up is, whatever the rows do meanwhile.
    scroller.dispatchEvent(new WheelEvent("wheel", { deltaY: -9 }));
    layout.scrollHeight = 3_700;
    await scrolled(2_000);
    await page.put(11, "chat", user("more", "more"));
    expect(stands()).toEqual([1, 2_000]);
    await page.click(".to-end");
    expect(stands()).toEqual([0, 3_100]);
    await scrolled(3_100);
    // And so is whoever brings something into sight while no row moves.
    await scrolled(2_700);
    expect(stands()).toEqual([1, 2_700]);
  });

  it("a card that was brought into sight at the end of the chat does not end the following", async () => {
    const page = await openPage({ lanes: { chat: [user("u1", "prompt"), ask()] } });
    const scroller = page.one(".scroller");
    let top = 0;
    const layout = { scrollHeight: 500, clientHeight: 600 };
    Object.defineProperties(scroller, {
      scrollHeight: { get: () => layout.scrollHeight },
      clientHeight: { get: () => layout.clientHeight },
      scrollTop: { get: () => top, set: (to: number) => void (top = Math.max(0, Math.min(to, layout.scrollHeight - layout.clientHeight))) },
    });
    page.model.asks.bring("p1");
    await page.frame();
    layout.scrollHeight = 3_600;
    await page.put(11, "chat", user("more", "more"));
    await page.frame();
    expect([page.all(".to-end").length, top]).toEqual([0, 3_000]);
  });

  it("a long conversation is a window: few blocks are on the page, and older ones come from the server", async () => {
    const blocks = Array.from({ length: 5_000 }, (_, at) => user(`u${at}`, `prompt ${at}`));
    const page = await openPage({
      view: viewOf({ chat: blocks }, 10, true),
      answers: { "bb.view.page": ({ before }) => ({ blocks: [user("older", `before ${before}`)], hasMore: false }) },
    });
    expect(page.all(".row").length).toBeLessThan(60);
    await page.click(".older");
    expect(page.asked("bb.view.page")).toEqual([{ sessionId: "s1", lane: "chat", before: "u0" }]);
    expect(page.model.tabs.active.value?.blocks("chat")).toHaveLength(5_001);
    expect(page.all(".older")).toEqual([]);
  });
});
