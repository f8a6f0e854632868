// @vitest-environment jsdom
/** The list of all sessions: one is found by its title and by what was said in it, and called otherwise. */
import { expect, it, vi } from "vitest";
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

it("a session is found by what was said in it, and the place leads there", async () => {
  const page = await openPage({ sessions });
  page.answers["bb.listSessions"] = () => ({
    sessions: [sessions[3]],
    found: { s4: [{ blockId: "b7", by: "answer", text: "the limit is MAX_TRIES" }] },
    unsearched: 2,
  });
  await page.click(".strip button", /^All sessions/);
  const field = page.one(".sessions > input") as HTMLInputElement;
  field.value = "max_tries limit";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await vi.waitFor(async () => {
    await page.frame();
    expect(page.all(".sessions .passage").map(({ textContent }) => textContent)).toEqual(["answered the limit is MAX_TRIES"]);
  });
  expect(page.asked("bb.listSessions")).toEqual([{ query: "max_tries limit" }]);
  expect(page.all(".sessions li > .link:not(.passage)").map(({ textContent }) => textContent)).toEqual(["Docs"]);
  expect(page.one(".sessions p.hint").textContent).toBe("Of 2 older sessions only the titles were looked at.");
  await page.click(".sessions .passage", /MAX_TRIES/);
  await vi.waitFor(async () => {
    await page.frame();
    expect((page.one(".find input") as HTMLInputElement).value).toBe("max_tries");
  });
});

it("says once that a session waits, and how often where that is more", async () => {
  const waiting = [1, 2].map((count) => ({ sessionId: `w${count}`, title: `Waits ${count}`, status: "waiting", pendingPermissionCount: count }));
  const running = { sessionId: "r", title: "Runs", status: "running", pendingPermissionCount: 1 };
  const page = await openPage({ sessions: [...waiting, running] });
  await page.click(".strip button", /^All sessions/);
  expect(page.all(".sessions li > .hint").map(({ textContent }) => textContent)).toEqual([
    "waits for your answer",
    "waiting · 2 waiting",
    "running · 1 waiting",
  ]);
});

it("gives way to a session that begins", async () => {
  const page = await openPage({ sessions });
  await page.click(".strip button", /^All sessions/);
  expect(page.all(".sessions")).toHaveLength(1);
  await page.click(".strip button", /^New session/);
  expect(page.all(".sessions")).toHaveLength(0);
});

it("says the time as the conversation does", async () => {
  const { momentWords } = await import("../../src/webview/moment");
  const updatedAt = new Date().setHours(7, 3, 0, 0);
  const page = await openPage({ sessions: [{ sessionId: "s1", title: "Early", status: "idle", updatedAt }] });
  await page.click(".strip button", /^All sessions/);
  expect(page.one(".sessions li > .hint").textContent).toBe(`idle · ${momentWords(updatedAt, updatedAt)}`);
});
