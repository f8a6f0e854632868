// Hidden in mid-stream and shown again: nothing is lost, nothing is there twice. An ask that comes while the view is hidden
// is told by the editor.
import assert from "node:assert/strict";
import { SIDEBAR } from "../editor.mjs";
import { calls, gate, says } from "../model.mjs";

export default async function hide({ page, view, card, model, ask, show, picture, say }) {
  const hidden = gate();
  const rest = gate();
  model.reply(says("one ", hidden, "two ", rest, "three"));
  await ask("count");
  await view.locator(".assistant", { hasText: "one" }).last().waitFor();
  await show("Explorer");
  await page.locator(SIDEBAR).waitFor({ state: "detached" });
  hidden.open();
  await show("BreadBoard");
  await view.locator(".assistant", { hasText: "one two" }).waitFor();
  rest.open();
  await view.locator(".assistant", { hasText: "one two three" }).waitFor();
  assert.equal(await view.locator(".assistant", { hasText: "one two three" }).count(), 1);
  assert.equal(await view.locator(".user", { hasText: "count" }).count(), 1);
  await picture("shown-again");
  say("hidden and shown in mid-stream: whole, and once");

  const asks = gate();
  model.reply({ steps: ["one moment ", asks, ...calls("run_command", { command: "echo unseen", reason: "x" }).steps] }, says("Not run."));
  await ask("run something later");
  await view.locator(".assistant", { hasText: "one moment" }).waitFor();
  await show("Explorer");
  await page.locator(SIDEBAR).waitFor({ state: "detached" });
  asks.open();
  const toast = page.locator(".notifications-toasts .notification-list-item", { hasText: "The agent asks:" });
  await toast.waitFor();
  await toast.getByRole("button", { name: "Show It" }).waitFor();
  assert.match(await toast.textContent(), /echo unseen/);
  await page.locator('.activitybar .action-item:has(a[aria-label^="BreadBoard"]) .badge', { hasText: "1" }).waitFor();
  await picture("asked-while-hidden");
  await toast.getByRole("button", { name: "Show It" }).click();
  await card.getByRole("button", { name: "Allow once" }).and(view.locator(":focus")).waitFor();
  await card.locator('.buttons button[aria-disabled="false"]', { hasText: "Deny" }).click();
  await view.locator(".assistant", { hasText: "Not run." }).waitFor();
  assert.equal(await view.locator(".card.tool").last().locator(".status").textContent(), "denied");
  // The card that was brought to the front was the last row: the chat goes on following what comes.
  assert.equal(await view.locator(".to-end").count(), 0);
  await picture("denied");
  say("an ask while the view is hidden: a notification, a number at the view, and the way to its card; denied reads denied");
}
