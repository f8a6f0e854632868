// @vitest-environment jsdom
/** Places that a text names: what is one, and that it opens at its line. */
import type { Block } from "@breadboard-ls/sdk";
import { expect, it } from "vitest";
import { toHtml } from "../../src/webview/markdown";
import { fileOf, hrefOf, partsOf, type Place, placeOf } from "../../src/webview/places";
import { openPage } from "./page";

const found = (text: string, which: "with_line" | "all" = "with_line"): Place[] =>
  partsOf(text, which).flatMap((part) => (typeof part === "string" ? [] : [part.place]));

it.each<[string, Place[]]>([
  ["see src/lib.rs:8.", [{ path: "src/lib.rs", line: 8 }]],
  ["(at src/a.ts:3:15)", [{ path: "src/a.ts", line: 3, column: 15 }]],
  ["lib.rs:6, and Makefile:2-4", [{ path: "lib.rs", line: 6 }, { path: "Makefile", line: 2 }]],
  ["/ws/src/größe.rs:1", [{ path: "/ws/src/größe.rs", line: 1 }]],
  ["@src/lib.rs:2", [{ path: "src/lib.rs", line: 2 }]],
  ["`uploads/src/lib.rs:8-12`", [{ path: "uploads/src/lib.rs", line: 8 }]],
  ["src/lib.rs#L8-L12 or src/lib.rs#L8", [{ path: "src/lib.rs", line: 8 }, { path: "src/lib.rs", line: 8 }]],
  ["at src\\upload\\part.rs:8:3,", [{ path: "src/upload/part.rs", line: 8, column: 3 }]],
  ["C:\\proj\\src\\lib.rs:8 and d:/proj/a.rs:1", [{ path: "C:/proj/src/lib.rs", line: 8 }, { path: "d:/proj/a.rs", line: 1 }]],
])("%s names places", (text, places) => expect(found(text)).toEqual(places));

it.each([
  "at 10:30:45",
  "localhost:8080 and 127.0.0.1:80",
  "example.com:443/x",
  "https://example.org/a/b.rs:3",
  "and/or:3 of 1.2.3:4",
  "src/lib.rs without a line",
  "key:12",
])("%s names none", (text) => expect(found(text)).toEqual([]));

it("in what a tool gave a path without a line counts too, and joined the pieces are the text", () => {
  const text = "src/lib.rs\nREADME.md\nsrc/b.rs:3: fn x() https://a.b/c.d see src/c.rs.";
  expect(found(text, "all")).toEqual([{ path: "src/lib.rs" }, { path: "src/b.rs", line: 3 }, { path: "src/c.rs" }]);
  expect(
    partsOf(text, "all")
      .map((part) => (typeof part === "string" ? part : part.text))
      .join(""),
  ).toBe(text);
});

it("an address of a place names the same place", () => {
  for (const place of [{ path: "a b/c.rs" }, { path: "C:/proj/a.rs", line: 8 }, { path: "/ws/a.rs", line: 8 }, { path: "lib.rs", line: 3 }, { path: "lib.rs", line: 3, column: 9 }])
    expect(placeOf(hrefOf(place))).toEqual(place);
});

it("a long text without a place is read in one go", () => {
  const begun = performance.now();
  expect(found("a/".repeat(100_000), "all")).toEqual([]);
  expect(performance.now() - begun).toBeLessThan(2_000);
});

it("a file of several folders is asked for in its own one", () => {
  expect([
    fileOf("web/src/a.rs", undefined, ["uploads", "web"]),
    fileOf("src/a.rs", "web", ["uploads", "web"]),
    fileOf("web/src/a.rs", null, ["web"]),
  ]).toEqual([{ path: "src/a.rs", root: "web" }, { path: "src/a.rs", root: "web" }, { path: "web/src/a.rs" }]);
});

it("an answer has links for them in words, in code and in a block of code, and none within a link", () => {
  const links = (text: string) =>
    [...toHtml(text).matchAll(/<a [^>]*href="([^"]*)"[^>]*>([^<]*)<\/a>/g)].map(([, href, words]) => [href, words]);
  expect(links("see `src/lib.rs:8` and lib.rs:6:2\n\n```\nerror at a/b.c:3\n```")).toEqual([
    ["src/lib.rs#L8", "src/lib.rs:8"],
    ["lib.rs#L6C2", "lib.rs:6:2"],
    ["a/b.c#L3", "a/b.c:3"],
  ]);
  expect(links("`C:\\proj\\lib.rs:8-12` and src\\lib.rs:8")).toEqual([
    ["/C:/proj/lib.rs#L8", "C:\\proj\\lib.rs:8-12"],
    ["src/lib.rs#L8", "src\\lib.rs:8"],
  ]);
  expect(links("[src/lib.rs:8](https://example.org)")).toEqual([["https://example.org", "src/lib.rs:8"]]);
  expect(toHtml("`<img src=x onerror=y> a/b.c:3`")).not.toMatch(/<img/);
});

it("in an answer and in a notice a click opens the file at its line; backticks of a notice are code", async () => {
  const chat: Block[] = [
    { id: "a", seq: 4, turn: 1, kind: "assistant", text: "It is in `src/lib.rs:8:3`.", streaming: false },
    { id: "n", seq: 5, turn: 1, kind: "notice", level: "warning", text: "Set `model` first; see src/b.rs:2." },
  ];
  const page = await openPage({ lanes: { chat } });
  await page.click(".assistant a", "src/lib.rs:8:3");
  await page.click(".notice .place", "src/b.rs:2");
  expect([page.asked("editor.openFile"), page.one(".notice code").textContent, page.one(".notice").textContent]).toEqual([
    [
      { path: "src/lib.rs", line: 8, column: 3 },
      { path: "src/b.rs", line: 2 },
    ],
    "model",
    "Set model first; see src/b.rs:2.",
  ]);
});
