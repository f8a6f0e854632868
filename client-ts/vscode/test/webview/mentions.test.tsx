// @vitest-environment jsdom
/** What `@` names: words, files by any part of their path, symbols; and what is dropped. */
import { expect, it } from "vitest";
import { pathChoices, symbolTyped } from "../../src/webview/composer/completion";
import { urisOf } from "../../src/webview/composer/composer";
import { METHODS, openPage } from "./page";

const story = {
  status: { methods: [...METHODS, "bb/findFiles"] },
  answers: {
    "bb.findFiles": ({ query }: { query: string }) => ({ paths: query === "upr" ? ["src/uploads/retry.rs", "my notes/"] : [] }),
    "editor.findSymbols": () => ({ symbols: [{ name: "retries", where: "src/lib.rs" }, { name: "retries", where: "src/b.rs" }] }),
  },
};
const labels = (page: Awaited<ReturnType<typeof openPage>>) =>
  page.all(".choices li").map(({ textContent }) => (textContent ?? "").trim().replace(/\s+/g, " "));

it("a part of a path finds the file, and symbols come behind", async () => {
  const page = await openPage(story);
  await page.type("see @upr");
  expect(labels(page)).toEqual(["retry.rs src/uploads", "my notes/", "retries src/lib.rs"]);
  await page.key(page.one(".composer textarea"), "Enter");
  expect((page.one(".composer textarea") as HTMLTextAreaElement).value).toBe("see @src/uploads/retry.rs ");
  expect(page.asked("bb.listFiles")).toEqual([]);
});

it("words that need no path are found by their beginning, symbols alone behind their sign", async () => {
  const page = await openPage(story);
  await page.type("@pro");
  expect(labels(page)[0]).toBe("problems errors and warnings of the editor");
  await page.type("@#ret");
  expect(labels(page)).toEqual(["retries src/lib.rs"]);
  await page.key(page.one(".composer textarea"), "Tab");
  expect((page.one(".composer textarea") as HTMLTextAreaElement).value).toBe("@symbol:retries ");
  expect([symbolTyped("symbol:Do"), symbolTyped("src")]).toEqual(["Do", undefined]);
});

it("a path with blanks stands in quotes", () => {
  expect(pathChoices(["my notes/a.md", "src/"]).map(({ insert }) => insert)).toEqual(['@"my notes/a.md" ', "@src/ "]);
});

it("what is dropped from the explorer is named in the prompt", async () => {
  const page = await openPage({ ...story, answers: { ...story.answers, "editor.mention": () => ({ text: "@src/lib.rs " }) } });
  await page.type("look at");
  const drop = new Event("drop", { bubbles: true, cancelable: true });
  Object.assign(drop, { dataTransfer: { getData: (type: string) => (type === "text/uri-list" ? "file:///ws/src/lib.rs\r\n" : ""), files: [] } });
  page.one(".composer").dispatchEvent(drop);
  await page.frame();
  expect(page.asked("editor.mention")).toEqual([{ uris: ["file:///ws/src/lib.rs"] }]);
  expect((page.one(".composer textarea") as HTMLTextAreaElement).value).toBe("look at @src/lib.rs ");
  expect(urisOf({ getData: () => "# a list\nfile:///a\n" })).toEqual(["file:///a"]);
});
