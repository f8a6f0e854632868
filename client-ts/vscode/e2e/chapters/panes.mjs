// The five panes, and a file that is named by its first letters.
import assert from "node:assert/strict";

export default async function panes({ view, prompt, picture, say }) {
  for (const name of ["Tasks", "Files", "Run", "Debug"]) {
    await view.getByRole("tab", { name: new RegExp(`^${name}`) }).click();
    if (name === "Files")
      await view
        .getByRole("button", { name: /notes\.md/ })
        .first()
        .waitFor();
    if (name === "Run") await view.locator(".summary").first().waitFor();
    if (name === "Debug") await view.locator("[data-seq]").first().waitFor();
    await picture(`pane-${name.toLowerCase()}`);
  }
  await view.getByRole("tab", { name: /^Chat/ }).click();
  say("all five panes");

  await prompt.fill("");
  await prompt.pressSequentially("@not");
  await view.getByRole("option", { name: /notes\.md/ }).waitFor();
  await picture("mention");
  await prompt.press("Enter");
  assert.equal(await prompt.inputValue(), "@notes.md ");
  await prompt.fill("");
  say("a file is named by its first letters");
}
