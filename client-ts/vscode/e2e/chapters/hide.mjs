// Hidden in mid-stream and shown again: nothing is lost, nothing is there twice.
import assert from "node:assert/strict";
import { SIDEBAR } from "../editor.mjs";
import { gate, says } from "../model.mjs";

export default async function hide({ page, view, model, ask, show, picture, say }) {
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
}
