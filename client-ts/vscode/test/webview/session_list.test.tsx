// @vitest-environment jsdom
/** The list of all sessions: one is found by its title, and called otherwise. */
import { expect, it } from "vitest";
import { METHODS, openPage } from "./page";

const sessions = ["Fix the retries", "Explain uploads", "Retry policy", "Docs", "Tests", "Release"].map((title, at) => ({
  sessionId: `s${at + 1}`,
  title,
  status: "idle",
}));
const shown = (page: Awaited<ReturnType<typeof openPage>>) =>
  page.all(".sessions li > .link").map(({ textContent }) => textContent);

it("one of many is found by words of its title", async () => {
  const page = await openPage({ sessions });
  await page.click(".strip button", /^All sessions/);
  const field = page.one(".sessions > input") as HTMLInputElement;
  field.value = "retr";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await page.frame();
  expect(shown(page)).toEqual(["Fix the retries", "Retry policy"]);
});

it("a session is called otherwise, by Enter; Escape leaves it as it is", async () => {
  const page = await openPage({ sessions: sessions.slice(0, 2), status: { methods: [...METHODS, "bb/session/rename"] } });
  page.answers["bb.session.rename"] = (params) => params;
  await page.click(".strip button", /^All sessions/);
  const rename = async (key: string) => {
    await page.click(".sessions button", /^Rename Explain/);
    const field = page.one(".sessions li > input") as HTMLInputElement;
    field.value = "How uploads work";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await page.key(field, key);
  };
  await rename("Escape");
  expect(page.asked("bb.session.rename")).toEqual([]);
  await rename("Enter");
  expect(page.asked("bb.session.rename")).toEqual([{ sessionId: "s2", title: "How uploads work" }]);
});
