/** What is coloured of a line of code, and that nothing of it is lost. */
import { expect, it } from "vitest";
import { coloursOf } from "../../src/webview/blocks/code_colours";

const read = (path: string, line: string): string[] =>
  (coloursOf(path)?.(line) ?? []).flatMap(({ text, kind }) => (kind === undefined ? [] : [`${kind} ${text}`]));

it("reads a line by the ending of its file", () => {
  expect(read("src/a.rs", "pub fn at<'a>(x: &'a Vec<u8>) -> char { 'x' } // why")).toEqual([
    "keyword pub",
    "keyword fn",
    "type Vec",
    "keyword char",
    "string 'x'",
    "comment // why",
  ]);
  expect(read("a.py", "def f(): return \"a # b\"  # c")).toEqual(["keyword def", "keyword return", 'string "a # b"', "comment # c"]);
  expect(read("a.ts", "const n = `a ${1}`; /* b */ let m = 0x1f;")).toEqual([
    "keyword const",
    "string `a ${1}`",
    "comment /* b */",
    "keyword let",
    "number 0x1f",
  ]);
  expect(read("q.sql", "SELECT a FROM t -- all")).toEqual(["keyword SELECT", "keyword FROM", "comment -- all"]);
  expect(read("x.lua", "local s = 'it' -- x")).toEqual(["keyword local", "string 'it'", "comment -- x"]);
  expect(read("Makefile", "if x # y")).toEqual(["keyword if", "comment  # y"]);
  expect(coloursOf("notes.txt")).toBeUndefined();
});

it("gives back the line exactly, whatever it is", () => {
  let seed = 7;
  const next = (of: number): number => (seed = (seed * 48_271) % 2_147_483_647) % of;
  const pieces = ["'", '"', "`", "\\", "//", "/*", "*/", "#", "--", " ", "a", "fn", "12", "é", "⟨U+200B⟩", "\t"];
  for (let turn = 0; turn < 2_000; turn += 1) {
    const line = Array.from({ length: next(20) }, () => pieces[next(pieces.length)]).join("");
    for (const path of ["a.rs", "a.py", "a.sh", "a.lua", "a.sql", "a.json"])
      expect((coloursOf(path)?.(line) ?? []).map(({ text }) => text).join("")).toBe(line);
  }
  const long = `"${"x".repeat(5_000)}`;
  expect(coloursOf("a.rs")?.(long)).toEqual([{ text: long }]);
});
