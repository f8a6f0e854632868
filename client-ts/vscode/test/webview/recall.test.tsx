// @vitest-environment jsdom
/** Prompts that were sent: called back by arrow keys, gone from the queue and from the draft. */
import type { Block } from "@breadboard-ls/sdk";
import { expect, it } from "vitest";
import { openPage, uuid } from "./page";

const user = (id: string, seq: number, text: string, messageId = id): Block => ({
  id,
  seq,
  turn: seq,
  kind: "user",
  text,
  messageId,
});
const event = (seq: number, text: string) => ({
  event: {
    id: "",
    type: "local.prompt",
    seq,
    class: "transcript.user_message",
    pane: ["chat"],
    origin: "local",
    payload: { text },
  },
});

it("ArrowUp in an empty prompt calls the last prompts back, whole, and ArrowDown goes the other way", async () => {
  const chat = [user("u1", 1, "first"), user("u2", 2, "twice"), user("u3", 3, "twice"), user("u4", 4, "cut…")];
  const page = await openPage({
    lanes: { chat },
    answers: { "bb.eventBody": ({ seq }) => event(seq, ["", "first", "twice", "twice", "cut\nin two"][seq] ?? "") },
  });
  const area = page.one(".composer textarea") as HTMLTextAreaElement;
  const press = async (key: string, at = 0): Promise<string> => {
    area.setSelectionRange(at, at);
    await page.key(area, key);
    return area.value;
  };
  expect([
    await press("ArrowUp"),
    // On its second line the arrow is for the cursor.
    await press("ArrowUp", 8),
    await press("ArrowUp"),
    await press("ArrowUp"),
    await press("ArrowUp"),
    await press("ArrowDown"),
    await press("ArrowDown"),
    await press("ArrowDown", 10),
  ]).toEqual(["cut\nin two", "cut\nin two", "twice", "first", "first", "twice", "cut\nin two", ""]);
});

it("ArrowUp in a prompt that was typed is for the cursor", async () => {
  const page = await openPage({ lanes: { chat: [user("u1", 1, "first")] } });
  const area = await page.type("mine");
  const { defaultPrevented } = await page.key(area, "ArrowUp");
  expect([area.value, defaultPrevented]).toEqual(["mine", false]);
});

it("a prompt that waited and is in the chat leaves the list of those that wait", async () => {
  let items = [
    { messageId: "m1", text: "one" },
    { messageId: "m2", text: "two" },
  ];
  const page = await openPage({ answers: { "bb.queue.list": () => ({ items, paused: false }) } });
  expect(page.all(".queue li").length).toBe(2);
  items = items.slice(1);
  await page.put(11, "chat", user("u1", 11, "one", "m1"));
  expect(page.all(".queue li .text").map(({ textContent }) => textContent)).toEqual(["two"]);
});

it("a prompt that arrived, though its page went before it heard so, does not come back as a draft", async () => {
  const saved = {
    at: 5,
    pane: "chat",
    open: [{ tabId: uuid(9), sessionId: "s1" }],
    active: "s1",
    drafts: { s1: { text: "hello", attachments: [], messageId: "m1" } },
  };
  const value = (page: Awaited<ReturnType<typeof openPage>>) =>
    (page.one(".composer textarea") as HTMLTextAreaElement).value;
  const there = await openPage({ saved, lanes: { chat: [user("u1", 4, "hello", "m1")] } });
  expect(value(there)).toBe("");
  const waiting = { "bb.queue.list": () => ({ items: [{ messageId: "m1", text: "hello" }], paused: false }) };
  expect(value(await openPage({ saved, answers: waiting }))).toBe("");
  const late = await openPage({ saved });
  expect(value(late)).toBe("hello");
  await late.put(11, "chat", user("u1", 11, "hello", "m1"));
  expect(value(late)).toBe("");
});

it("with no session open the page welcomes, and an example goes into the prompt", async () => {
  const page = await openPage({ sessions: [] });
  await page.click(".welcome li button", "Explain the main entry point");
  expect((page.one(".composer textarea") as HTMLTextAreaElement).value).toBe("Explain the main entry point of this project.");
});
