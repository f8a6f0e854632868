// The server is killed in mid-stream: the page says it, it is started again, what was said is there, whole and once, the
// transcript says that the turn was cut off, and its prompt is sent again from there.
import assert from "node:assert/strict";
import { gate, says } from "../model.mjs";
import { eventually, serverOfTheWindow, servers } from "../stage.mjs";

export default async function killed(stage) {
  const { view, model, ask, idle, picture, say } = stage;
  const never = gate();
  model.reply(says("said before the end ", never));
  await ask("talk until you are cut off");
  await view.locator(".assistant", { hasText: "said before the end" }).waitFor();
  const before = await transcript(view);
  const server = await serverOfTheWindow(stage);
  const told = view.locator(".banner", { hasText: "The server ended unexpectedly" }).waitFor();
  process.kill(server, "SIGKILL");
  await told;
  say("the server was killed, and the page says it");
  await eventually("another server runs", async () => (await servers(stage)).find((pid) => pid !== server));
  await view.locator(".banner", { hasText: "The server ended unexpectedly" }).waitFor({ state: "detached" });
  await idle();
  never.open();
  const cut = view.locator(".row").last().locator(".notice.warning", { hasText: "ended while this turn ran" });
  const again = cut.getByRole("button", { name: "Send it again" });
  await again.waitFor();
  const after = await transcript(view);
  // What was there is there, in its order, and once; that it was cut off stands behind it, and nothing else.
  assert.deepEqual(after.slice(0, before.length), before);
  assert.equal(after.length, before.length + 1, after.join(" | "));
  for (const text of ["talk until you are cut off", "said before the end"])
    assert.equal(after.filter((row) => row.includes(text)).length, 1, `${text}: ${after.join(" | ")}`);
  await picture("server-back");
  say(`it is back; behind the cut stands: ${after.at(-1)}`);
  model.reply(says("said to the end."));
  await again.click();
  await view.locator(".assistant", { hasText: "said to the end." }).waitFor();
  await idle();
  assert.match(JSON.stringify(model.asked.at(-1).body.messages.at(-1)), /talk until you are cut off/);
  assert.equal(await view.locator(".user", { hasText: "talk until you are cut off" }).count(), 2);
  assert.equal(await view.getByRole("button", { name: "Send it again" }).count(), 0, "only the last prompt is sent again");
  await view.locator(".notice.warning", { hasText: "ended while this turn ran" }).last().waitFor();
  say("its prompt was sent again from there, and the place of the cut stays");
  model.reply(says("And on it goes."));
  await ask("go on");
  await view.locator(".assistant", { hasText: "And on it goes." }).waitFor();
  assert.equal((await transcript(view)).filter((row) => row.includes("And on it goes.")).length, 1);
  say("and the session goes on");
}

/** The last rows as text: what is above the window of the list is not on the page. */
async function transcript(view) {
  const rows = await view.locator(".row").evaluateAll((rows) =>
    rows
      .sort((a, b) => Number(a.dataset.index) - Number(b.dataset.index))
      .map((row) => row.innerText.replace(/\s+/g, " ").trim()),
  );
  const from = rows.findLastIndex((row) => row.includes("talk until you are cut off"));
  return rows.slice(from);
}
