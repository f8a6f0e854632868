/** Which edits wait for review, what was chosen of them, and what is sent. */
import { expect, it } from "vitest";
import { countsOf, ReviewDesk, sendWords } from "../../src/host/review_desk";

const hunk = (id: string, state = "proposed") => ({
  id,
  oldStart: 1,
  oldLines: 1,
  newStart: 1,
  newLines: 1,
  content: "-a\n+b\n",
  state,
});
const patch = (status = "pending", states: readonly string[] = []) => ({
  patchId: "p",
  sessionId: "s",
  requestId: "r",
  digest: "sha256:d",
  status,
  files: [
    { filePath: "a", change: "modify", outcome: "pending", hunks: [hunk("1", states[0]), hunk("2", states[1])] },
    { filePath: "b", change: "modify", outcome: "pending", hunks: [hunk("3", states[2])] },
  ],
});
const state = (count: number, more: object = {}) =>
  ({ sessions: [{ sessionId: "s", pendingPermissionCount: count, ...more }] }) as unknown as Parameters<ReviewDesk["heard"]>[0];

/** A desk before a server that answers as `server` says, which a test may change. */
function desk(server: Record<string, (params: any) => unknown>) {
  const asked: unknown[] = [];
  const told: unknown[] = [];
  const made = new ReviewDesk({
    ask: async (method, params) => {
      asked.push([method, params]);
      const answer = server[method];
      if (answer === undefined) throw new Error("There is no such edit.");
      return answer(params);
    },
    announced: () => true,
    changed: (patchId, chosen) => void told.push([patchId, made.get(patchId) !== undefined, chosen]),
  });
  return { desk: made, asked, told };
}
const waiting = () => ({
  "bb/patch/list": () => ({ patches: [{ patchId: "p", status: "pending", requestId: "r", files: [] }, { patchId: "q", status: "applied" }] }),
  "bb/patch/get": (): unknown => ({ patch: patch() }),
});

it("R002-45: what was chosen of each change is sent at once, with the digest of what was shown", async () => {
  const server: Record<string, (params: any) => unknown> = waiting();
  const { desk: made, asked, told } = desk(server);
  await made.heard(state(1));
  expect(told).toEqual([["p", true, []]]);
  made.choose("p", ["1", "2"], "accepted");
  made.choose("p", ["2"], undefined);
  await expect(made.send("p")).rejects.toThrow("2 of 3 changes are to be decided first.");
  made.choose("p", ["2"], "rejected");
  made.choose("p", ["3"], "accepted");
  const review = made.get("p");
  expect(review && [countsOf(review), sendWords(countsOf(review))]).toEqual([
    { all: 3, left: 0, accepted: 2 },
    "Accept 2 of 3 changes",
  ]);
  server["bb/patch/decide"] = () => ({ patchId: "p", files: [{ filePath: "a", outcome: "partly" }] });
  expect(await made.send("p")).toBe("2 of 3 changes accepted.");
  expect(asked.at(-1)).toEqual([
    "bb/patch/decide",
    {
      patchId: "p",
      sessionId: "s",
      scope: "hunk",
      digest: "sha256:d",
      hunks: [
        { id: "1", accepted: true },
        { id: "2", accepted: false },
        { id: "3", accepted: true },
      ],
    },
  ]);
  expect(told.slice(1)).toEqual([
    ["p", true, ["1", "2"]],
    ["p", true, ["2"]],
    ["p", true, ["2"]],
    ["p", true, ["3"]],
    ["p", false, []],
  ]);
});

it("a file that was left as it is is told with its reason", async () => {
  const files = [{ filePath: "a", outcome: "conflict", message: "`a` is not what it was." }, { filePath: "b", outcome: "conflict" }];
  const { desk: made } = desk({ ...waiting(), "bb/patch/decide": () => ({ patchId: "p", files }) });
  await made.open("s", "p");
  made.choose("p", ["1", "2", "3"], "accepted");
  await expect(made.send("p")).rejects.toThrow("`a` is not what it was. b was left as it is.");
  await expect(made.send("p")).rejects.toThrow("This edit waits for no answer any more.");
});

it("an edit that was answered elsewhere is gone, and one of another window is not reviewed here", async () => {
  const server: Record<string, (params: any) => unknown> = waiting();
  const { desk: made, told } = desk(server);
  await made.heard(state(1, { heldBy: "other_window" }));
  expect(made.all()).toEqual([]);
  await made.heard(state(1));
  server["bb/patch/get"] = () => ({ patch: patch("partly") });
  server["bb/patch/list"] = () => ({ patches: [] });
  await made.heard(state(0));
  expect([made.all(), told]).toEqual([
    [],
    [
      ["p", true, []],
      ["p", false, []],
    ],
  ]);
  expect(await made.open("s", "p")).toBeUndefined();
});

it("what another client decided already stays, and one that was opened before it was listed stays", async () => {
  const server = { ...waiting(), "bb/patch/get": () => ({ patch: patch("pending", ["rejected"]) }) };
  const { desk: made, told } = desk(server);
  await made.open("s", "p");
  made.choose("p", ["1"], "accepted");
  expect([made.get("p")?.choices, told]).toEqual([new Map([["1", "rejected"]]), [["p", true, []]]]);
  server["bb/patch/list"] = () => ({ patches: [] });
  await made.heard(state(0));
  expect(made.get("p")).toBeDefined();
});

it("the button says what it does", () => {
  const words = [
    { all: 1, left: 1, accepted: 0 },
    { all: 1, left: 0, accepted: 0 },
    { all: 1, left: 0, accepted: 1 },
    { all: 3, left: 0, accepted: 0 },
    { all: 3, left: 0, accepted: 3 },
  ].map(sendWords);
  expect(words).toEqual(["1 of 1 change to decide", "Reject the change", "Accept the change", "Reject all 3 changes", "Accept all 3 changes"]);
});
