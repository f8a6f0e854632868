// Pictures for people: an answer that streams, an approval with its diff, a diagram, a spec with an image; dark and light. Proves
// nothing, and runs only where pictures are kept (SHOTS).
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { calls, gate, says } from "../model.mjs";

const UPLOAD = `//! Uploads a file in parts.

use crate::retries;

/// Sends one part, and tries again when the other side hangs up.
pub fn send_part(part: &Part, to: &Server) -> Result<Receipt, Error> {
    for _ in 0..3 {
        if let Ok(receipt) = to.put(part) {
            return Ok(receipt);
        }
    }
    Err(Error::GaveUp)
}
`;
const ANSWER = [
  "The limit is written out in `send_part`, so the setting never reaches it:\n\n",
  "```rust\nfor _ in 0..3 {\n    if let Ok(receipt) = to.put(part) {\n```\n\n",
  "Two things follow from that:\n\n- `retries()` in [src/lib.rs](src/lib.rs:1) is not read by anybody\n",
  "- a part that fails three times ends the **whole** upload\n\n",
  "A small change would be to ask `retries()` in the loop",
];

const DIAGRAM = `Each part is tried as often as \`retries()\` says:

\`\`\`mermaid
graph TD
  A[Send a part] --> B{Receipt?}
  B -->|yes| C[Next part]
  B -->|no| D[Pause]
  D --> A
\`\`\`

- [x] the loop asks the setting
- [ ] the pause doubles
`;

export default async function pictures(stage) {
  const { page, view, panel, prompt, card, model, theme, folder, ask, idle, command, picture, say } = stage;
  await writeFile(path.join(folder, "src", "upload.rs"), UPLOAD);
  await writeFile(path.join(folder, "states.png"), await states(page));
  await command("View: Close All Editors");
  await command("Notifications: Clear All Notifications");
  if (await page.locator(".part.panel").isVisible()) await command("View: Toggle Panel Visibility");
  await widen(page, 460);
  await stage.newSession();
  const themes = async (scene, of = page) => {
    for (const [name, kind] of [
      ["Dark 2026", "dark"],
      ["Light 2026", "light"],
    ]) {
      await theme(name);
      await view.locator(`body.vscode-${kind}`).waitFor();
      await page.mouse.move(640, 850);
      // The mouse came by a tab of the editor, which tells what it is.
      await page.locator(".workbench-hover:visible").waitFor({ state: "detached" });
      await picture(`picture-${scene}-${kind}`, of);
    }
  };

  const more = gate();
  model.reply(
    calls("search_text", { pattern: "retries" }),
    calls("read_file", { path: "src/upload.rs" }),
    says(...ANSWER, more, "."),
  );
  await ask("Why does an upload give up after three tries?");
  await view.locator(".assistant", { hasText: "in the loop" }).waitFor();
  await view.locator(".assistant a", { hasText: "src/lib.rs" }).first().click();
  await page.locator(".tab", { hasText: "lib.rs" }).waitFor();
  await themes("answer");
  more.open();
  await idle();

  model.reply(
    calls("propose_patch", {
      file_path: "src/upload.rs",
      edits: [{ old_text: "    for _ in 0..3 {\n", new_text: "    for _ in 0..retries() {\n" }],
      rationale: "Ask the setting instead of a number that is written out.",
      acceptance_criteria: ["`send_part` tries as often as `retries()` says."],
    }),
    says("Done: the loop asks `retries()` now."),
  );
  await ask("Do it.");
  await card.waitFor();
  await card.getByRole("button", { name: "Compare" }).click();
  await page.locator(".monaco-diff-editor .line-insert").first().waitFor();
  await themes("approval");
  await card.getByRole("button", { name: "Allow once" }).click();
  await view.locator(".assistant", { hasText: "Done: the loop asks" }).waitFor();

  model.reply(says(DIAGRAM));
  await ask("Draw me how a part is sent.");
  await view.locator(".diagram.is-drawn > img").last().waitFor();
  await idle();
  await themes("diagram", page.locator(".part.sidebar"));

  await command("View: Close All Editors");
  await command("BreadBoard: Create Spec");
  await panel.locator("[role=form][aria-busy=false]").waitFor();
  await panel
    .getByLabel("Description")
    .fill(
      "# Uploads that survive a lost connection\n\nA part that fails is sent again as often as `retries()` says, with a pause that " +
        "doubles. When the last try fails, the user sees which part it was and can go on from there.\n\n" +
        "## Done when\n\n- each try is in the log, with its reason\n- the attached states are the only ones\n",
    );
  await panel.locator("button.attach").click();
  await stage.pick("states.png");
  await panel.getByRole("img", { name: "states.png" }).waitFor();
  await panel.locator(".status", { hasText: "Kept as a draft" }).waitFor();
  await themes("spec");
  await panel.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.locator(".monaco-dialog-box").getByRole("button", { name: "Discard Draft" }).click();
  await prompt.waitFor();
  say("pictures were made");
}

/** A sketch of the states of an upload, drawn by the browser: a PNG. */
async function states(page) {
  const base64 = await page.evaluate(() => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [640, 400];
    const pen = canvas.getContext("2d");
    pen.fillStyle = "#ffffff";
    pen.fillRect(0, 0, 640, 400);
    pen.lineWidth = 4;
    pen.font = "600 34px sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const box = (x, y, text, color) => {
      pen.strokeStyle = color;
      pen.fillStyle = `${color}22`;
      pen.beginPath();
      pen.roundRect(x - 110, y - 45, 220, 90, 20);
      pen.fill();
      pen.stroke();
      pen.fillStyle = "#24292f";
      pen.fillText(text, x, y);
    };
    const arrow = (x1, y1, x2, y2) => {
      const turn = Math.atan2(y2 - y1, x2 - x1);
      pen.strokeStyle = pen.fillStyle = "#57606a";
      pen.beginPath();
      pen.moveTo(x1, y1);
      pen.lineTo(x2, y2);
      pen.stroke();
      pen.beginPath();
      for (const [far, side] of [[0, 0], [-20, 10], [-20, -10]])
        pen.lineTo(x2 + far * Math.cos(turn) - side * Math.sin(turn), y2 + far * Math.sin(turn) + side * Math.cos(turn));
      pen.fill();
    };
    // The corner at the top on the right is where the button stands that takes the image away.
    box(150, 80, "sending", "#0969da");
    box(150, 320, "waiting", "#9a6700");
    box(490, 200, "sent", "#1a7f37");
    box(490, 320, "gave up", "#cf222e");
    arrow(268, 100, 368, 170);
    arrow(120, 133, 120, 263);
    arrow(180, 267, 180, 137);
    arrow(268, 320, 368, 320);
    return canvas.toDataURL("image/png").split(",")[1];
  });
  return Buffer.from(base64, "base64");
}

/** Makes the sidebar so wide, by its edge. */
async function widen(page, width) {
  const box = await page.locator(".part.sidebar").boundingBox();
  await page.mouse.move(box.x + box.width, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + width, box.y + box.height / 2, { steps: 8 });
  await page.mouse.up();
}
