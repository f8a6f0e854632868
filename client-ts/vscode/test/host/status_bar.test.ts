import { expect, it } from "vitest";
import { say, type Seen } from "../../src/host/status_bar";

const running = { server: "running", trusted: true } as const;
const said = (seen: Seen) => {
  const { text, tone } = say(seen);
  return [text, tone];
};

it("a click goes to what waits first, and else to the menu", () => {
  const waiting = { sessions: [{ sessionId: "s", status: "waiting", pendingPermissionCount: 1 }] };
  expect([say({ host: running, state: waiting }).command, say({ host: running }).command]).toEqual([
    "breadboard.showRequest",
    undefined,
  ]);
});

it("says what matters most first", () => {
  const session = (more: object) => ({ sessions: [{ sessionId: "s", ...more }] });
  expect(
    said({ host: { server: "failed", sentence: "No.", trusted: true }, state: session({ pendingPermissionCount: 2 }) }),
  ).toEqual(["$(error) BreadBoard", "error"]);
  expect(
    said({
      host: running,
      state: session({ status: "waiting", pendingPermissionCount: 2 }),
      connection: { status: "error" },
    }),
  ).toEqual(["$(bell-dot) BreadBoard: 2", "warning"]);
  expect(said({ host: running, connection: { status: "error", lastError: "x" } })).toEqual([
    "$(debug-disconnect) BreadBoard",
    "error",
  ]);
  expect(said({ host: running, connection: { status: "connecting", retryCount: 2 } })).toEqual([
    "$(sync~spin) BreadBoard",
    "plain",
  ]);
  expect(said({ host: running, state: session({ status: "running" }) })).toEqual([
    "$(loading~spin) BreadBoard",
    "plain",
  ]);
  expect(said({ host: { ...running, trusted: false } })).toEqual(["$(workspace-untrusted) BreadBoard", "plain"]);
  expect(said({ host: running })).toEqual(["$(comment-discussion) BreadBoard", "plain"]);
  expect(said({ host: { server: "waiting", sentence: "It ended.", trusted: true } })).toEqual([
    "$(sync~spin) BreadBoard",
    "warning",
  ]);
});
