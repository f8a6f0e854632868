/** Where code of an answer belongs in a file. */
import { expect, it } from "vitest";
import { changesOf, diffOf, isDiff, placeOfCode, withChanges } from "../../src/host/code_place";

const FILE = ["use std;", "", "impl Door {", "    fn open(&self) {", "        turn();", "    }", "", "    fn shut(&self) {", "    }", "}"];

it("code that begins and ends like a stretch of the file replaces it, at its depth", () => {
  expect(placeOfCode("fn open(&self) {\n    turn();\n    push();\n}\n", FILE)).toEqual({
    from: 3,
    to: 5,
    lines: ["    fn open(&self) {", "        turn();", "        push();", "    }"],
  });
});

it("what is marked is replaced, and code that fits nowhere, or twice, has no place", () => {
  expect(placeOfCode("push();", FILE, { from: 4, to: 4 })).toEqual({ from: 4, to: 4, lines: ["        push();"] });
  expect(placeOfCode("fn other() {\n}\n", FILE)).toBe(undefined);
  expect(placeOfCode("}\n", ["}", "}"])).toBe(undefined);
  expect(placeOfCode("\n", FILE)).toBe(undefined);
});

it("a diff changes the lines that it shows, near where it says, and nothing where they are not", () => {
  const text = "--- a/src/door.rs\n+++ b/src/door.rs\n@@ -2,3 +2,4 @@\n     fn open(&self) {\n-        turn();\n+        push();\n+        pull();\n     }\n";
  expect([isDiff(text), isDiff("let a = 1;\n")]).toEqual([true, false]);
  const [first] = diffOf(text);
  expect(first?.file).toBe("src/door.rs");
  expect(changesOf(FILE, first?.hunks ?? [])).toEqual([
    { from: 3, to: 5, lines: ["    fn open(&self) {", "        push();", "        pull();", "    }"] },
  ]);
  const changes = changesOf(FILE, first?.hunks ?? []) ?? [];
  const more = { from: 2, to: 1, lines: ["// a door"] };
  expect(withChanges(FILE, [more, ...changes]).slice(1, 8)).toEqual([
    "",
    "// a door",
    "impl Door {",
    "    fn open(&self) {",
    "        push();",
    "        pull();",
    "    }",
  ]);
  expect(changesOf(["nothing"], first?.hunks ?? [])).toBe(undefined);
});
