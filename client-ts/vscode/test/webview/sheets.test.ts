import { describe, expect, it } from "vitest";
import { sheetsOf } from "../../src/webview/blocks/sheets";

describe("the sheets of an answer", () => {
  it("have its pieces in their order, each as many as make it full", () => {
    expect(sheetsOf(["aa", "b", "cc", "dddd", "e"], 3)).toEqual([["aa", "b"], ["cc", "dddd"], ["e"]]);
    expect(sheetsOf([], 3)).toEqual([]);
    expect(sheetsOf([""], 3)).toEqual([[""]]);
  });

  it("R000-67: stay as they are when the text grows, but for the last one", () => {
    const pieces = Array.from({ length: 200 }, (_, at) => "x".repeat((at * 7) % 23));
    let before: string[][] = [];
    for (let count = 0; count <= pieces.length; count += 1) {
      const now = sheetsOf(pieces.slice(0, count), 50);
      expect(now.slice(0, Math.max(0, before.length - 1))).toEqual(before.slice(0, -1));
      expect(now.flat()).toEqual(pieces.slice(0, count));
      before = now;
    }
    expect(before.length).toBeGreaterThan(20);
  });
});
