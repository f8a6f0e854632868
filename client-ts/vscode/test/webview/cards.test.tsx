// @vitest-environment jsdom
/** What a card says of a tool call: what it does to what, what came of it, in words and with its colours. */
import type { Block } from "@breadboard-ls/sdk";
import { describe, expect, it } from "vitest";
import { plain, runsOf } from "../../src/webview/blocks/ansi";
import { deedOf, resultText, wholeResult } from "../../src/webview/blocks/tool_words";
import { rowsOf } from "../../src/webview/transcript/rows";
import { openPage, viewOf } from "./page";

const call = (more: object = {}): Block =>
  ({ id: "t1", seq: 3, turn: 1, kind: "tool", name: "run_command", status: "ok", ...more }) as Block;
type Page = Awaited<ReturnType<typeof openPage>>;
const texts = (page: Page, selector: string) => page.all(selector).map(({ textContent }) => textContent);

describe("the title of a call", () => {
  it.each([
    ["read_file", "read_file src/a.rs", "Read", "src/a.rs"],
    ["run_command", "run_command make all", "Run", "make all"],
    ["find_places", "find_places retries", "Find", "retries"],
    ["ask_a_friend", "ask_a_friend colour", "Ask a friend", "colour"],
    ["edit", "/workspace/a.txt", "Change", "/workspace/a.txt"],
    ["edit", "Edit src/a.rs", "Edit src/a.rs", undefined],
    ["execute", "`npm test`", "Run", "npm test"],
    ["execute", "List the files", "List the files", undefined],
    ["tool", null, "Tool", undefined],
  ])("%s (%s) says what it does, and to what", (name, title, verb, to) => {
    expect(deedOf({ name, title })).toEqual(to === undefined ? { verb } : { verb, to });
  });

  it("that is a name alone is told with the command or the file that is given", () => {
    expect([
      deedOf({ name: "execute", title: "Shell", input: { command: "make all", is_background: false } }),
      deedOf({ name: "edit", title: "WriteFile", input: { file_path: "/w/a.rs", content: "x" } }),
      deedOf({ name: "ask_a_friend", title: "Ask", input: { path: "a.md" } }),
      deedOf({ name: "execute", title: "Shell", input: { argv: ["make"] } }),
    ]).toEqual([
      { verb: "Run", to: "make all" },
      { verb: "Change", to: "/w/a.rs" },
      { verb: "Ask", to: "a.md" },
      { verb: "Shell" },
    ]);
  });
});

describe("a result", () => {
  it.each([
    ["text as it is", "plain words\n{not data", "plain words\n{not data"],
    ["its summary and its text", '{"summary":"2 names:","text":"a\\nb"}', "2 names:\na\nb"],
    ["what went wrong", '{"error":"no such file"}', "no such file"],
    ["names and values", '{"exit_code":3,"took":{"ms":5}}', "exit code: 3\ntook:\n  ms: 5"],
    ["a list line by line", '["a","b"]', "a\nb"],
    ["data that was cut in a text", '{"summary":"s","text":"one\\ntw', "s\none\ntw…"],
    ["data that was cut in an escape", '{"text":"red \\u00', "red …"],
    ["data that was cut in a name", '{"summary":"s","te', "s"],
    ["no empty stderr", '{"summary":"Ended.","text":"stdout:\\nhi\\nstderr:\\n\\n"}', "Ended.\nstdout:\nhi"],
  ])("is %s", (_what, preview, text) => expect(resultText(preview)).toBe(text));

  it("the whole of it is the result of its event, without what stands around it", () => {
    expect(wholeResult({ call_id: "c1", status: "completed", result: { summary: "s", text: "t" } })).toBe("s\nt");
    expect(wholeResult({ update: { content: [{ type: "content", content: { type: "text", text: "t" } }] } })).toBe("t");
  });
});

describe("output of a terminal", () => {
  it("draws the colours that the server let pass, and leaves what it wrote out as it is", () => {
    expect(runsOf("\u001b[32mgreen\u001b[0m ⟨U+001B⟩[2K⟨U+001B⟩[31m")).toEqual([
      { text: "green", look: "ansi-green" },
      { text: " ⟨U+001B⟩[2K⟨U+001B⟩[31m", look: "" },
    ]);
  });

  it("keeps colours and weights, of all kinds, and nothing else that moves a cursor", () => {
    expect(runsOf("a\u001b[31mred\u001b[1;4m!\u001b[0m \u001b[38;5;10mg\u001b[48;2;0;0;250mb\u001b[m\u001b[2K\u001b]0;t\u0007z")).toEqual([
      { text: "a", look: "" },
      { text: "red", look: "ansi-red" },
      { text: "!", look: "ansi-red ansi-bold ansi-underline" },
      { text: " ", look: "" },
      { text: "g", look: "ansi-bright-green" },
      { text: "b", look: "ansi-bright-green ansi-on-bright-blue" },
      { text: "z", look: "" },
    ]);
  });

  it("a line that was written again stands once, and copied it has no colours", () => {
    expect(plain("10%\r100%\r\n\u001b[32mdone\u001b[0m")).toBe("100%\ndone");
  });
});

describe("a card", () => {
  it("has its arguments by name, its result as text with colours, and its paths as links", async () => {
    const page = await openPage({
      lanes: {
        chat: [
          call({
            title: "run_command cargo test",
            input: { command: "cargo test", timeout: 3 },
            preview: '{"summary":"It ended.","text":"\\u001b[31msrc/a.rs:3:5\\u001b[0m bad"}',
          }),
        ],
      },
    });
    expect([
      page.one(".tool .title").textContent,
      texts(page, ".tool .lines dt, .tool .lines dd"),
      page.one(".tool .output").textContent,
      page.one(".tool .output .ansi-red").textContent,
    ]).toEqual([
      "Run cargo test",
      ["command", "cargo test", "timeout", "3"],
      "It ended.\nsrc/a.rs:3:5 bad",
      "src/a.rs:3:5",
    ]);
    await page.click(".tool .place", "src/a.rs:3:5");
    expect(page.asked("editor.openFile")).toEqual([{ path: "src/a.rs", line: 3, column: 5 }]);
    await page.click(".tool button", "Open in editor");
    expect(page.asked("editor.openText")).toEqual([
      { title: "Run cargo test", text: "It ended.\nsrc/a.rs:3:5 bad" },
    ]);
  });

  it("that failed says why, or that it is not known", async () => {
    const page = await openPage({
      lanes: { chat: [call({ status: "failed", preview: '{"error":"No."}' }), call({ id: "t2", status: "failed" })] },
    });
    expect([texts(page, ".tool .output"), texts(page, ".tool .hint")]).toEqual([["No."], ["It gave no reason."]]);
  });

  it("whose output went to a terminal says so, and shows no placeholder", async () => {
    const page = await openPage({ lanes: { chat: [call({ preview: "[terminal terminal-1]" })] } });
    expect([texts(page, ".tool .output"), texts(page, ".tool .hint")]).toEqual([[], ["Its output went to a terminal."]]);
  });

  it("that ran though it was denied is done: what happened happened", async () => {
    const denied: Block = {
      id: "p1",
      seq: 4,
      turn: 1,
      kind: "permission",
      status: "denied",
      permission: {
        requestId: "p1",
        digest: "sha256:d",
        title: "make",
        subject: { kind: "command", command: "make", cwd: "." },
        options: [],
        toolCallId: "c1",
      },
    };
    const page = await openPage({ lanes: { chat: [call({ toolCallId: "c1", preview: "made" }), denied] } });
    expect([page.one(".tool .status").textContent, texts(page, ".tool .output")]).toEqual(["done", ["made"]]);
  });

  it("that is asked about waits, and runs once it is allowed", async () => {
    const ask = (status: string) =>
      ({
        id: "p1",
        seq: 4,
        turn: 1,
        kind: "permission",
        status,
        permission: {
          requestId: "p1",
          digest: "sha256:d",
          title: "make",
          subject: { kind: "command", command: "make", cwd: "." },
          options: [],
          toolCallId: "c1",
        },
      }) as Block;
    const running = call({ toolCallId: "c1", status: "running" });
    const page = await openPage({ lanes: { chat: [running, ask("pending")] } });
    const seen = () => [page.one(".tool .status").textContent, (page.one(".tool") as HTMLDetailsElement).open];
    expect(seen()).toEqual(["waits for your answer", false]);
    await page.put(11, "chat", ask("allowed"));
    expect(seen()).toEqual(["running", true]);
  });

  it("of a command that did not end well says how it ended", async () => {
    const ended = (code: number) =>
      call({ id: `t${code}`, name: "run_command", preview: `{"summary":"The command ended with exit code ${code}."}` });
    const page = await openPage({ lanes: { chat: [ended(0), ended(3)] } });
    expect(texts(page, ".tool .status")).toEqual(["done", "exit code 3"]);
  });

  it("issue 15: of a command in the background says how long it runs, and the user stops it", async () => {
    const runs = (background: "turn" | "kept") =>
      call({ id: background, toolCallId: `c-${background}`, status: "running", background });
    const over = call({ id: "over", toolCallId: "c-over", background: "kept", preview: "out" });
    const page = await openPage({ lanes: { chat: [runs("turn"), runs("kept"), over] } });
    expect(texts(page, ".tool .status")).toEqual(["runs in the background", "runs on after the turn", "done"]);
    const buttons = () => texts(page, ".tool button").filter((label) => label === "Stop this command");
    expect(buttons()).toHaveLength(2);
    await page.click('[data-block="kept"] button', "Stop this command");
    expect(page.asked("bb.command")).toEqual([
      { sessionId: "s1", command: "stop_command", args: { toolCallId: "c-kept" } },
    ]);
  });

  it("D21: says the exit code that its block has, whatever the words of its result are", async () => {
    const ended = (status: string, exitCode: number) =>
      call({ id: `${status}${exitCode}`, status, exitCode, preview: "out\nerr\n" });
    const cards = [ended("ok", 0), ended("ok", 3), ended("failed", 3), ended("failed", 0), ended("running", 3)];
    const page = await openPage({ lanes: { chat: cards } });
    const icons = page.all(".tool summary > .codicon").map(({ className }) => /codicon-(?!modifier)[\w-]+/.exec(className)?.[0]);
    expect([texts(page, ".tool .status"), icons]).toEqual([
      ["done", "exit code 3", "failed: exit code 3", "failed", "running"],
      ["codicon-check", "codicon-warning", "codicon-error", "codicon-error", "codicon-loading"],
    ]);
  });

  it("whose result is a diff draws it as one", async () => {
    const page = await openPage({ lanes: { chat: [call({ preview: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" })] } });
    expect(texts(page, ".diff .added")).toEqual(["+b\n"]);
  });

  it("draws what it changed, and beside it what the tool said of it", async () => {
    const diff = "--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n-a\n+b\n";
    const page = await openPage({ lanes: { chat: [call({ diff, preview: "The file was updated." })] } });
    expect([texts(page, ".diff .added"), texts(page, ".tool .output")]).toEqual([["+b\n"], ["The file was updated."]]);
  });

  it("that was denied shows what it would have changed, and nothing that its model was told", async () => {
    const diff = "--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n-a\n+b\n";
    const page = await openPage({ lanes: { chat: [call({ status: "denied", diff, preview: "The user said no." })] } });
    expect([page.one(".tool .status").textContent, texts(page, ".diff .added"), texts(page, ".tool .output")]).toEqual([
      "denied",
      ["+b\n"],
      [],
    ]);
  });

  it("with a status that this page does not know shows it as it is", async () => {
    const page = await openPage();
    await page.put(11, "chat", call({ status: "resting" }));
    expect(page.one(".tool .status").textContent).toBe("resting");
  });
});

it("an ask that names no call is about the one before it only where that is what it asks", () => {
  const denied = (command: string): Block => ({
    id: "p1",
    seq: 4,
    turn: 1,
    kind: "permission",
    status: "denied",
    permission: {
      requestId: "p1",
      digest: "sha256:d",
      title: command,
      subject: { kind: "command", command, cwd: "." },
      options: [],
    },
  });
  const make = call({ status: "cancelled", input: { command: "make" } });
  const refused = (command: string) => rowsOf([make, denied(command)]).map((row) => row.refused);
  expect([refused("make"), refused("rm x")]).toEqual([
    ["denied", "denied"],
    [undefined, undefined],
  ]);
});

it("a feed has articles and nothing else, also where older ones can be shown", async () => {
  const page = await openPage({ view: viewOf({ chat: [call()] }, 10, true) });
  expect(page.all(".older").length).toBe(1);
  expect([...page.one("[role=feed]").children].map(({ tagName }) => tagName)).toEqual(["ARTICLE"]);
});

describe("a thought", () => {
  it("has its own first line as title, and is no row where there is none", async () => {
    const reasoning = (text: string, streaming = false): Block => ({ id: "r", seq: 4, turn: 1, kind: "reasoning", text, streaming });
    const page = await openPage({ lanes: { chat: [reasoning("The user wants five.\nSo do I.")] } });
    expect([page.one(".reasoning summary").textContent?.trim(), page.one(".reasoning .text").textContent]).toEqual([
      "The user wants five.",
      "The user wants five.\nSo do I.",
    ]);
    expect(rowsOf([reasoning(" ")])).toEqual([]);
    expect(rowsOf([reasoning(" ", true)]).length).toBe(1);
  });
});

it("a message is copied whole", async () => {
  const user: Block = { id: "u", seq: 2, turn: 1, kind: "user", text: "what I asked" };
  const answer: Block = { id: "a", seq: 4, turn: 1, kind: "assistant", text: "**it**", streaming: false };
  const page = await openPage({ lanes: { chat: [user, answer] } });
  await page.click(".user button", /^Copy the message$/);
  await page.click(".assistant button", /^Copy the message$/);
  expect(page.asked("editor.copy")).toEqual([{ text: "what I asked" }, { text: "**it**" }]);
});

it("the counts of a turn are names and values, never data", async () => {
  const run: Block = {
    id: "s",
    seq: 5,
    turn: 1,
    kind: "summary",
    success: true,
    text: "The turn is done.",
    details: { success: true, tokens_used: 1200, usage: { input: 3, cached: { read: true } }, tools_used: ["a", "b"] },
  };
  const page = await openPage({ lanes: { run: [run] } });
  await page.pane("Run");
  expect(texts(page, ".facts dt, .facts dd")).toEqual([
    ...["tokens used", "1,200", "usage input", "3", "usage cached read", "yes", "tools used", "a, b"],
  ]);
});

describe("a picture of an agent", () => {
  const label = "Picture: a.png, image/png, 3 bytes";
  const link = (more: object) => ({ id: "i-4", seq: 4, turn: 1, kind: "link", uri: "", label, ...more }) as Block;

  it("is drawn as an image, with its words, and one that did not come is told in words", async () => {
    const page = await openPage({
      lanes: { chat: [link({ picture: "data:image/svg+xml;base64,PHN2Zz4=" }), link({ id: "i-5", seq: 5 })] },
    });
    const images = page.all(".picture img");
    expect(images.map((image) => [image.getAttribute("src"), image.getAttribute("alt")])).toEqual([
      ["data:image/svg+xml;base64,PHN2Zz4=", label],
    ]);
    expect(texts(page, ".picture figcaption")).toEqual([label]);
    expect(texts(page, "p.meta").filter((text) => text?.includes("Picture:"))).toEqual([` ${label}`]);
    expect(page.all("svg, iframe, object, embed").length).toBe(0);
  });
});
