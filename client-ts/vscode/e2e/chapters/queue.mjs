// A prompt while a turn runs waits; it can be edited and taken away.
import { gate, says } from "../model.mjs";

export default async function queue({ view, model, ask, picture, say }) {
  const slow = gate();
  model.reply(says("working ", slow, "done"));
  await ask("take your time");
  await view.locator(".assistant", { hasText: "working" }).waitFor();
  await ask("and then this");
  await view.locator(".queue", { hasText: "and then this" }).waitFor();
  await view.getByRole("button", { name: "Edit the waiting prompt" }).click();
  await view.getByLabel("Text of the waiting prompt").fill("and then that");
  await view.getByRole("button", { name: "Save" }).click();
  await view.locator(".queue", { hasText: "and then that" }).waitFor();
  await picture("queue");
  await view.getByRole("button", { name: "Remove it" }).click();
  await view.locator(".queue").waitFor({ state: "detached" });
  slow.open();
  await view.locator(".assistant", { hasText: "working done" }).waitFor();
  say("a second prompt waits, is edited and taken away");
}
