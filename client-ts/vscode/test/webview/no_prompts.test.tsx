// @vitest-environment jsdom
/** Sessions that take no prompts here: said in the tab and at the prompt, before somebody types. */
import { expect, it } from "vitest";
import { openPage, refuse } from "./page";

const session = (more: object) => [{ sessionId: "s1", title: "First", status: "idle", ...more }];
type Page = Awaited<ReturnType<typeof openPage>>;
const shown = (page: Page) => {
  const area = page.one(".composer textarea") as HTMLTextAreaElement;
  return {
    tab: page.one(".strip [role=tab]").getAttribute("aria-label"),
    hint: page.all(".no-prompts").map(({ textContent }) => textContent?.trim()),
    readOnly: area.readOnly,
  };
};
const ELSEWHERE = {
  tab: "First, belongs to another engine",
  hint: [
    "This session belongs to another engine than the one in use. It can be read; it takes no prompts.New sessionChoose the engine",
  ],
  readOnly: true,
};
const REASON = "the session belongs to another engine than the one in use, so whether it went on there is not known";

it("a session of another engine says so where its summary names the engine", async () => {
  const page = await openPage({ sessions: session({ engine: "embedded" }), engine: { kind: "breadboard" } });
  expect(shown(page)).toEqual(ELSEWHERE);
  await page.key(page.one(".composer textarea"), "Enter");
  expect(page.asked("bb.tab.prompt")).toEqual([]);
  page.answers["editor.setupLook"] = () => ({ agents: [], providers: [], now: "BreadBoard" });
  await page.click(".no-prompts button", "Choose the engine");
  expect(page.one(".setup h2").textContent).toBe("Who is to answer?");
  await page.click(".setup button", "Leave it as it is");
  await page.click(".no-prompts button", "New session");
  expect(page.asked("bb.createSession")).toEqual([{}]);
});

it("one of the engine in use, and one of an agent beside it, are as always", async () => {
  for (const sessions of [session({ engine: "breadboard" }), session({ engine: "acp", agent: "claude" })]) {
    const page = await openPage({ sessions, engine: { kind: "breadboard" } });
    expect([shown(page).hint, shown(page).readOnly]).toEqual([[], false]);
  }
});

it("one that worked with the engine before it was changed says so, also to a page that comes later", async () => {
  const first = await openPage({ engine: { kind: "embedded" } });
  await first.tell("bb/state", { sessions: session({ status: "running" }) });
  const later = await openPage({ saved: first.saved.at(-1), engine: { kind: "breadboard" } });
  expect(shown(later)).toEqual(ELSEWHERE);
  const again = await openPage({ saved: first.saved.at(-1), engine: { kind: "embedded" } });
  expect(shown(again).hint).toEqual([]);
});

it("one that is made new belongs to the engine in use, and one that an agent runs to neither", async () => {
  const page = await openPage({ engine: { kind: "embedded" } });
  await page.click(".strip button", /^New session/);
  await page.tell("bb/state", {
    sessions: [...session({ agent: "claude", status: "running" }), { sessionId: "new", status: "idle" }],
  });
  expect((page.saved.at(-1) as { engines: unknown }).engines).toEqual({ new: "embedded" });
});

it("one whose verdict says so is no conversation with holes", async () => {
  const page = await openPage();
  await page.tell("bb/connection", {
    status: "connected",
    sessionId: "s1",
    resume: { verdict: "lost", reason: REASON },
  });
  expect([shown(page), page.all(".banner", "holes").length]).toEqual([ELSEWHERE, 0]);
});

it("one that refused a prompt for it says so from then on, and the draft is kept", async () => {
  const words = "This session lives at another engine than the one in use; choose that engine, or create a new session.";
  const page = await openPage({ answers: { "bb.tab.prompt": refuse("unsupported", words) } });
  const area = await page.type("hello");
  await page.key(area, "Enter");
  expect([shown(page), area.value]).toEqual([ELSEWHERE, "hello"]);
});

it("one that another window works on can be read and stopped, and prompts wait until it is free", async () => {
  const page = await openPage({ sessions: session({ status: "running", heldBy: "other_window" }) });
  const area = await page.type("hello");
  await page.key(area, "Enter");
  expect([shown(page), page.asked("bb.tab.prompt"), page.all(".composer .stop").length]).toEqual([
    {
      tab: "First, another window works on it",
      hint: [
        "Another window works on this session. It can be followed and stopped here; prompts wait until its turn is over.",
      ],
      readOnly: false,
    },
    [],
    1,
  ]);
  await page.tell("bb/state", { sessions: session({}) });
  expect(shown(page)).toEqual({ tab: "First", hint: [], readOnly: false });
  await page.key(area, "Enter");
  expect(page.asked("bb.tab.prompt").map(({ text }) => text)).toEqual(["hello"]);
});
