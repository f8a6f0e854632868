/** A commit message: asked for in a session of its own, which is gone afterwards. */
import type { Block, StateParams } from "@breadboard-ls/sdk";
import { expect, it, vi } from "vitest";
import * as stub from "./vscode_stub";

vi.mock("vscode", () => import("./vscode_stub"));
const { CommitWriter, messageIn } = await import("../../src/host/commit_message");

const answer = (text: string): Block => ({ id: "a", seq: 2, kind: "assistant", text, streaming: false });
const state = (status: string): StateParams => ({ sessions: [{ sessionId: "s9", status }] });

function writer(blocks: Block[], during: string[] = ["running", "idle"]) {
  const asked: [string, unknown][] = [];
  const subject = new CommitWriter(async (method, params) => {
    asked.push([method, params]);
    if (method === "bb/createSession") return { sessionId: "s9" };
    // The turn may be over before the prompt is answered.
    if (method === "bb/sendMessage") for (const status of during) subject.heard(state(status));
    if (method === "bb/view/page") return { blocks, hasMore: false };
    return {};
  });
  return { subject, asked };
}

function repository(staged: string, unstaged = "") {
  const inputBox = { value: "" };
  const of = { rootUri: stub.Uri.file("/ws"), inputBox, diff: async (cached: boolean) => (cached ? staged : unstaged) };
  stub.extensions.git = { isActive: true, exports: { getAPI: () => ({ repositories: [of] }) } };
  return inputBox;
}

it("what is staged goes along and nothing else, the message goes into the field, and the session is gone", async () => {
  const inputBox = repository("+staged\n", "+other\n");
  const { subject, asked } = writer([answer("```\nAdd it\n\nIt was missing.\n```")]);
  await subject.write({ rootUri: stub.Uri.file("/ws") });
  expect(inputBox.value).toBe("Add it\n\nIt was missing.");
  expect(asked.map(([method]) => method)).toEqual(["bb/createSession", "bb/sendMessage", "bb/view/page", "bb/deleteSession"]);
  const { text, context } = asked[1]?.[1] as { text: string; context: object };
  expect([text.includes("+staged"), text.includes("+other"), context]).toEqual([true, false, { exclude: ["*"] }]);
});

it("with nothing staged the whole change goes along; with none nobody is asked", async () => {
  repository("", "+other\n");
  const { subject, asked } = writer([answer("Change it")]);
  await subject.write(undefined);
  expect((asked[1]?.[1] as { text: string }).text).toContain("+other");
  repository("");
  await expect(writer([]).subject.write(undefined)).rejects.toThrow("stage a change first");
});

it("an agent that asks first, and a model that fails, are said, and the session is gone too", async () => {
  repository("+x\n");
  const asks = writer([], ["running", "waiting"]);
  await expect(asks.subject.write(undefined)).rejects.toThrow("asks something");
  expect(asks.asked.at(-1)?.[0]).toBe("bb/deleteSession");
  const failed = writer([{ id: "n", seq: 1, kind: "notice", level: "error", text: "The model is gone." }]);
  await expect(failed.subject.write(undefined)).rejects.toThrow("The model is gone.");
});

it("a message comes without quotes and fences", () => {
  expect([messageIn([answer('"Fix it"')]), messageIn([answer("Fix it\n\nBecause.")])]).toEqual(["Fix it", "Fix it\n\nBecause."]);
});
