// Real agents, each in a session of its own: one edit and one command, asked once each, seen whole, denied and allowed; and
// the command that follows an edit runs on what was edited, in an editor that saves nothing by itself.
import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { WITH_MODEL } from "../../../../tests/agents/agents.mjs";
import { Model } from "../../../../tests/agents/model.mjs";
import { openFile } from "../editor.mjs";
import { eventually, written } from "../stage.mjs";

const BEFORE = "Hello, world\nsecond line\n";
const AFTER = "Hello, breadboard\nsecond line\n";
/** What each calls its answers. */
const ANSWERS = {
  opencode: { allow: "Allow once", deny: "Reject" },
  "codex-acp": { allow: "Yes, proceed", deny: "No, and tell Codex what to do differently" },
  "claude-agent-acp": { allow: "Yes", deny: "No" },
  "qwen-code": { allow: "Allow", deny: "Reject" },
};

const SESSION_IN_FRONT = ".tab.active button[role=tab]";

export default async function agents(stage) {
  const { view, editor, page, folder, work, command, say } = stage;
  const model = await Model.start();
  const engines = {};
  let former;
  for (const name of process.env.E2E_AGENTS.split(" ")) {
    const place = path.join(work, "agents", name);
    await mkdir(place, { recursive: true });
    const { command, args, env } = await WITH_MODEL[name]({ place, env: { HOME: place } }, model);
    engines[name] = { command, args, env };
  }
  try {
    await command("View: Close All Editors");
    former = await view.locator(SESSION_IN_FRONT).getAttribute("aria-label");
    await writeFile(path.join(folder, "hello.txt"), BEFORE);
    await editor.machine({ "breadboard.agents": engines });
    await stage.reloadWindow();
    await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
    await openFile(page, "hello.txt");
    for (const name of Object.keys(engines)) {
      await view.getByRole("button", { name: "New session" }).click();
      await view.getByRole("menuitem", { name }).click();
      await denied(stage, name, ANSWERS[name]);
      await allowed(stage, name, ANSWERS[name]);
      say(`${name} asked once for an edit and once for a command, and obeyed`);
    }
  } finally {
    await model.close();
    await editor.machine({});
    await rm(path.join(folder, "hello.txt"), { force: true });
    await command("View: Close All Editors");
    await stage.reloadWindow();
    await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
  }
  // The next chapter finds the session in front that the one before left there, and not one of an agent that is gone.
  await view.locator(".tab").getByRole("tab", { name: former, exact: true }).click();
  await view.locator(SESSION_IN_FRONT).and(view.getByRole("tab", { name: former, exact: true })).waitFor();
}

/** What is denied is not done. A turn that ends behind one answer has asked once. */
async function denied(stage, name, { deny }) {
  const { card, folder, ask, picture } = stage;
  await ask(`SCENARIO:edit in ${folder}`);
  await shownEdit(card);
  await picture(`${name}-edit`);
  await card.getByRole("button", { name: deny, exact: true }).click();
  await over(stage);
  await ask(`SCENARIO:run in ${folder}`);
  await card.getByText("echo made >made.txt && echo it ran").first().waitFor();
  await picture(`${name}-command`);
  await card.getByRole("button", { name: deny, exact: true }).click();
  await over(stage);
  assert.equal(await readFile(path.join(folder, "hello.txt"), "utf8"), BEFORE);
  assert.equal(await readFile(path.join(folder, "made.txt"), "utf8").catch(() => undefined), undefined);
  await picture(`${name}-denied`);
}

/** What is allowed is done, on the disk and in the editor. */
async function allowed(stage, name, { allow }) {
  const { view, card, page, folder, ask, picture } = stage;
  await ask(`SCENARIO:both in ${folder}`);
  await shownEdit(card);
  assert.equal(await readFile(path.join(folder, "hello.txt"), "utf8"), BEFORE, "nothing is written before the answer");
  await allowWhole(card, allow);
  await card.getByText("grep -c breadboard hello.txt >made.txt").first().waitFor();
  assert.equal(await written(stage, "hello.txt", "breadboard"), AFTER);
  await allowWhole(card, allow);
  await view.getByText("Both were done.").waitFor();
  await over(stage);
  assert.equal(await readFile(path.join(folder, "made.txt"), "utf8"), "1\n", "the command ran on the edit");
  // The editor shows what is on the disk, and nothing in it is unsaved.
  await page.locator(".view-line", { hasText: "Hello, breadboard" }).waitFor();
  assert.equal(await page.locator(".tabs-container .tab.dirty").count(), 0);
  await picture(`${name}-allowed`);
  await rm(path.join(folder, "made.txt"));
  await writeFile(path.join(folder, "hello.txt"), BEFORE);
  await eventually("the editor shows the file as it was", async () =>
    (await page.locator(".view-line", { hasText: "Hello, world" }).count()) > 0 ? true : undefined,
  );
}

/** The turn is over, and nothing waits. */
async function over({ card, idle }) {
  await card.waitFor({ state: "detached" });
  await idle();
  assert.equal(await card.count(), 0);
}

/** Presses the answer once it can be pressed: a card that is taller than the list comes with its end. */
async function allowWhole(card, name) {
  const [allow, beginning] = [name, "Show its beginning"].map((label) => card.getByRole("button", { name: label, exact: true }));
  await eventually("it can be allowed", async () => {
    if (await beginning.isVisible()) await beginning.press("Enter");
    return (await allow.getAttribute("aria-disabled")) === "false" ? true : undefined;
  });
  await allow.click();
}

/** The card has the edit, all of it. */
async function shownEdit(card) {
  await card.locator(".diff .removed", { hasText: "-Hello, world" }).waitFor();
  await card.locator(".diff .added", { hasText: "+Hello, breadboard" }).waitFor();
}
