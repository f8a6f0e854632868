// @vitest-environment jsdom
/**
 * The page and its gate with servers of other releases of the same wire version: an older one, which lacks what came late, and a newer
 * one, which says what nobody knows yet. Both are the real server behind `tests/clients/other_version.mjs`.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { REQUESTS, SERVER_NOTIFICATIONS } from "@breadboard-ls/sdk";
import { type RunningServer, startServer } from "@breadboard-ls/sdk/node";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Told } from "../../src/host/batch";
import { Gate } from "../../src/host/gate";
import { openPage } from "./page";

type Message = Record<string, any>;

const repository = path.resolve(import.meta.dirname, "../../../..");
const binary = path.resolve(process.env["BB_SERVER"] ?? path.join(repository, "target/debug/breadboard-ls"));

let folder = "";
let server: RunningServer | undefined;
let violations: string[] = [];

beforeEach(() => {
  if (!existsSync(binary)) throw new Error(`There is no server at ${binary}; build one, or name it with BB_SERVER.`);
  folder = mkdtempSync(path.join(tmpdir(), "bb-versions-"));
  violations = [];
});

afterEach(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A page whose host is the real gate before a server of that release. */
async function pageWith(release: "older" | "newer") {
  const workspace = mkdtempSync(path.join(folder, "ws-"));
  writeFileSync(path.join(workspace, "retry.rs"), "pub const RETRY_LIMIT: u32 = 3;\n");
  const running = await startServer({
    command: process.execPath,
    args: [path.join(repository, "tests/clients/other_version.mjs"), release, binary, "--stdio"],
    workspaceFolders: [workspace],
    initializationOptions: { stateDir: path.join(folder, "state"), engine: { kind: "embedded" }, workspaceTrusted: true },
  });
  server = running;
  const { methods } = running.announcement;
  const waiting = new Map<string, (answer: Message) => void>();
  let page: Awaited<ReturnType<typeof openPage>> | undefined;
  const early: Message[] = [];
  const gate = new Gate({
    post: (posted) => {
      const message = posted as Message;
      if (message["kind"] === "res") waiting.get(message["id"])?.(message);
      else if (page === undefined) early.push(message);
      else page.deliver(message);
    },
    rpc: (envelope) => running.connection.sendRequest("bb/rpc", envelope),
    editor: async () => undefined,
    announced: (method) => methods.includes(method),
    violation: (sentence) => void violations.push(sentence),
    later: (ms, run) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  });
  gate.setOpen(true);
  for (const method of SERVER_NOTIFICATIONS)
    running.connection.onNotification(method, (payload: unknown) => gate.tell({ topic: method, payload } as Told));
  let made = 0;
  const ask = (method: string) => async (params: unknown) => {
    const id = `page-${(made += 1)}`;
    const answered = new Promise<Message>((resolve) => waiting.set(id, resolve));
    await gate.receive({ v: 1, kind: "req", id, method, params });
    const answer = await answered;
    if (answer["ok"] !== true) throw answer["error"];
    return answer["result"];
  };
  const answers = Object.fromEntries(REQUESTS.map((method) => method.replaceAll("/", ".")).map((name) => [name, ask(name)]));
  page = await openPage({ answers, status: { methods } });
  for (const message of early) page.deliver(message);
  return { page, workspace, ask };
}

type Page = Awaited<ReturnType<typeof openPage>>;

/** Paints until the page shows it; `meanwhile` is done before each look. */
async function shows(page: Page, text: string, meanwhile?: () => void) {
  const until = Date.now() + 15_000;
  for (;;) {
    meanwhile?.();
    await page.frame();
    if (page.root.textContent?.includes(text)) return;
    if (Date.now() > until) throw new Error(`the page does not show ${text}:\n${page.root.textContent}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** An edit that is asked for, allowed with this button and made: what every user does. */
async function usual(page: Page, workspace: string, button = "Allow once") {
  await page.type("replace `RETRY_LIMIT` with `ATTEMPTS` in retry.rs");
  await page.key(page.one(".composer textarea"), "Enter");
  await shows(page, button);
  // A card takes no click before it was there to be read.
  await shows(page, "Replaced with", () => page.all(".approval button").find(({ textContent }) => textContent === button)?.click());
  expect(readFileSync(path.join(workspace, "retry.rs"), "utf8")).toContain("ATTEMPTS");
}

it("R000-70: with an older server the page does what that can, and what it lacks is refused with a sentence", async () => {
  const { page, workspace, ask } = await pageWith("older");
  await usual(page, workspace);
  await expect(ask("bb.turn.list")({ sessionId: "s" })).rejects.toMatchObject({
    code: "unsupported",
    message: "The server does not offer this; update it, or restart it if it does not run.",
  });
  expect(violations).toEqual([]);
});

it("R000-70: with a newer server the page shows all that it knows, and the rest as text", async () => {
  const { page, workspace } = await pageWith("newer");
  await usual(page, workspace, "Allow on Sundays");
  for (const unknown of ["hologram", "shelved", "Somebody may listen.", "Cast a spell", "excused", "postponed"])
    await shows(page, unknown);
  // What waits no longer, in whatever way, is not answered; and of what was answered it is said how.
  expect(page.all(".approval button", /^Maybe$/)).toEqual([]);
  expect([violations, page.violations]).toEqual([[], []]);
});
