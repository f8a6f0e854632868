// The list of all sessions: one is called otherwise, and one is found by what was said in it, which leads to the place; one is
// pinned, and another agent goes on with it.
import assert from "node:assert/strict";
import { says } from "../model.mjs";
import { eventually } from "../stage.mjs";

export default async function sessions(stage) {
  const { page, view, model, editor, server, ask, idle, command, picture, say } = stage;
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

  // It is pinned: it stands first, whatever is newer.
  await begin();
  model.reply(says("Nothing new."));
  await ask("what is newer?");
  await view.locator(".assistant", { hasText: "Nothing new." }).waitFor();
  await idle();
  await command("BreadBoard: Show All Sessions");
  const titles = view.locator(".sessions li > .link:not(.passage)");
  assert.equal(await titles.first().innerText(), "what is newer?");
  await list.getByRole("button", { name: "Pin Harbour" }).focus();
  await page.keyboard.press("Enter");
  await list.getByRole("button", { name: "Unpin Harbour" }).waitFor();
  await eventually("it stands first", async () => ((await titles.first().innerText()) === "Harbour" ? true : undefined));
  await picture("sessions-pinned");
  await list.getByRole("button", { name: "Harbour", exact: true }).click();
  await view.locator(".tab.active", { hasText: "Harbour" }).waitFor();

  // Another agent goes on with it, in a session of its own that begins with what was said.
  const script = JSON.stringify({ prompts: [{ when: "", steps: [{ say: "I read: ${prompt}" }] }] });
  await editor.machine({ "breadboard.agents": { echo: { command: server, args: ["simulate", "acp", "--script", script] } } });
  await stage.reloadWindow();
  await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
  try {
    await view.locator(".tab.active", { hasText: "Harbour" }).waitFor();
    await command("BreadBoard: Continue the Session with Another Agent…");
    const picker = page.locator(".quick-input-widget");
    await picker.locator(".monaco-list-row", { hasText: "echo" }).waitFor();
    await picture("continue-with");
    await picker.locator(".monaco-list-row", { hasText: "echo" }).click();
    await view.locator(".tab.active:has(.codicon-arrow-swap)", { hasText: "Harbour" }).waitFor();
    await view.locator(".notice", { hasText: "This session continues “Harbour” with echo." }).waitFor();
    await view.locator(".assistant", { hasText: "Marit" }).waitFor();
    await ask("and who is that?");
    await view.locator(".assistant", { hasText: "Agent: The lighthouse keeper is called Marit." }).waitFor();
    await idle();
    await picture("continued");
    await view.locator(".origin").getByRole("button", { name: "Harbour" }).click();
    await view.locator(".tab.active:not(:has(.codicon-arrow-swap))", { hasText: "Harbour" }).waitFor();
    say("a session was pinned, and an agent went on with it that was given what was said");
  } finally {
    await editor.machine({});
    await stage.reloadWindow();
    await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
  }
  // The page is there again, and takes prompts.
  await view.locator(".assistant", { hasText: "Marit" }).waitFor();
  await view.locator(".composer textarea:not([readonly])").waitFor();
}
