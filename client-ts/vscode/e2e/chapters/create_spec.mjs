// A spec from the command to the chat: typed, kept, imported, with an image, submitted (seed 004). What is refused is
// said in one sentence; what would be lost is asked about first.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { PANEL } from "../editor.mjs";
import { gate, says } from "../model.mjs";
import { png } from "../png.mjs";

const TEXT = "Retry a failed upload, and say so.";
const MARKDOWN = "# Upload that retries\n\nA failed upload is tried five times.\n\n- each try is logged\n";

export default async function createSpec(stage) {
  const { page, panel, view, model, folder, command, pick, picture, say } = stage;
  const file = (name) => path.join(folder, name);
  await writeFile(file("spec.md"), MARKDOWN);
  await writeFile(file("large.md"), "x".repeat(512 * 1024 + 1));
  await writeFile(file("not-an-image.png"), "text under a false name");
  for (let n = 1; n <= 5; n += 1) await writeFile(file(`sketch-${n}.png`), png(320, 200, n));

  const description = panel.getByRole("textbox", { name: "Description" });
  const button = (name) => panel.getByRole("button", { name, exact: true });
  const gone = () => page.locator(PANEL).waitFor({ state: "detached" });
  const open = async () => {
    await command("BreadBoard: Create Spec");
    await panel.getByRole("heading", { name: "Create New Spec" }).waitFor();
    await panel.locator("[role=form][aria-busy=false]").waitFor();
  };
  const kept = () => panel.locator(".status", { hasText: "Kept as a draft" }).waitFor();
  const closeTab = () => page.locator(".tab", { hasText: "Create New Spec" }).locator(".tab-actions a").click();

  // Nothing is submitted that says nothing.
  await open();
  await panel.locator("textarea:focus").waitFor();
  const [label, star] = await Promise.all(["label", "label span"].map((one) => panel.locator(one).first().boundingBox()));
  assert.ok(star.y < label.y + star.height / 2, "the star stands beside its word");
  await button("Submit").click();
  await panel.getByText("Describe the spec first.", { exact: true }).waitFor();
  assert.equal(await description.getAttribute("aria-invalid"), "true");
  say("opened by its command, the description has the focus, and an empty one is not submitted");

  // The draft is kept by itself, and is there after the panel was closed by its own button.
  await description.fill(TEXT);
  await kept();
  await closeTab();
  await gone();
  await open();
  assert.equal(await description.inputValue(), TEXT);
  say("the draft survives that the panel is closed");

  // Import over what is there: asked first, kept on "no"; a picker that is closed changes nothing.
  await button("Import Markdown").click();
  const confirm = panel.getByRole("alertdialog", { name: "Replace the description" });
  await confirm.getByText("This will replace the existing content. Continue?").waitFor();
  await confirm.getByRole("button", { name: "Cancel" }).click();
  await confirm.waitFor({ state: "detached" });
  assert.equal(await description.inputValue(), TEXT);
  await button("Import Markdown").click();
  await confirm.getByRole("button", { name: "Replace" }).click();
  await pick(undefined);
  await panel.getByRole("button", { name: "Import Markdown", disabled: false }).waitFor();
  assert.equal(await description.inputValue(), TEXT);
  await button("Import Markdown").click();
  await confirm.getByRole("button", { name: "Replace" }).click();
  await pick("large.md");
  await panel.getByRole("alert").getByText("File exceeds the 512 KB limit.", { exact: true }).waitFor();
  assert.equal(await description.inputValue(), TEXT);
  await button("Import Markdown").click();
  await confirm.getByRole("button", { name: "Replace" }).click();
  await pick("spec.md");
  await panel.getByText("The file was imported.").waitFor({ state: "attached" });
  assert.equal(await description.inputValue(), MARKDOWN);
  await kept();
  say("a Markdown file replaces what is there once that is confirmed; one that is too large is refused");

  // Images, by the editor's picker.
  const thumbnails = panel.getByRole("list", { name: "Image attachments" }).getByRole("listitem");
  const attach = panel.locator("button.attach");
  await attach.click();
  await pick("not-an-image.png");
  await panel.getByRole("alert").getByText("One or more files are not valid image files.", { exact: true }).waitFor();
  assert.equal(await thumbnails.count(), 0);
  for (let n = 1; n <= 5; n += 1) {
    await attach.click();
    await pick(`sketch-${n}.png`);
    const image = panel.getByRole("img", { name: `sketch-${n}.png` });
    await image.waitFor();
    assert.ok(await image.evaluate((img) => img.decode().then(() => img.naturalWidth > 0)), "the thumbnail is a picture");
    if (n === 1) {
      await attach.click();
      await pick("sketch-1.png");
      await panel.getByText("An image that is attached already was not added again.", { exact: true }).waitFor();
      assert.equal(await thumbnails.count(), 1);
    }
  }
  assert.equal((await attach.innerText()).trim(), "Maximum 5 images reached");
  assert.ok(await attach.isDisabled());
  await picture("spec-five-images");
  for (const n of [5, 4, 3, 2]) {
    await button(`Remove sketch-${n}.png`).click();
    await panel.getByRole("img", { name: `sketch-${n}.png` }).waitFor({ state: "detached" });
  }
  assert.equal(await thumbnails.count(), 1);
  say("images have thumbnails, a false one is refused, a sixth cannot be picked, and each can be taken away");

  // The window is reloaded: text and image are there again.
  await stage.reloadWindow();
  await panel.locator("[role=form][aria-busy=false]").waitFor();
  await panel.getByRole("img", { name: "sketch-1.png" }).waitFor();
  assert.equal(await thumbnails.count(), 1);
  assert.equal(await description.inputValue(), MARKDOWN);
  say("after a reload of the window the text and the image are there again");

  // Cancel with unsaved work asks; "no" leaves everything, "keep" keeps the text.
  const question = page.locator(".monaco-dialog-box", { hasText: "Close the new spec? It was not submitted." });
  await button("Cancel").click();
  await question.waitFor();
  await picture("spec-close-question");
  await question.getByRole("button", { name: "Cancel", exact: true }).click();
  await question.waitFor({ state: "detached" });
  await panel.getByRole("button", { name: "Cancel", disabled: false }).waitFor();
  assert.equal(await thumbnails.count(), 1);
  assert.equal(await description.inputValue(), MARKDOWN);
  await button("Cancel").click();
  await question.getByRole("button", { name: "Keep Draft and Close" }).click();
  await gone();
  await open();
  assert.equal(await description.inputValue(), MARKDOWN);
  await description.fill("");
  await description.fill("to be thrown away");
  await kept();
  await button("Cancel").click();
  await question.getByRole("button", { name: "Discard Draft" }).click();
  await gone();
  await open();
  assert.equal(await description.inputValue(), "");
  say("closing with unsaved work asks: keep, discard, or stay");

  // Submitted: the model gets it with its image, the panel is gone, the chat shows it.
  await description.fill(TEXT);
  await attach.click();
  await pick("sketch-1.png");
  await panel.getByRole("img", { name: "sketch-1.png" }).waitFor();
  await picture("spec");
  const answer = gate();
  model.reply(says(answer, "That is a good plan."));
  const before = model.asked.length;
  await button("Submit").click();
  await gone();
  const turn = view.locator(".user", { hasText: TEXT });
  await turn.waitFor();
  assert.equal(await turn.count(), 1);
  await turn.getByText("one attachment").waitFor();
  answer.open();
  await view.locator(".assistant", { hasText: "That is a good plan." }).waitFor();
  assert.equal(model.asked.length, before + 1);
  const heard = JSON.stringify(model.asked.at(-1).body.messages.at(-1));
  assert.ok(heard.includes(TEXT), heard);
  assert.match(heard, /Attached image: `sketch-1\.png`/);
  assert.match(heard, /data:image\/png;base64,/, "the model sees it");
  await picture("spec-submitted");
  await open();
  assert.equal(await description.inputValue(), "", "what was submitted is no draft");
  await button("Cancel").click();
  await gone();
  say("submitted: the model got it with its image, the panel is closed, the chat shows it, and no draft is left");
}
