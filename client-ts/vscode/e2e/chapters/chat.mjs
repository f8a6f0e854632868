// A round trip that streams: the first half is on the page before the second exists; Markdown is drawn, HTML is text,
// a link opens its file, and the token reached the model.
import assert from "node:assert/strict";
import { CANARY } from "../stage.mjs";
import { gate, says } from "../model.mjs";

export default async function chat({ page, view, model, opened, ask, idle, picture, say }) {
  const half = gate();
  model.reply(
    says(
      "# Answer\n\nThe **first** half",
      half,
      " and the second.\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n",
      "<img src=x onerror=alert(1)> [place](src/lib.rs:2)\n",
    ),
  );
  await ask("say something");
  await view.locator(".assistant", { hasText: "first half" }).waitFor();
  assert.equal(await view.getByText("and the second").count(), 0);
  await picture("streaming");
  half.open();
  await view.locator(".assistant", { hasText: "first half and the second." }).waitFor();
  await view.locator(".assistant .code code", { hasText: "fn main() {}" }).waitFor();
  await view.locator(".assistant a", { hasText: "place" }).waitFor();
  assert.equal(await view.locator(".assistant img").count(), 0, "HTML of an answer is text");
  assert.equal(model.asked.at(-1).authorization, `Bearer ${CANARY}`);
  await idle();
  await picture("answered");
  say("the answer streamed, as Markdown, and its HTML is text");
  await view.locator(".assistant a", { hasText: "place" }).click();
  await page.locator(".tab", { hasText: "lib.rs" }).waitFor();
  assert.deepEqual(opened, [], "its address is opened nowhere else");
  say("a link of the answer opens the file");
}
