// @vitest-environment jsdom
/** The whole of an answer that the server cut. */
import type { Block, Requests } from "@breadboard-ls/sdk";
import { describe, expect, it } from "vitest";
import { wholeText } from "../../src/webview/model/whole_text";
import { openPage } from "./page";

type Event = Requests["bb/events/read"]["result"]["events"][number];

const event = (seq: number, kind: string, payload: unknown): Event =>
  ({ id: "", type: kind, payload, seq, class: kind, pane: ["chat"], origin: "engine" }) as Event;
const said = (seq: number, payload: unknown): Event => event(seq, "transcript.assistant_stream", payload);

/** Reads of these events, two a page. */
const reader = (events: readonly Event[]) => ({
  one: async (seq: number) => events.find((one) => one.seq === seq) as Event,
  from: async (fromSeq: number) => events.filter(({ seq }) => seq >= fromSeq).slice(0, 2),
});
const whole = (text: string, events: readonly Event[]) => wholeText({ seq: events[0]?.seq ?? 0, text }, reader(events));

describe("put together from the events", () => {
  it("one event that has it whole is enough", async () => {
    expect(await whole("abc", [said(3, { text: "abcdef" })])).toBe("abcdef");
  });

  it("pieces in their order, whatever the engine calls them, up to what ends the text", async () => {
    const pieces = [
      said(3, { token: "ha" }),
      said(4, { delta: "ha" }),
      said(5, { content: { type: "text", text: "ha" } }),
      event(6, "usage.update", { used: 3 }),
      said(7, { text: "ha!" }),
      event(8, "tool.call", { text: "not of it" }),
      said(9, { token: "nor this" }),
    ];
    expect(await whole("hahah", pieces)).toBe("hahahaha!");
  });

  it("pieces of another message are not of it", async () => {
    const pieces = [
      said(3, { messageId: "a", text: "one " }),
      said(4, { messageId: "b", text: "TWO " }),
      said(5, { messageId: "a", text: "three" }),
      event(6, "run.finished", {}),
    ];
    expect(await whole("one t", pieces)).toBe("one three");
  });

  it("the engine's own whole after the pieces is said once", async () => {
    expect(await whole("abc", [said(3, { delta: "abc" }), said(4, { delta: "d" }), said(5, { text: "abcd" })])).toBe(
      "abcd",
    );
  });

  it("events that do not begin with what is shown, or have no more, are no whole", async () => {
    expect([
      await whole("abc", [said(3, { delta: "xyz" }), said(4, { delta: "more" })]),
      await whole("abc", [said(3, { delta: "abc" })]),
    ]).toEqual([undefined, undefined]);
  });
});

describe("Show all of an answer", () => {
  const cut: Block = {
    id: "a",
    seq: 3,
    turn: 1,
    kind: "assistant",
    text: "It **be",
    streaming: false,
    truncated: true,
  };
  const answers = (payloads: unknown[]) => {
    const events = payloads.map((payload, at) => said(3 + at, payload));
    return {
      "bb.eventBody": ({ seq }: { seq: number }) => ({ event: events.find((one) => one.seq === seq) }),
      "bb.events.read": ({ fromSeq }: { fromSeq: number }) => ({
        events: events.filter(({ seq }) => seq >= fromSeq),
        hasMore: false,
      }),
    };
  };

  it("R000-68: shows the rest in its place", async () => {
    const page = await openPage({
      lanes: { chat: [cut] },
      answers: answers([{ token: "It **be" }, { token: "gins** here." }]),
    });
    await page.click(".assistant button.link", "Show all");
    expect([page.one(".assistant strong").textContent, page.all(".assistant button.link").length]).toEqual(["begins", 0]);
    expect(page.asked("bb.eventBody")).toEqual([{ sessionId: "s1", seq: 3 }]);
  });

  it("opens one that is too long for the page in an editor", async () => {
    const text = `It **be${"x".repeat(200_000)}`;
    const page = await openPage({ lanes: { chat: [cut] }, answers: answers([{ text }]) });
    await page.click(".assistant button.link", "Show all");
    expect(page.asked("editor.openText")).toEqual([{ title: "Answer", text, language: "markdown" }]);
  });

  it("says so when the events do not have it", async () => {
    const page = await openPage({ lanes: { chat: [cut] }, answers: answers([{ token: "Else." }]) });
    await page.click(".assistant button.link", "Show all");
    expect(page.one(".banner.error").textContent).toContain("The events do not have the whole of this answer");
  });
});
