// @vitest-environment jsdom
/** A page that the host wrote as German says all of its own in German. */
import { BreadboardError } from "@breadboard-ls/sdk";
import { beforeAll, expect, it } from "vitest";

let openPage: typeof import("./page").openPage;
let refuse: typeof import("./page").refuse;
beforeAll(async () => {
  document.documentElement.lang = "de";
  ({ openPage, refuse } = await import("./page"));
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

it("what the server says often is German too, why something is asked and why a turn failed; and what can be done about it is offered", async () => {
  const text = "The model at http://m wants a key (HTTP 401) and there is none for it; set the key of the model in your editor, or in the environment variable BREADBOARD_MODEL_TOKEN.";
  const reason = "Asked because your setting asks for everything; it only reads (`ls`).";
  const permission = { requestId: "p", digest: "d", title: "ls", subject: { kind: "command", command: "ls", cwd: "." }, options: [{ optionId: "o", label: "Run anyway", kind: "allow_once" }], policy: { class: "read", answer: "prompt", reason } };
  const page = await openPage({
    lanes: { chat: [{ id: "n", seq: 8, turn: 1, kind: "notice", level: "error", text }, { id: "p", seq: 9, turn: 1, kind: "permission", status: "pending", permission }] as never },
    answers: { "editor.copy": refuse("internal", "Nein.", { by: "editor" }) },
  });
  expect(page.one(".notice.error").textContent).toContain("Das Modell bei http://m verlangt einen Schlüssel (HTTP 401)");
  expect(page.one(".notice.error button", "Token setzen")).toBeDefined();
  expect(page.one(".approval").textContent).toContain("Gefragt, denn Ihre Einstellung fragt nach allem; es liest nur (`ls`).");
  expect(page.one(".approval .buttons .primary").textContent).toBe("Trotzdem ausführen");
  // Of an error that is not known its code is, and what the host said is not said twice.
  await page.model.sentences.attempt(async () => void (await page.model.editor("editor.copy", { text: "x" })));
  page.model.sentences.alert(new BreadboardError("not_found", "There is no such thing here."));
  await page.frame();
  expect(page.all(".banner.error").map(({ textContent }) => textContent)).toEqual([
    expect.stringMatching(/^Nein\./),
    expect.stringMatching(/^Das Genannte gibt es nicht, oder nicht mehr\. Der Server sagt dazu \(auf Englisch\): There is no such thing here\./),
  ]);
});

it("counts are said as German has them", async () => {
  const { t } = await import("../../src/webview/messages");
  expect([t("1 line added"), t("{0} lines added", 3), t("No such sentence {0}.", 1)]).toEqual([
    "1 Zeile hinzugefügt", "3 Zeilen hinzugefügt", "No such sentence 1.",
  ]);
});
