/** Where proposed changes stand in the text of their file, as it is shown for review. */
import { expect, it } from "vitest";
import { linesOfChange, reveal, reviewText } from "../../src/host/review_text";

const FILE = Array.from({ length: 12 }, (_, at) => `${at + 1}\n`).join("");
const two = { id: "a", oldStart: 1, content: " 1\n-2\n+two\n 3\n 4\n 5\n" };
const nine = { id: "b", oldStart: 7, content: " 7\n 8\n-9\n-10\n+nine\n+ten\n+more\n 11\n 12\n" };

it("what goes stands above what comes, and each change knows its lines", () => {
  const shown = reviewText(FILE, [two, nine]);
  expect(shown.text).toBe("1\n2\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\nnine\nten\nmore\n11\n12\n");
  expect(shown.changes).toEqual([
    {
      id: "a",
      lines: { start: 1, end: 3 },
      removed: [{ start: 1, end: 2 }],
      added: [{ start: 2, end: 3 }],
      at: 1,
      fits: true,
    },
    {
      id: "b",
      lines: { start: 9, end: 14 },
      removed: [{ start: 9, end: 11 }],
      added: [{ start: 11, end: 14 }],
      at: 8,
      fits: true,
    },
  ]);
});

it("a change is found by its lines where others were typed above it, with line ends of either kind", () => {
  const typed = `mine\r\nmine too\r\n${FILE.replaceAll("\n", "\r\n")}`;
  const shown = reviewText(typed, [two, nine]);
  expect(shown.text).toBe(`mine\nmine too\n${reviewText(FILE, [two, nine]).text}`);
  expect(shown.changes.map(({ lines, at, fits }) => [lines.start, at, fits])).toEqual([
    [3, 3, true],
    [11, 10, true],
  ]);
});

it("one whose lines are gone, or there twice, fits nowhere and takes no line of the file", () => {
  const typed = FILE.replace("2\n", "TWO\n");
  const shown = reviewText(typed, [two, nine]);
  expect(shown.text).toBe("2\ntwo\n1\nTWO\n3\n4\n5\n6\n7\n8\n9\n10\nnine\nten\nmore\n11\n12\n");
  expect(shown.changes.map(({ fits }) => fits)).toEqual([false, true]);
  // Moved, and in two places: nobody knows which is meant
  const again = reviewText(`0\n${FILE}${FILE}`, [two]);
  expect([again.changes[0]?.fits, again.text.replace("2\ntwo\n", "")]).toEqual([false, `0\n${FILE}${FILE}`]);
});

it("a new file, an empty one, and one without a last line end", () => {
  const made = { id: "n", oldStart: 0, content: "+a\n+b\n" };
  expect(reviewText("", [made])).toMatchObject({ text: "a\nb\n", changes: [{ lines: { start: 0, end: 2 }, fits: true }] });
  const last = { id: "l", oldStart: 1, content: " a\n-b\n\\ No newline at end of file\n+c\n" };
  expect(reviewText("a\nb", [last])).toMatchObject({ text: "a\nb\nc\n", changes: [{ removed: [{ start: 1, end: 2 }], fits: true }] });
});

it("a large file with a change of 300 lines is placed as one", () => {
  const old = Array.from({ length: 2_000 }, (_, at) => `line ${at}`);
  const content = [
    ...old.slice(997, 1_000).map((line) => ` ${line}`),
    ...old.slice(1_000, 1_300).map((line) => `-${line}`),
    ...old.slice(1_000, 1_300).map((line) => `+new ${line}`),
    ...old.slice(1_300, 1_303).map((line) => ` ${line}`),
  ].join("\n");
  const shown = reviewText(`${old.join("\n")}\n`, [{ id: "x", oldStart: 998, content: `${content}\n` }]);
  expect(shown.changes[0]).toMatchObject({
    lines: { start: 1_000, end: 1_600 },
    removed: [{ start: 1_000, end: 1_300 }],
    added: [{ start: 1_300, end: 1_600 }],
  });
  expect(shown.text.split("\n").length).toBe(2_301);
});

it("an empty line of a change is one, and a remark about the end of the file is none", () => {
  expect(linesOfChange(" \n-x\n\\ No newline at end of file\n+y\n")).toEqual([
    { kind: "kept", text: "", bare: "" },
    { kind: "removed", text: "x", bare: "x" },
    { kind: "added", text: "y", bare: "y" },
  ]);
});

it("line ends of Windows are not shown, unless they are what changes", () => {
  const same = linesOfChange(" k␍\n-x␍\n+y␍\n").map(({ text }) => text);
  const other = linesOfChange(" k␍\n-x␍\n+x\n").map(({ text }) => text);
  expect([same, other]).toEqual([
    ["k", "x", "y"],
    ["k␍", "x␍", "x"],
  ]);
  expect(reviewText("k\r\nx\r\n", [{ id: "e", oldStart: 1, content: " k␍\n-x␍\n+x\n" }])).toMatchObject({
    text: "k␍\nx␍\nx\n",
    changes: [{ fits: true }],
  });
});

it("a line with what cannot be seen is found by what it is, and shown as the server shows it", () => {
  for (const [shown, file] of [
    ["a⟨U+202E⟩b", "a\u202eb"],
    ["a⟨3×U+200B⟩b", "a\u200b\u200b\u200bb"],
    ["a⟨U+200B U+00A0⟩", "a\u200b\u00a0"],
    ["⟨4 spaces⟩x⇥y", "    x\ty"],
    ["⟨nothing⟩", "⟨nothing⟩"],
  ] as const) {
    expect(reveal(shown)).toBe(file);
    const text = reviewText(`${file}\nk\n`, [{ id: "r", oldStart: 1, content: `-${shown}\n+x\n k\n` }]);
    expect([text.changes[0]?.fits, text.text]).toEqual([true, `${shown}\nx\nk\n`]);
  }
});
