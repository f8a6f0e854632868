// @vitest-environment jsdom
/** The form of seed 004, as a person and its host meet it. */
import { expect, it } from "vitest";
import { readFormState } from "../../src/webview/create_spec/form";
import { image, openForm } from "./form_page";

const CAPPED = "Some images were not added: the 5-image limit was reached.";

it("R004-04: `ready` is the first thing said, and nothing can be typed or sent before the host's answer", async () => {
  const page = await openForm({ init: false });
  expect(page.sent).toEqual([{ type: "create-spec/ready" }]);
  expect([page.area().readOnly, page.button("submit").disabled, page.button("import").disabled]).toEqual([
    true,
    true,
    true,
  ]);
  expect(page.one("[role=form]").getAttribute("aria-busy")).toBe("true");
  await page.hear("init", { shouldFocusPrimaryField: false });
  expect([page.area().readOnly, page.button("submit").disabled]).toEqual([false, false]);
});

it("R004-31 R004-32: the draft stands in the field, and the focus goes where init says", async () => {
  const with_ = await openForm({ draft: "kept text" });
  expect([with_.area().value, document.activeElement]).toEqual(["kept text", with_.area()]);
  const without = await openForm({ focus: false });
  expect([without.area().value, document.activeElement === without.area()]).toEqual(["", false]);
});

it("R004-39: focus moves the focus into the description", async () => {
  const page = await openForm({ focus: false });
  page.button("import").focus();
  await page.hear("focus");
  expect(document.activeElement).toBe(page.area());
});

it("R004-06 R004-07 R004-08 R004-09: Submit sends the trimmed text and the URIs, once, and waits", async () => {
  const page = await openForm();
  await page.type("  Build a bridge.\n");
  await page.hear("attach-images:result", { images: [image("a.png"), image("b.png")] });
  expect(page.said("submit")).toEqual([]);
  await page.click("button.submit");
  await page.click("button.submit");
  expect(page.said("submit")).toEqual([
    {
      type: "create-spec/submit",
      payload: { description: "Build a bridge.", imageUris: ["file:///pictures/a.png", "file:///pictures/b.png"] },
    },
  ]);
  expect(page.button("submit").textContent).toContain("Submitting");
  expect([page.button("submit"), page.button("import"), page.button("attach")].map((b) => b.disabled)).toEqual([
    true,
    true,
    true,
  ]);
  expect([page.area().readOnly, page.one("[role=form]").getAttribute("aria-busy")]).toEqual([true, "true"]);
});

it("R004-07 R004-54: blank text is not sent, also with images; the field says why and has the focus", async () => {
  const page = await openForm({ focus: false });
  await page.hear("attach-images:result", { images: [image("a.png")] });
  await page.type(" \n ");
  await page.click("button.submit");
  expect(page.said("submit")).toEqual([]);
  const area = page.area();
  const error = page.one(`#${area.getAttribute("aria-describedby")}`);
  expect([error.textContent?.trim(), area.getAttribute("aria-invalid"), document.activeElement]).toEqual([
    "Describe the spec first.",
    "true",
    area,
  ]);
  expect(error.closest("[aria-live=assertive]")).not.toBeNull();
  await page.type("x");
  expect([area.getAttribute("aria-invalid"), area.getAttribute("aria-describedby")]).toEqual(["false", null]);
});

it("R004-36: a refusal is shown, and the form stands as it stood", async () => {
  const page = await openForm();
  await page.type("text");
  await page.hear("attach-images:result", { images: [image("a.png")] });
  await page.key("Enter", { ctrlKey: true });
  expect(page.said("submit")).toHaveLength(1);
  await page.hear("submit:error", { message: "This workspace is not trusted." });
  expect([page.alert(), page.area().value, page.all(".images li").length]).toEqual([
    "This workspace is not trusted.",
    "text",
    1,
  ]);
  expect(page.button("submit").disabled).toBe(false);
  await page.click("button.submit");
  expect([page.said("submit").length, page.alert()]).toEqual([2, ""]);
});

it("R004-34: success ends the waiting, and nothing brings the draft back", async () => {
  const page = await openForm();
  await page.type("text");
  await page.click("button.submit");
  await page.hear("submit:success");
  expect([page.button("submit").textContent?.trim(), page.one("[role=form]").getAttribute("aria-busy")]).toEqual([
    "Submit",
    "false",
  ]);
  await page.pass(5_000);
  page.form.flush();
  page.form.unload();
  expect(page.sent.map(({ type }) => type)).toEqual(["create-spec/ready", "create-spec/submit"]);
});

it("R004-12 R004-13: what is typed is kept 600 ms after the last change, once, and the description alone", async () => {
  const page = await openForm({ draft: "" });
  await page.type("a");
  await page.pass(599);
  await page.type("ab");
  await page.pass(599);
  expect(page.said("autosave")).toEqual([]);
  expect(page.one(".buttons .status").textContent).toBe("Unsaved changes");
  await page.pass(1);
  expect(page.said("autosave")).toEqual([{ type: "create-spec/autosave", payload: { description: "ab" } }]);
  expect(page.one(".buttons .status").textContent).toBe("Kept as a draft");
  await page.type("abc");
  await page.type("ab");
  await page.pass(600);
  expect(page.said("autosave")).toHaveLength(1);
});

it("R004-14 R004-15: Cancel and Escape keep what is there and say whether there is something to lose", async () => {
  const clean = await openForm({ draft: "as opened" });
  await clean.click("button.cancel");
  expect(clean.sent.slice(1)).toEqual([{ type: "create-spec/close-attempt", payload: { hasDirtyChanges: false } }]);
  expect(clean.button("cancel").disabled).toBe(true);
  const page = await openForm({ draft: "as opened" });
  await page.type("more");
  await page.key("Escape", { isComposing: true });
  expect(page.said("close-attempt")).toEqual([]);
  await page.key("Escape");
  expect(page.sent.slice(1)).toEqual([
    { type: "create-spec/autosave", payload: { description: "more" } },
    { type: "create-spec/close-attempt", payload: { hasDirtyChanges: true } },
  ]);
});

it("R004-15: what is saved as a draft is still not submitted, and an image alone is something to lose", async () => {
  const page = await openForm();
  await page.type("text");
  await page.pass(600);
  await page.click("button.cancel");
  expect(page.said("close-attempt")).toEqual([
    { type: "create-spec/close-attempt", payload: { hasDirtyChanges: true } },
  ]);
  const other = await openForm();
  await other.hear("attach-images:result", { images: [image("a.png")] });
  other.form.unload();
  expect(other.said("close-attempt")).toEqual([
    { type: "create-spec/close-attempt", payload: { hasDirtyChanges: true } },
  ]);
  const clean = await openForm({ draft: "x" });
  clean.form.unload();
  expect(clean.said("close-attempt")).toEqual([]);
});

it("R004-37: a form that is to stay can be used again", async () => {
  const page = await openForm();
  await page.type("text");
  await page.click("button.cancel");
  await page.hear("confirm-close", { shouldClose: false });
  expect([page.button("cancel").disabled, page.area().value, document.activeElement]).toEqual([
    false,
    "text",
    page.area(),
  ]);
});

it("R004-16 R004-42: into an empty field a file is imported without a question", async () => {
  const page = await openForm({ focus: false });
  await page.type("  \n");
  await page.click("button.import");
  expect(page.said("import-markdown:request")).toEqual([{ type: "create-spec/import-markdown:request" }]);
  expect(page.button("import").disabled).toBe(true);
  await page.hear("import-markdown:result", { content: "# Spec\r\n" });
  expect([page.form.description.value, page.button("import").disabled, page.alert()]).toEqual(["# Spec\r\n", false, ""]);
  expect(document.activeElement).toBe(page.area());
  expect(page.status()).toContain("The file was imported.");
  await page.pass(600);
  expect(page.said("autosave").at(-1).payload).toEqual({ description: "# Spec\r\n" });
});

it("R004-16 R004-17: over text it is asked first, in its place; Cancel and Escape send nothing", async () => {
  const page = await openForm({ draft: "mine" });
  await page.click("button.import");
  const dialog = page.one("[role=alertdialog]");
  expect(dialog.textContent).toContain("This will replace the existing content. Continue?");
  expect(document.activeElement?.textContent).toBe("Cancel");
  await page.click("[role=alertdialog] button", "Cancel");
  expect([page.all("[role=alertdialog]").length, document.activeElement]).toEqual([0, page.area()]);
  await page.click("button.import");
  await page.key("Escape");
  expect([page.all("[role=alertdialog]").length, page.sent.length]).toEqual([0, 1]);
  await page.click("button.import");
  await page.click("[role=alertdialog] button", "Replace");
  expect(page.sent.slice(1)).toEqual([{ type: "create-spec/import-markdown:request" }]);
  await page.hear("import-markdown:result", { content: "theirs" });
  expect(page.area().value).toBe("theirs");
});

it("R004-17: what was typed while the file was read is not replaced without a word", async () => {
  const page = await openForm();
  await page.click("button.import");
  await page.type("typed meanwhile");
  await page.hear("import-markdown:result", { content: "theirs" });
  expect([page.area().value, page.all("[role=alertdialog]").length]).toEqual(["typed meanwhile", 1]);
  await page.click("[role=alertdialog] button", "Replace");
  expect([page.area().value, page.said("import-markdown:request").length]).toEqual(["theirs", 1]);
});

it("R004-21 R004-43: a warning of an import is shown, also where a host leaves it out for an empty file", async () => {
  const page = await openForm();
  await page.hear("import-markdown:result", { content: "", warning: "The selected file is empty." });
  expect(page.one(".notice.warning").textContent).toContain("The selected file is empty.");
  await page.click("button.link", "Dismiss");
  expect(page.all(".notice")).toEqual([]);
  await page.hear("import-markdown:result", { content: "" });
  expect(page.status()).toContain("The selected file is empty.");
});

it("R004-44 R004-45: an error of an import is shown, and the field is as it was", async () => {
  const page = await openForm();
  await page.click("button.import");
  await page.type("mine");
  await page.hear("import-markdown:result", { error: "File exceeds the 512 KB limit." });
  expect([page.alert(), page.area().value, page.button("import").disabled]).toEqual([
    "File exceeds the 512 KB limit.",
    "mine",
    false,
  ]);
});

it("R004-19 R004-45: a picker that is cancelled leaves all as it was, by the host's word or by the focus alone", async () => {
  const page = await openForm({ draft: "" });
  for (const closed of [() => page.hear("picker-closed"), async () => page.form.pickerClosed()]) {
    await page.click("button.import");
    expect(page.button("import").disabled).toBe(true);
    await closed();
    await page.paint();
    expect([page.button("import").disabled, page.area().value, page.all(".notice").length]).toEqual([false, "", 0]);
    await page.click("button.attach");
    expect(page.button("attach").disabled).toBe(true);
    await closed();
    await page.paint();
    expect(page.button("attach").disabled).toBe(false);
  }
});

it("R004-23 R004-24 R004-47 R004-49 R004-51: images come at the end of those that are there, and are shown", async () => {
  const page = await openForm();
  await page.click("button.attach");
  await page.hear("attach-images:result", { images: [image("a.png")] });
  await page.click("button.attach");
  await page.hear("attach-images:result", { images: [image("b.svg"), image("c.png")] });
  expect(page.said("attach-images:request").map(({ payload }) => payload)).toEqual([
    { currentCount: 0 },
    { currentCount: 1 },
  ]);
  const shown = page.all(".images img").map((img) => [img.getAttribute("alt"), img.getAttribute("src")]);
  expect(shown).toEqual(["a.png", "b.svg", "c.png"].map((name) => [name, "data:image/png;base64,AA=="]));
  expect(page.one(".images").getAttribute("aria-label")).toBe("Image attachments");
  expect(page.root.querySelector("svg, object, iframe")).toBeNull();
});

it("R004-52 R004-56 R004-10: there are five at most, and what was left out is said", async () => {
  const page = await openForm();
  await page.hear("attach-images:result", { images: ["a", "b", "c", "d"].map(image) });
  await page.hear("attach-images:result", { images: [image("e")], capped: true });
  expect(page.status()).toContain(CAPPED);
  expect([page.button("attach").disabled, page.button("attach").textContent?.trim()]).toEqual([
    true,
    "Maximum 5 images reached",
  ]);
  await page.hear("attach-images:result", { images: [image("f")] });
  expect(page.all(".images li")).toHaveLength(5);
  expect(page.status()).toContain(CAPPED);
  await page.type("x");
  await page.click("button.submit");
  expect(page.said("submit")[0].payload.imageUris).toHaveLength(5);
});

it("R004-11 R004-51: an image that is there is not there twice, and only what came from the host is sent", async () => {
  const page = await openForm();
  await page.hear("attach-images:result", { images: [image("a")] });
  await page.hear("attach-images:result", { images: [image("a"), image("b")] });
  expect(page.all(".images img").map((img) => img.getAttribute("alt"))).toEqual(["a", "b"]);
  expect(page.one(".notice.info").textContent).toContain("not added again");
  await page.type("x");
  await page.click("button.submit");
  expect(page.said("submit")[0].payload.imageUris).toEqual([image("a").uri, image("b").uri]);
});

it("R004-53: an error of attaching is shown, and the images are as they were", async () => {
  const page = await openForm();
  await page.hear("attach-images:result", { images: [image("a")] });
  await page.click("button.attach");
  await page.hear("attach-images:result", { error: "One or more files exceed the 10 MB size limit." });
  expect([page.alert(), page.all(".images li").length, page.button("attach").disabled]).toEqual([
    "One or more files exceed the 10 MB size limit.",
    1,
    false,
  ]);
});

it("R004-47: one image is removed without the others, and the focus goes to a neighbour, else to the toolbar", async () => {
  const page = await openForm();
  await page.hear("attach-images:result", { images: ["a", "b", "c"].map(image) });
  const remove = async (name: string) => page.click(`.images [aria-label="Remove ${name}"]`);
  const focused = () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent?.trim();
  await remove("b");
  expect([page.all(".images img").map((img) => img.getAttribute("alt")), focused()]).toEqual([["a", "c"], "Remove c"]);
  expect(page.status()).toContain("b was removed.");
  await remove("c");
  expect(focused()).toBe("Remove a");
  await remove("a");
  expect([page.all(".images").length, focused()]).toEqual([0, "Attach images"]);
  await page.click("button.attach");
  expect(page.said("attach-images:request")).toEqual([
    { type: "create-spec/attach-images:request", payload: { currentCount: 0 } },
  ]);
});

it("a page that was thrown away comes back with what was typed last, its images, and what counts as opened", async () => {
  const first = await openForm({ draft: "old" });
  await first.type("typed");
  await first.hear("attach-images:result", { images: [image("a")] });
  await first.type("typed last");
  first.form.unload();
  const saved = first.states.at(-1);
  const page = await openForm({ saved, draft: "old", focus: false });
  expect([page.area().value, page.all(".images li").length]).toEqual(["typed last", 1]);
  await page.pass(600);
  expect(page.said("autosave")).toEqual([{ type: "create-spec/autosave", payload: { description: "typed last" } }]);
  await page.click("button.cancel");
  expect(page.said("close-attempt")[0].payload).toEqual({ hasDirtyChanges: true });
  expect(readFormState({ ...saved, images: [{ ...image("a"), dataUrl: "https://x" }] })?.images).toEqual([]);
  expect([null, "x", {}, { description: 1, opened: "" }].map(readFormState)).toEqual(Array(4).fill(undefined));
});

it("with images, what is typed is remembered when the typing rests, not at every key", async () => {
  const page = await openForm();
  await page.type("a");
  expect(page.states.at(-1)).toEqual({ description: "a", opened: "", images: [] });
  await page.hear("attach-images:result", { images: [image("a")] });
  const before = page.states.length;
  await page.type("ab");
  await page.type("abc");
  expect(page.states.length).toBe(before);
  await page.pass(600);
  expect(page.states.slice(before)).toEqual([{ description: "abc", opened: "", images: [image("a")] }]);
});

it("what is not a message of the host changes nothing and is told as a violation", async () => {
  const page = await openForm({ draft: "mine" });
  for (const [word, payload] of [
    ["submit", { description: "x", imageUris: [] }],
    ["confirm-close", { shouldClose: true }],
    ["attach-images:result", { images: [{ ...image("a"), dataUrl: "https://example.com/a.png" }] }],
    ["import-markdown:result", { text: "x" }],
  ] as const)
    await page.hear(word, payload);
  expect([page.violations.length, page.area().value, page.all(".images").length]).toEqual([4, "mine", 0]);
});

it("leaving the page gives the host at once what it does not have", async () => {
  const page = await openForm();
  await page.type("unfinished");
  page.form.flush();
  await page.pass(600);
  expect(page.said("autosave")).toEqual([{ type: "create-spec/autosave", payload: { description: "unfinished" } }]);
});

it("every control has a name, and the field is a required one with a label", async () => {
  const page = await openForm();
  await page.hear("attach-images:result", { images: [image("a")] });
  for (const button of page.all("button"))
    expect((button.getAttribute("aria-label") ?? button.textContent)?.trim(), button.outerHTML).not.toBe("");
  expect([page.one("label").getAttribute("for"), page.area().id, page.area().getAttribute("aria-required")]).toEqual([
    "spec-description",
    "spec-description",
    "true",
  ]);
  expect(page.all(".codicon").every((icon) => icon.getAttribute("aria-hidden") === "true")).toBe(true);
});
