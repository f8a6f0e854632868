// Without the mouse: from the prompt to an ask, through its answer back into the prompt, and through the panes.
import assert from "node:assert/strict";
import { calls, says } from "../model.mjs";
import { written } from "../stage.mjs";

export default async function keyboard(stage) {
  const { page, view, card, model, sidebarFrame, picture, say } = stage;
  // From wherever the focus is, into the prompt.
  await page.keyboard.press("Shift+Alt+b");
  const frame = await sidebarFrame();
  const focus = () =>
    frame.evaluate(() => {
      const { activeElement: at } = document;
      return at === null || at === document.body
        ? "nothing"
        : `${at.tagName.toLowerCase()} ${at.getAttribute("aria-label") ?? at.textContent.trim()}`;
    });
  await view.locator("textarea[aria-label=Prompt]:focus").waitFor();

  model.reply(
    calls("propose_patch", {
      file_path: "notes.md",
      edits: [{ old_text: "Nothing yet.", new_text: "Noted by hand." }],
      rationale: "By keyboard.",
      acceptance_criteria: [],
    }),
    says("It is noted."),
  );
  await page.keyboard.type("note something");
  await page.keyboard.press("Enter");
  await card.waitFor();
  // Backwards from the prompt: the line that says that something waits, with the way to it.
  const trail = [];
  const walk = async (key, wanted) => {
    for (let steps = 0; steps < 5; steps += 1) {
      await page.keyboard.press(key);
      const now = await focus();
      trail.push(now);
      if (wanted.test(now)) return;
    }
    throw new Error(`${key} does not lead to ${wanted}; it led to: ${trail.join(", ")}`);
  };
  await walk("Shift+Tab", /^button Show it$/);
  await page.keyboard.press("Enter");
  // Not at once: a key that was on its way when the card came is no answer, and the button says so.
  await card.getByRole("button", { name: "Allow once", disabled: false }).and(view.locator(":focus")).waitFor();
  await picture("keyboard-approval");
  await page.keyboard.press("Enter");
  await view.locator(".assistant", { hasText: "It is noted." }).waitFor();
  await written(stage, "notes.md", "Noted by hand.");
  // The button that had the focus is gone, and nothing else waits for an answer.
  assert.equal(await focus(), "textarea Prompt");
  say("an edit was allowed by keyboard, and the focus is in the prompt again");

  // However long the transcript is, there is a way around it, in both directions.
  await walk("Shift+Tab", /^button Skip to the panes$/);
  await picture("keyboard-skip");
  await page.keyboard.press("Enter");
  assert.match(await focus(), /^button Chat/);
  await walk("Tab", /^button Skip to the prompt$/);
  await page.keyboard.press("Enter");
  await view.locator("textarea[aria-label=Prompt]:focus").waitFor();
  await walk("Shift+Tab", /^button Skip to the panes$/);
  await page.keyboard.press("Enter");
  // Panes by arrow keys, as a list of tabs is walked.
  await page.keyboard.press("ArrowRight");
  assert.match(await focus(), /^button Tasks/);
  await page.keyboard.press("Enter");
  await view.getByRole("tab", { name: /^Tasks/, selected: true }).waitFor();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await view.getByRole("tab", { name: /^Chat/, selected: true }).waitFor();
  say("the panes are walked by arrow keys");
}
