// @vitest-environment jsdom
/** A page that the host wrote as German says all of its own in German. */
import { beforeAll, expect, it } from "vitest";

let openPage: typeof import("./page").openPage;
beforeAll(async () => {
  document.documentElement.lang = "de";
  ({ openPage } = await import("./page"));
});

it("tabs, prompt and a request are German, and dates too; what the server says comes as it is", async () => {
  const page = await openPage({
    lanes: { chat: [{ id: "a1", seq: 8, turn: 1, kind: "assistant", text: "Said in English.", streaming: false } as never] },
  });
  expect(page.all(".panes [role=tab]").map(({ textContent }) => textContent)).toEqual(["Chat", "Aufgaben", "Dateien", "Lauf", "Debug"]);
  expect(page.one(".composer textarea").getAttribute("aria-label")).toBe("Eingabe");
  expect(page.one(".composer button", "Senden")).toBeDefined();
  expect(page.one(".assistant").getAttribute("aria-label")).toBe("Agent");
  expect(page.one(".assistant").textContent).toContain("Said in English.");
  const { momentWords } = await import("../../src/webview/moment");
  expect(momentWords(Date.UTC(2026, 0, 5, 12), Date.UTC(2026, 0, 1), { timeZone: "UTC" })).toBe("Montag, 5. Januar um 12:00");
});

it("counts are said as German has them", async () => {
  const { t } = await import("../../src/webview/messages");
  expect([t("1 line added"), t("{0} lines added", 3), t("No such sentence {0}.", 1)]).toEqual([
    "1 Zeile hinzugefügt", "3 Zeilen hinzugefügt", "No such sentence 1.",
  ]);
});
