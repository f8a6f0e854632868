// axe-core over the sidebar (with an ask, a diff, code and a table) and over the panel of a new spec, in the editor's
// own light, dark and high-contrast themes: no violation that is serious or critical.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { calls, says } from "../model.mjs";

const THEMES = [
  { name: "Dark 2026", kind: "vscode-dark" },
  { name: "Default High Contrast", kind: "vscode-high-contrast" },
  { name: "Default High Contrast Light", kind: "vscode-high-contrast-light" },
  { name: "Light 2026", kind: "vscode-light" },
];
const SOURCE = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export default async function accessibility(stage) {
  const { view, panel, card, model, theme, ask, command, picture, say } = stage;
  model.reply(
    says("Some `code`, a [link](src/lib.rs:1) and\n\n> a quote\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"),
  );
  await ask("show me everything");
  await view.locator(".assistant table").last().waitFor();
  model.reply(
    calls("propose_patch", {
      file_path: "notes.md",
      edits: [{ old_text: "# Notes", new_text: "# Some notes" }],
      rationale: "A title.",
      acceptance_criteria: [],
    }),
    says("Not written."),
  );
  await ask("and a change");
  await card.getByRole("button", { name: "Deny" }).waitFor();
  await command("BreadBoard: Create Spec");
  await panel.locator("[role=form][aria-busy=false]").waitFor();
  await panel.getByRole("button", { name: "Submit", exact: true }).click();
  await panel.getByText("Describe the spec first.").waitFor();
  // The refusal moves the focus into the field, after it is drawn. The next step opens the palette.
  await panel.locator("textarea:focus").waitFor();

  const found = [];
  for (const { name, kind } of THEMES) {
    await theme(name);
    await view.locator(`body.${kind}`).waitFor();
    await panel.locator(`body.${kind}`).waitFor();
    for (const [place, frame, background] of [
      ["the sidebar", await stage.sidebarFrame(), "--vscode-sideBar-background"],
      ["the panel", await stage.panelFrame(), "--vscode-editor-background"],
    ])
      found.push(...(await scan(frame, background)).map((violation) => `${name}, ${place}: ${violation}`));
    // What goes and what comes is told apart by more than a sign, also where a theme has no backgrounds for it.
    const look = (what) => card.locator(`.diff .${what}`).first().evaluate((line) => [getComputedStyle(line).backgroundColor, getComputedStyle(line).boxShadow].join(" "));
    if ((await look("added")) === (await look("removed"))) found.push(`${name}: lines that go look as those that come`);
    await picture(`theme-${kind}`);
  }
  // The list of sessions with what was found, the choice of who answers, and finding in the conversation; all of them again in a
  // narrow sidebar and at twice the size.
  const { page } = stage;
  await command("BreadBoard: Show All Sessions");
  await view.getByLabel("Find a session").fill("everything");
  await view.locator(".sessions .passage").first().waitFor();
  found.push(...(await scan(await stage.sidebarFrame(), "--vscode-sideBar-background")).map((violation) => `sessions: ${violation}`));
  found.push(...(await beyond(await stage.sidebarFrame(), "sessions")));
  await view.getByLabel("Find a session").press("Escape");
  await view.locator(".scroller").focus();
  await page.keyboard.press("Control+f");
  await view.getByLabel("Find in the conversation").fill("table");
  found.push(...(await scan(await stage.sidebarFrame(), "--vscode-sideBar-background")).map((violation) => `find: ${violation}`));
  found.push(...(await beyond(await stage.sidebarFrame(), "find")));
  await page.keyboard.press("Escape");
  await command("BreadBoard: Choose Who Answers");
  await view.getByRole("heading", { name: "With a key" }).waitFor();
  found.push(...(await scan(await stage.sidebarFrame(), "--vscode-sideBar-background")).map((violation) => `setup: ${violation}`));
  found.push(...(await beyond(await stage.sidebarFrame(), "setup")));
  await picture("setup-by-command");
  await view.getByRole("button", { name: "Leave it as it is" }).click();
  assert.deepEqual(found, []);
  say(`axe-core has no serious or critical complaint in ${THEMES.length} themes`);
  await card.getByRole("button", { name: "Deny" }).click();
  await view.locator(".assistant", { hasText: "Not written." }).waitFor();
  await panel.getByRole("button", { name: "Cancel", exact: true }).click();
}

/** What stands out of a page that is 250 pixels wide, or drawn at twice the size: nothing may be scrolled to sideways but tables and code. */
export async function beyond(frame, of) {
  return frame.evaluate((of) => {
    const { body } = document;
    const out = [];
    for (const [how, style] of [
      ["250 px", { width: "250px" }],
      ["200 %", { zoom: "2", width: `${Math.max(250, window.innerWidth) / 2}px` }],
    ]) {
      Object.assign(body.style, style);
      const { right } = body.getBoundingClientRect();
      for (const element of body.querySelectorAll("button, input, select, textarea, h2, h3, p")) {
        const box = element.getBoundingClientRect();
        const scrolls = element.closest(".tabs, .panes, .table, pre, .context-chips, .visually-hidden, .skip");
        if (box.width > 0 && scrolls === null && box.right > right + 1)
          out.push(`${of}, ${how}: ${element.tagName} "${(element.getAttribute("aria-label") ?? element.textContent ?? "").slice(0, 30)}" ends ${Math.round(box.right - right)} px beyond`);
      }
      Object.assign(body.style, { width: "", zoom: "" });
    }
    return out;
  }, of);
}

export async function scan(frame, background) {
  await frame.evaluate(await SOURCE);
  return frame.evaluate(async (background) => {
    // The page itself has no ground: it lies on the editor's, which is outside of the frame and so not seen by axe.
    document.documentElement.style.backgroundColor = `var(${background})`;
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    document.documentElement.style.backgroundColor = "";
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary.replace(/\s+/g, " ")}`),
      );
  }, background);
}
