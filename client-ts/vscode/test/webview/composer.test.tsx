// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import {
  fileChoices,
  readCommand,
  commandsOf,
  rootChoices,
  triggerAt,
  whereToLook,
} from "../../src/webview/composer/completion";
import { openPage, uuid } from "./page";

describe("the prompt", () => {
  it("R001-03 R001-42: sends what was typed under an id of its own, and is empty then", async () => {
    const page = await openPage();
    const area = await page.type("hello");
    await page.key(area, "Enter");
    expect(page.asked("bb.tab.prompt")).toEqual([{ tabId: uuid(1), text: "hello", messageId: uuid(2) }]);
    expect(area.value).toBe("");
  });

  it("makes a session when there is none", async () => {
    const page = await openPage({ sessions: [] });
    await page.type("hello");
    await page.key(page.one(".composer textarea"), "Enter");
    expect(page.story("bb.createSession", "bb.tab.open", "bb.tab.prompt")).toEqual([
      ["bb.createSession", {}],
      ["bb.tab.open", { tabId: uuid(2), sessionId: "new" }],
      ["bb.tab.prompt", { tabId: uuid(2), text: "hello", messageId: uuid(1) }],
    ]);
    expect((page.one(".composer textarea") as HTMLTextAreaElement).value).toBe("");
  });

  it("keeps the text of a prompt that was refused, and says why", async () => {
    const page = await openPage({
      answers: {
        "bb.tab.prompt": () => {
          throw { code: "untrusted_workspace", message: "This workspace is not trusted; trust it first." };
        },
      },
    });
    const area = await page.type("hello");
    await page.key(area, "Enter");
    expect([area.value, page.one(".banner.error").textContent]).toEqual([
      "hello",
      "This workspace is not trusted; trust it first. Dismiss",
    ]);
  });

  it("Shift+Enter, a word being composed, and Enter where a modifier is wanted, send nothing", async () => {
    const page = await openPage({ status: { sendWithModifier: true } });
    const area = await page.type("hello");
    await page.key(area, "Enter");
    await page.key(area, "Enter", { shiftKey: true });
    await page.key(area, "Enter", { ctrlKey: true, isComposing: true });
    expect(page.asked("bb.tab.prompt")).toEqual([]);
    await page.key(area, "Enter", { ctrlKey: true });
    expect(page.asked("bb.tab.prompt")).toHaveLength(1);
  });

  it("Escape and the button stop the turn that runs", async () => {
    const page = await openPage({ sessions: [{ sessionId: "s1", status: "running" }] });
    await page.key(page.one(".composer textarea"), "Escape");
    await page.click(".composer button", "Stop");
    expect(page.asked("bb.tab.stop")).toEqual([{ tabId: uuid(1) }, { tabId: uuid(1) }]);
  });

  it("@ names a file: by the keyboard, into a folder and on", async () => {
    const tree: Record<string, unknown[]> = {
      "": [
        { path: "src", name: "src", type: "directory" },
        { path: "stop.md", name: "stop.md", type: "file" },
        { path: ".git", name: ".git", type: "directory" },
      ],
      src: [{ path: "src/main.rs", name: "main.rs", type: "file" }],
    };
    const page = await openPage({
      answers: { "bb.listFiles": ({ path }) => ({ path, entries: tree[path] ?? [], truncated: false }) },
    });
    const area = await page.type("look at @s");
    expect(
      page.all("[role=option]").map((option) => [option.textContent?.trim(), option.getAttribute("aria-selected")]),
    ).toEqual([
      ["src/", "true"],
      ["stop.md", "false"],
    ]);
    expect(area.getAttribute("aria-activedescendant")).toBe(page.all("[role=option]")[0]?.id);
    await page.key(area, "Enter");
    expect(area.value).toBe("look at @src/");
    await page.key(area, "Tab");
    expect([area.value, page.all("[role=option]").length]).toEqual(["look at @src/main.rs ", 0]);
    expect(page.asked("bb.tab.prompt")).toEqual([]);
    await page.type("mail me@s", 9);
    expect(page.all("[role=option]")).toEqual([]);
  });

  it("/ offers the commands of an engine that has some, and gives them", async () => {
    const page = await openPage({ engine: { kind: "breadboard", capabilities: ["commands"] } });
    const area = await page.type("/che");
    await page.key(area, "Enter");
    expect(area.value).toBe("/checkpoints ");
    await page.key(area, "Enter");
    expect([page.asked("bb.command"), page.asked("bb.tab.prompt"), area.value]).toEqual([
      [{ sessionId: "s1", command: "list_checkpoints", args: {} }],
      [],
      "",
    ]);
  });

  it("attachments are shown, can be taken away, and go with the prompt", async () => {
    const page = await openPage({
      answers: {
        "editor.pickAttachments": () => ({
          attachments: [
            { attachmentId: "a1", name: "x.png", bytes: 5 },
            { attachmentId: "a2", name: "y.png", bytes: 6 },
          ],
          leftOut: 0,
        }),
      },
    });
    await page.click(".composer-bar button", /^Attach files/);
    expect(page.all(".attachments li").map((item) => item.textContent?.trim())).toEqual([
      "x.png 5 bytes",
      "y.png 6 bytes",
    ]);
    await page.click(".attachments button", /^Remove x/);
    await page.type("look");
    await page.key(page.one(".composer textarea"), "Enter");
    expect(page.asked("bb.tab.prompt").map(({ attachmentIds }) => attachmentIds)).toEqual([["a2"]]);
  });

  it("models are asked for when somebody looks, and chosen by their id", async () => {
    const page = await openPage({
      engine: { capabilities: ["models"], model: "openai/a" },
      answers: {
        "bb.models.list": () => ({
          models: [
            { id: "a", name: "A", provider: "openai", contextWindow: 200_000, images: true, price: { input: 3, output: 15 } },
            { id: "b", name: "B", provider: "openai", contextWindow: 8_192, images: false },
            { id: "c", name: "C" },
          ],
          current: "openai/a",
        }),
        "bb.models.set": () => ({ models: [], current: "openai/b" }),
      },
    });
    const select = page.one(".model") as HTMLSelectElement;
    expect([select.selectedOptions[0]?.textContent, select.title, page.asked("bb.models.list")]).toEqual(["a", "Model: openai/a", []]);
    select.dispatchEvent(new FocusEvent("focus"));
    await page.frame();
    // With what each can and costs, as far as that is known
    expect([...select.options].map(({ textContent }) => textContent)).toEqual([
      "A · 200k tokens · sees images · 3 in, 15 out",
      "B · 8.2k tokens · no images",
      "C",
      "Another model or agent…",
    ]);
    select.value = "b";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    await page.frame();
    expect([page.asked("bb.models.set"), select.value]).toEqual([[{ name: "b", provider: "openai" }], "b"]);
  });
});

describe("prompts that wait", () => {
  const items = [
    { messageId: "m1", text: "one" },
    { messageId: "m2", text: "two" },
    { messageId: "m3", text: "three" },
  ];
  const queue = () => ({ items, paused: true });
  const answers = {
    "bb.queue.list": queue,
    "bb.queue.edit": queue,
    "bb.queue.move": queue,
    "bb.queue.remove": queue,
    "bb.queue.resume": () => ({ items: [], paused: false }),
  };

  it("can be edited, moved, taken away, and let go on", async () => {
    const page = await openPage({ answers });
    const button = (row: number, label: string) =>
      page.all(".queue li")[row]?.querySelector<HTMLElement>(`[aria-label="${label}"]`);
    button(1, "Move it up")?.click();
    button(0, "Move it down")?.click();
    button(1, "Move it down")?.click();
    button(2, "Remove it")?.click();
    button(0, "Edit the waiting prompt")?.click();
    await page.frame();
    const area = page.one(".queue textarea") as HTMLTextAreaElement;
    area.value = "one and a half";
    area.dispatchEvent(new Event("input", { bubbles: true }));
    await page.frame();
    await page.key(area, "Enter");
    expect(page.asked("bb.queue.move")).toEqual([
      { sessionId: "s1", messageId: "m2", before: "m1" },
      { sessionId: "s1", messageId: "m1", before: "m3" },
      { sessionId: "s1", messageId: "m2" },
    ]);
    expect(page.asked("bb.queue.remove")).toEqual([{ sessionId: "s1", messageId: "m3" }]);
    expect(page.asked("bb.queue.edit")).toEqual([{ sessionId: "s1", messageId: "m1", text: "one and a half" }]);
    await page.click(".queue button", "Resume");
    expect([page.asked("bb.queue.resume"), page.all(".queue").length]).toEqual([[{ sessionId: "s1" }], 0]);
  });

  it("a prompt that has begun meanwhile is not there any more", async () => {
    let begun = false;
    const page = await openPage({
      answers: {
        "bb.queue.list": () => (begun ? { items: [], paused: false } : queue()),
        "bb.queue.remove": () => {
          begun = true;
          throw { code: "not_found", message: "It has begun." };
        },
      },
    });
    page.all('[aria-label="Remove it"]')[0]?.click();
    await page.frame();
    expect([page.all(".queue").length, page.one(".banner.error").textContent]).toEqual([0, "It has begun. Dismiss"]);
  });
});

describe("sessions", () => {
  const sessions = [
    { sessionId: "s1", title: "One", status: "idle" },
    { sessionId: "s2", title: "Two", status: "waiting", pendingPermissionCount: 2 },
  ];

  it("R000-21 R000-23 R000-24: are listed, opened, made, closed and, after a question, deleted", async () => {
    const page = await openPage({
      sessions,
      answers: { "bb.deleteSession": ({ sessionId }) => ({ sessionId, deleted: true }) },
    });
    // As its command does it.
    page.model.heardRequest("page.showSessions", {});
    await page.frame();
    expect(page.all(".sessions li").map((item) => item.textContent)).toEqual(["Oneidle", "Twowaiting · 2 waiting"]);
    await page.click(".sessions .link", "Two");
    expect(page.asked("bb.selectSession").map(({ sessionId }) => sessionId)).toEqual(["s1", "s2"]);
    await page.click(".tab .close", /^Close the tab Two/);
    await page.click(".strip-area .confirm button", "Stop and close");
    expect(page.all(".strip .tab").map((tab) => tab.textContent)).toEqual(["One"]);
    await page.click(".strip > button", /^All sessions/);
    await page.click(".sessions button", /^Delete One/);
    expect(page.asked("bb.deleteSession")).toEqual([]);
    await page.click(".confirm button", /^Delete$/);
    expect(page.asked("bb.deleteSession")).toEqual([{ sessionId: "s1" }]);
    expect(page.all(".strip .tab")).toEqual([]);
  });

  it("can be moved between with the keyboard", async () => {
    const page = await openPage({ sessions, saved: { open: ["s1", "s2"], active: "s1" } });
    const tabs = page.all(".strip [role=tab]");
    tabs[0]?.focus();
    await page.key(tabs[0] as HTMLElement, "ArrowRight");
    expect(document.activeElement).toBe(tabs[1]);
    await page.key(tabs[1] as HTMLElement, "ArrowRight");
    expect(document.activeElement).toBe(tabs[0]);
    expect(tabs.map((tab) => tab.getAttribute("aria-label"))).toEqual(["One", "Two, waits for your answer"]);
  });

  it("R001-06 R001-52: two that stream at once do not mix", async () => {
    const page = await openPage({ sessions, saved: { open: ["s1", "s2"], active: "s1" } });
    await page.model.tabs.select("s2");
    await page.model.tabs.select("s1");
    const put = (sessionId: string, text: string) =>
      page.tell("bb/view", {
        sessionId,
        epoch: "e",
        fromSeq: 11,
        toSeq: 11,
        changes: [
          { lane: "chat", op: "put", id: "a1", block: { id: "a1", seq: 11, kind: "assistant", text, streaming: true } },
        ],
      });
    await put("s2", "for two");
    await put("s1", "for one");
    expect(page.one(".assistant").textContent?.trim()).toBe("for one");
    await page.model.tabs.select("s2");
    expect(page.asked("bb.selectSession").map(({ sessionId }) => sessionId)).toEqual(["s1", "s2", "s1", "s2"]);
  });

  it("what changes is said to a screen reader in words, and not token by token", async () => {
    const page = await openPage({ sessions });
    const spoken = () => page.one('[aria-live="polite"]').textContent;
    await page.tell("bb/state", { sessions: [{ sessionId: "s1", status: "running" }] });
    expect(spoken()).toBe("The agent is working.");
    await page.change(11, {
      lane: "chat",
      op: "put",
      id: "a",
      block: { id: "a", seq: 11, kind: "assistant", text: "token", streaming: true },
    });
    expect(spoken()).toBe("The agent is working.");
    await page.tell("bb/state", { sessions: [{ sessionId: "s1", status: "waiting" }] });
    expect(spoken()).toBe("The agent waits for your answer.");
  });
});

it("commands of the editor reach the page", async () => {
  const page = await openPage();
  await page.type("before");
  page.deliver({ v: 1, kind: "req", id: "h1", method: "page.compose", params: { text: "@a.rs:1-2\n" } });
  page.deliver({ v: 1, kind: "req", id: "h2", method: "page.newSession" });
  page.deliver({ v: 1, kind: "req", id: "h3", method: "page.evil" });
  page.deliver({ v: 1, kind: "req", id: "h4", method: "page.compose", params: {} });
  await page.frame();
  expect(page.model.prompts.drafts.value["s1"]?.text).toBe("before\n@a.rs:1-2\n");
  expect(page.asked("bb.createSession")).toEqual([{}]);
  expect(page.sent.filter(({ kind }) => kind === "res").map(({ id, ok, error }) => [id, ok, error?.code])).toEqual([
    ["h1", true, undefined],
    ["h2", true, undefined],
    ["h3", false, "unknown_method"],
    ["h4", false, "invalid_params"],
  ]);
});

it("R004-33: the session that got a spec is shown, with its chat in front", async () => {
  const page = await openPage({
    sessions: [
      { sessionId: "s1", title: "First", status: "idle" },
      { sessionId: "s2", title: "Spec", status: "running" },
    ],
  });
  await page.pane("Files");
  page.deliver({ v: 1, kind: "req", id: "h1", method: "page.showSession", params: { sessionId: "s2" } });
  page.deliver({ v: 1, kind: "req", id: "h2", method: "page.showSession", params: {} });
  await page.frame();
  expect([page.model.tabs.activeId.value, page.model.pane.value]).toEqual(["s2", "chat"]);
  expect(page.one(".strip .tab.active").textContent).toBe("Spec");
  expect(page.asked("bb.selectSession").at(-1)).toEqual({ sessionId: "s2" });
  expect(document.activeElement).toBe(page.one(".composer textarea"));
  expect(page.sent.filter(({ kind }) => kind === "res").map(({ ok }) => ok)).toEqual([true, false]);
});

it("R000-14 R000-15: what is no envelope changes nothing and is a violation", async () => {
  const page = await openPage();
  const before = page.root.innerHTML;
  for (const message of [
    null,
    "x",
    { v: 2, kind: "evt", topic: "bb/state", payload: { sessions: [] } },
    { v: 1, kind: "evt", topic: "bb/other", payload: {} },
    { v: 1, kind: "res", id: "nobody", ok: true },
  ])
    page.deliver(message as never);
  await page.frame();
  expect([page.root.innerHTML === before, page.violations.length]).toEqual([true, 5]);
});

describe("completion", () => {
  it("finds the word at the cursor", () => {
    expect(triggerAt("see @src/ma and", 11)).toEqual({ kind: "file", from: 4, word: "src/ma" });
    expect(triggerAt("a@b", 3)).toBeUndefined();
    expect(triggerAt("/mo", 3)).toEqual({ kind: "command", from: 0, word: "mo" });
    expect(triggerAt("a /mo", 5)).toBeUndefined();
  });

  it("knows folders, and workspace folders where there are several", () => {
    expect(whereToLook("src/ma", ["ws"])).toEqual({ folder: "src", part: "ma" });
    expect(whereToLook("two/src/ma", ["one", "two"])).toEqual({ root: "two", folder: "src", part: "ma" });
    expect(whereToLook("tw", ["one", "two"])).toEqual({ roots: "tw" });
    expect(rootChoices("tw", ["one", "two"])).toEqual([
      { label: "two/", icon: "root-folder", insert: "@two/", more: true },
    ]);
    expect(fileChoices([{ path: "src/a.rs", name: "a.rs", type: "file" }], "a", "two")).toEqual([
      { label: "a.rs", icon: "file", insert: "@two/src/a.rs ", detail: "src/a.rs" },
    ]);
  });

  it("a command needs its argument, and an engine that has it", () => {
    const commands = commandsOf({ kind: "breadboard", status: "connected", capabilities: ["commands"] });
    expect(readCommand("/model gpt 5", commands)).toEqual({ command: "set_model", args: { model: "gpt 5" } });
    expect([
      readCommand("/model", commands),
      readCommand("/nothing", commands),
      commandsOf({ kind: "embedded", status: "connected", capabilities: ["commands"] }),
    ]).toEqual([undefined, undefined, []]);
  });
});
