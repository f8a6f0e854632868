/** What stands in the prompt after "Ask about the Selection", and in a notification. */
import { expect, it } from "vitest";
import { mention } from "../../src/host/selection";
import { plainly } from "../../src/host/toast";

const at = (line: number, character: number) => ({ line, character });
const file = { where: "src/lib.rs", language: "rust" };

it("names the lines that are marked: one that is only touched by the end of the selection is none of them", () => {
  expect([
    mention({ ...file, start: at(5, 0), end: at(9, 0), text: "a\nb\nc\nd\n" }),
    mention({ ...file, start: at(5, 2), end: at(6, 1), text: "a\nb" }),
    mention({ ...file, start: at(5, 0), end: at(5, 3), text: "```" }),
    mention({ ...file, start: at(5, 0), end: at(5, 0), text: "" }),
  ]).toEqual([
    "@src/lib.rs:6-9\n```rust\na\nb\nc\nd\n```\n",
    "@src/lib.rs:6-7\n```rust\na\nb\n```\n",
    "@src/lib.rs:6-6\n````rust\n```\n````\n",
    "@src/lib.rs ",
  ]);
});

it("a notification has no backticks around names", () => {
  expect(plainly("Set `model` in `a.json`; 3 ` stays.")).toBe("Set “model” in “a.json”; 3 ` stays.");
});
