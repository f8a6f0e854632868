// Results of tools as a person reads them: no card has JSON, a failed command says how it ended, colours are kept, and
// places in a result open.
import assert from "node:assert/strict";
import { calls, says } from "../model.mjs";

const CALLS = [
  ["list_files", { path: "src" }],
  ["read_file", { path: "src/lib.rs" }],
  ["search_text", { pattern: "retries" }],
  ["search_symbols", { name: "retries" }],
  ["outline", { path: "src/lib.rs" }],
  ["plan", { steps: [{ description: "Read the limit", files: ["src/lib.rs"] }, { description: "Change it" }] }],
  ["read_file", { path: "src/nowhere.rs" }],
];

export default async function cards({ page, view, card, model, ask, command, newSession, picture, say }) {
  await command("View: Close All Editors");
  await newSession();
  model.reply(...CALLS.map(([name, input]) => calls(name, input)), says("That was all of them."));
  await ask("use every tool that reads");
  await view.getByText("That was all of them.").waitFor();
  await read(view, "reads");
  await picture("results-of-tools");

  model.reply(
    calls("run_command", { command: "printf '\\033[32mgreen\\033[0m src/lib.rs:2:5\\n'; exit 3", reason: "to see" }),
    says("It failed."),
  );
  await ask("fail in colour");
  await card.getByRole("button", { name: "Allow once" }).click();
  await view.getByText("It failed.").waitFor();
  const last = view.locator(".card.tool").last();
  if ((await last.getAttribute("open")) === null) await last.locator("summary").click();
  const output = last.locator(".output");
  await output.getByText(/exit code 3/).waitFor();
  const green = output.locator("span", { hasText: /^green$/ });
  assert.equal(await green.count(), 1, await output.innerHTML());
  await picture("result-of-a-command");
  await output.locator("button, a", { hasText: "src/lib.rs:2:5" }).click();
  await page.locator(".statusbar-item", { hasText: "Ln 2, Col 5" }).waitFor();
  await read(view, "a command");
  say("results are text: of every tool that reads, and of a command that failed, in colour, with its place a link");
}

/** Opens every card, and looks for JSON in it. */
async function read(view, what) {
  const found = view.locator(".card.tool");
  for (let at = 0; at < (await found.count()); at += 1) {
    const one = found.nth(at);
    if ((await one.getAttribute("open")) === null) await one.locator("summary").click();
    for (const text of await one.locator(".output, .input").allInnerTexts())
      assert.doesNotMatch(text, /"\w+":|^\s*[[{]"|\\u001b|\\n/, `${what}: ${text}`);
  }
}
