// The list of all sessions: one is called otherwise, and one is found by what was said in it, which leads to the place.
import { says } from "../model.mjs";

export default async function sessions(stage) {
  const { page, view, model, ask, idle, command, picture, say } = stage;
  const begin = async () => {
    await command("BreadBoard: New Session");
    await view.locator("textarea[aria-label=Prompt]").and(view.locator(":focus")).waitFor();
    await view.locator(".tab.active", { hasText: "New session" }).waitFor();
  };
  // Given a session whose answer has a word that no title has
  await begin();
  model.reply(says("The lighthouse keeper is called Marit."));
  await ask("who keeps watch over the uploads?");
  await view.locator(".assistant", { hasText: "Marit" }).waitFor();
  await idle();
  await begin();
  // When it is called otherwise, and the word is looked for
  await command("BreadBoard: Show All Sessions");
  const list = view.getByRole("list", { name: "All sessions" });
  await list.getByRole("button", { name: "Rename who keeps watch over the uploads?" }).focus();
  await page.keyboard.press("Enter");
  const title = view.getByLabel("Title of the session");
  await title.fill("Harbour");
  await title.press("Enter");
  await list.getByRole("button", { name: "Harbour", exact: true }).waitFor();
  await view.getByLabel("Find a session").fill("MARIT lighth");
  // Then that session alone is there, with the place
  const place = list.getByRole("button", { name: /The lighthouse keeper is called Marit/ });
  await place.waitFor();
  await list.getByRole("button", { name: "Harbour", exact: true }).waitFor();
  await picture("sessions-found");
  // And by the keyboard it leads there
  await place.focus();
  await page.keyboard.press("Enter");
  await view.locator(".tab.active", { hasText: "Harbour" }).waitFor();
  await view.locator(".find [role=status]", { hasText: /of \d/ }).waitFor();
  await view.locator(".row.found", { hasText: "lighthouse" }).waitFor();
  await picture("sessions-place");
  await page.keyboard.press("Escape");
  say("a session has another title, and was found by a word of an answer in it");
}
