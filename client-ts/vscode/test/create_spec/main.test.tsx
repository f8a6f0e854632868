// @vitest-environment jsdom
/** What the page of a new spec says to its host as it is thrown away: its own wiring, not the form's. */
import { expect, it, vi } from "vitest";

it("R004-15: on beforeunload a page with something to lose says its last words and that it closes", async () => {
  const posted: { type: string; payload?: unknown }[] = [];
  vi.stubGlobal("acquireVsCodeApi", () => ({
    postMessage: (message: { type: string }) => posted.push(message),
    getState: () => undefined,
    setState: () => undefined,
  }));
  document.body.innerHTML = '<div id="app" aria-busy="true"></div>';
  await import("../../src/webview/create_spec/main");
  expect(posted).toEqual([{ type: "create-spec/ready" }]);
  posted.length = 0;

  // Nothing was written: nothing is lost.
  window.dispatchEvent(new MessageEvent("message", { data: INIT }));
  window.dispatchEvent(new Event("beforeunload"));
  expect(posted).toEqual([]);

  const area = await vi.waitFor(() => {
    const found = document.querySelector<HTMLTextAreaElement>("textarea");
    expect(found?.readOnly).toBe(false);
    return found as HTMLTextAreaElement;
  });
  area.value = "Half a thought";
  area.dispatchEvent(new Event("input", { bubbles: true }));
  window.dispatchEvent(new Event("beforeunload"));
  expect(posted).toEqual([
    { type: "create-spec/autosave", payload: { description: "Half a thought" } },
    { type: "create-spec/close-attempt", payload: { hasDirtyChanges: true } },
  ]);
});

const INIT = { type: "create-spec/init", payload: { shouldFocusPrimaryField: true } };
