// The first ten minutes: nobody has chosen who answers. The page asks that one thing, an address is tried before it is kept, a key is
// typed into the editor's own dialog, and the first real answer comes without a restart and without a page of settings.
import assert from "node:assert/strict";
import { CANARY, eventually } from "../stage.mjs";
import { says } from "../model.mjs";

export default async function setup({ page, view, model, editor, messages, reloadWindow, command, show, idle, picture, say }) {
  // Given a machine on which nothing was chosen
  await editor.machine({ "breadboard.model": undefined });
  await reloadWindow();
  await show("BreadBoard");
  await command("BreadBoard: New Session");
  const begun = Date.now();
  const heading = view.getByRole("heading", { name: "Who is to answer?" });
  await heading.waitFor();
  await view.getByRole("heading", { name: "On this machine" }).waitFor();
  await picture("setup");
  // When an address is tried at which nothing answers, it says so
  await view.getByLabel("Address of the model").fill("http://127.0.0.1:9/v1");
  await view.getByLabel("Address of the model").press("Enter");
  await view.locator(".setup-outcome [role=alert]", { hasText: "cannot be reached" }).waitFor();
  await picture("setup-refused");
  // And one that answers has its models to choose from, with a key that the editor asks for
  await view.getByLabel("Address of the model").fill(model.url);
  await view.getByLabel("Address of the model").press("Enter");
  const which = view.locator(".setup-outcome").getByLabel("Which model");
  await which.waitFor();
  await view.getByRole("button", { name: "With another key…" }).click();
  const input = page.locator(".quick-input-widget input[type=password]");
  await input.waitFor();
  await input.fill(CANARY);
  await input.press("Enter");
  await eventually("it was tried with the key", () => (model.listed.at(-1) === `Bearer ${CANARY}` ? true : undefined));
  await which.waitFor();
  await picture("setup-models");
  const starts = await startsOf(view);
  await view.locator(".setup-outcome").getByRole("button", { name: "Use it" }).click();
  // Then it answers, at once
  await heading.waitFor({ state: "detached" });
  model.reply(says("Here I am."));
  await view.getByLabel("Prompt", { exact: true }).fill("who are you");
  // By the mouse: a form of a page is never submitted.
  await view.getByRole("button", { name: "Send" }).click();
  await view.locator(".assistant", { hasText: "Here I am." }).waitFor();
  await idle();
  assert.equal(model.asked.at(-1).authorization, `Bearer ${CANARY}`, "with the key that was typed");
  assert.equal(await startsOf(view), starts, "the server was not restarted");
  assert.ok(!messages.texts.some((text) => text.includes(CANARY)), "the key came to no page");
  await picture("setup-answered");
  say(`from nothing to the first answer of a model in ${((Date.now() - begun) / 1000).toFixed(0)} s, with no page of settings`);
}

/** Which start of the server the page knows. */
const startsOf = (view) => view.locator("body").evaluate(() => document.querySelector(".app")?.dataset.generation);
