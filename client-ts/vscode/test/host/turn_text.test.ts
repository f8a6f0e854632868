/** A file as it was before a turn. */
import { expect, it } from "vitest";
import { beforeTurn } from "../../src/host/turn_text";

it("what the turn made gives way to what was there, and what was typed since stays", () => {
  const hunks = [
    { content: " 1\n-2\n+two\n+more\n 3\n", at: { startLine: 3, endLine: 4 } },
    { content: " 7\n-8\n 9\n", at: { startLine: 10, endLine: 9 } },
    { content: "-gone\n+since\n" },
  ];
  const now = "mine\n1\ntwo\nmore\n3\n4\n5\n6\n7\n9\n";
  expect(beforeTurn(now, hunks)).toBe("mine\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  expect(beforeTurn(now.replaceAll("\n", "\r\n"), hunks)).toBe("mine\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n");
});

it("a change with lines between its parts is one, and a file that was made was nothing", () => {
  const hunk = { content: " 1\n-2\n+two\n 3\n-4\n+four\n 5\n", at: { startLine: 2, endLine: 4 } };
  expect(beforeTurn("1\ntwo\n3\nfour\n5", [hunk])).toBe("1\n2\n3\n4\n5");
  expect(beforeTurn("a\nb\n", [{ content: "+a\n+b\n", at: { startLine: 1, endLine: 2 } }])).toBe("");
  expect(beforeTurn("", [{ content: "-a\n-b\n", at: { startLine: 1, endLine: 0 } }])).toBe("a\nb\n");
});
