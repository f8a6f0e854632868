// A prompt while a turn runs waits; it can be edited and taken away. Whoever sends one sees its answer, wherever they read. A turn
// that was stopped or failed says so, and goes on.
import { gate, says } from "../model.mjs";
import { eventually } from "../stage.mjs";

export default async function queue({ page, view, model, ask, idle, picture, say }) {
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

  model.reply(says(Array.from({ length: 80 }, (_, at) => `Paragraph ${at + 1}.`).join("\n\n")));
  await ask("much");
  await view.locator(".assistant", { hasText: "Paragraph 80." }).waitFor();
  await idle();
  await view.locator(".scroller").hover();
  await page.mouse.wheel(0, -20_000);
  await view.locator(".to-end").waitFor();
  model.reply(says("never ", gate(), "done"));
  await ask("stop me");
  await view.locator(".assistant", { hasText: "never" }).waitFor();
  await view.locator(".to-end").waitFor({ state: "detached" });
  await view.getByRole("button", { name: "Stop" }).click();
  await view.locator(".notice.stopped", { hasText: "The turn was stopped." }).waitFor();
  await picture("stopped");
  model.takeBack();
  await ask("fail");
  const retry = view.locator(".notice.error").getByRole("button", { name: "Retry" });
  await retry.waitFor();
  await picture("failed-turn");
  model.reply(says("This time it went well."));
  await retry.click();
  await view.locator(".assistant", { hasText: "This time it went well." }).waitFor();
  const prompt = view.getByLabel("Prompt", { exact: true });
  await prompt.press("ArrowUp");
  await view.locator("textarea[aria-label=Prompt]").and(view.locator(":focus")).waitFor();
  await eventually("the prompt is back", async () => ((await prompt.inputValue()) === "fail" ? true : undefined));
  await prompt.fill("");
  say("a stopped turn is marked, a failed one is sent again, and the prompt is called back");
}
