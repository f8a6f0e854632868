// Another engine is chosen: what was asked of the one before looks inactive, says why and takes no prompt; a spec that is
// submitted there goes into a new session; a sentence belongs to its tab.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { simulator } from "../simulator.mjs";

export default async function formerEngine(stage) {
  const { view, panel, editor, work, server, command, picture, say } = stage;
  const script = path.join(work, "former.json");
  const text = "Taken by the engine in use.";
  const step = { type: "assistant_message", payload: { text, message: { role: "assistant", content: text } } };
  await writeFile(script, JSON.stringify({ prompts: [{ when: "Retry", steps: [step] }] }));
  const { url, stop } = await simulator(server, ["--script", script]);
  try {
    await editor.machine({ "breadboard.engine": { kind: "breadboard", url } });
    await stage.reloadWindow();
    await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
    const former = view.locator(".strip .tab.inactive");
    await former.first().getByRole("tab").click();
    await view.locator(".no-prompts", { hasText: "This session belongs to another engine" }).waitFor();
    assert.equal(await view.getByRole("button", { name: "Send" }).isDisabled(), true);
    assert.equal(await view.getByLabel("Prompt", { exact: true }).isEditable(), false);
    await picture("former-engine");
    say("a session of the engine before looks inactive and says why");

    await command("BreadBoard: Create Spec");
    await panel.locator("[role=form][aria-busy=false]").waitFor();
    await panel.getByRole("textbox", { name: "Description" }).fill("Retry a failed upload.");
    await panel.locator(".status", { hasText: "Kept as a draft" }).waitFor();
    await panel.getByRole("button", { name: "Submit", exact: true }).click();
    await view.locator(".assistant", { hasText: text }).waitFor();
    const front = view.locator(".strip .tab.active");
    assert.equal(await front.evaluate((tab) => tab.classList.contains("inactive")), false);
    await picture("spec-in-a-new-session");
    say("a spec that was submitted from there is in a new session of the engine in use");
  } finally {
    stop();
    await editor.machine({});
    await stage.reloadWindow();
    await view.locator(".banner", { hasText: "server is starting" }).waitFor({ state: "detached" });
  }
}
