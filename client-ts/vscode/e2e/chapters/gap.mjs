// An engine that lost an event for good, over the simulator of the server: the banner, the card in its place, and the
// rebuild that is offered. The engine has the event no more, so the one right outcome is that it is still missing.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { simulator } from "../simulator.mjs";

const SAID = "Before the hole.";
const LOST = "In the hole.";
const AFTER = "Behind the hole.";
/** One fault, by this seed at the eighth event: it and what was before it is evicted, and the stream breaks. */
const FAULTS = ["--faults", "gone409=0.2,budget=1", "--seed", "456"];

export default async function gap(stage) {
  const { page, view, editor, work, server, ask, picture, say } = stage;
  const script = path.join(work, "gap.json");
  const line = (text) => ({ type: "assistant_message", payload: { text, message: { role: "assistant", content: text } } });
  const steps = [line(SAID), ...Array.from({ length: 12 }, (_, n) => line(`${LOST} ${n}`)), line(AFTER)];
  await writeFile(script, JSON.stringify({ prompts: [{ when: "lose", steps }] }));
  const { url, stop } = await simulator(server, ["--script", script, ...FAULTS]);
  try {
    await editor.machine({ "breadboard.engine": { kind: "breadboard", url } });
    await stage.reloadWindow();
    await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
    say("another engine is chosen in the settings, and the window is there again");
    await stage.newSession();
    await ask("lose something");
    await view.locator(".assistant", { hasText: AFTER }).waitFor();
    const banner = view.locator(".banner", { hasText: "This conversation may have holes." });
    await banner.waitFor();
    const card = view.locator(".row .notice", { hasText: /lost|missing/i });
    await card.first().waitFor();
    await picture("gap");
    const known = words(await banner.innerText());
    say(`the page says: ${known}; in its place: ${words(await card.first().innerText())}`);
    // The eighth event is lost; the ones right before it only if the break caught them on their way.
    const range = /What is known: events are lost \((event 8|events [2-7] to 8)\)\./.exec(known)?.[1];
    assert.ok(range !== undefined, `what is missing is named: ${known}`);
    await banner.getByRole("button", { name: "Rebuild from the run's artifacts" }).click();
    // Whatever comes of it, so that a wrong outcome is shown instead of waited for.
    await banner.getByText(/Rebuilt:|Still missing:/).or(view.getByText(/It cannot be rebuilt/)).first().waitFor();
    await picture("gap-rebuilt");
    const outcome = words(await banner.innerText());
    say(`rebuild: ${outcome}`);
    assert.equal(
      outcome,
      `This conversation may have holes. Still missing: events are lost (${range}). The engine does not have these any more. Dismiss`,
    );
    assert.equal(await view.getByText(/It cannot be rebuilt/).count(), 0);
    assert.equal(await view.locator(".assistant", { hasText: AFTER }).count(), 1);
    await banner.getByRole("button", { name: "Dismiss" }).click();
    await banner.waitFor({ state: "detached" });
  } finally {
    stop();
    await editor.machine({});
  }
}

const words = (text) => text.replace(/\s+/g, " ").trim();
