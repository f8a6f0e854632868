// What an answer looks like and what can be done with it: colours, tables whose words stay whole, things to do, text that runs from
// right to left, a diagram in the editor's colours that can do nothing, code that is applied after the editor showed it, a command in a terminal that nobody ran, a prompt that is
// changed and sent anew, finding, and the whole as Markdown.
import assert from "node:assert/strict";
import { says } from "../model.mjs";
import { eventually, written } from "../stage.mjs";

const ANSWER = `## Retries

- [x] read \`src/lib.rs:2\`
- [ ] raise the limit

| Setting | Default | What it does |
|---|---|---|
| retries | 3 | How often an upload is tried before the user is told that it failed |
| timeout | 30 | Seconds that one attempt may take |

\`\`\`rust src/lib.rs
pub fn retries() -> u32 {
    5 // src/lib.rs:2
}
\`\`\`

\`\`\`sh
$ echo tried && cargo test
\`\`\`

הגבול הוא שלוש פעמים.

The sum is $\\frac{n(n+1)}{2}$ and it costs $5.
`;

// One that would run a script and load a picture, if it were let; and one that is none.
const DIAGRAMS = `How it goes:

\`\`\`mermaid
graph TD
  A[Upload] -->|fails| B{Tried 3 times?}
  B -->|no| A
  B -->|yes| C["Tell the user <img src=x onerror=alert(1)>"]
  click A href "https://evil.example/x"
\`\`\`

and who says what:

\`\`\`mermaid
sequenceDiagram
  Client->>Server: part 1
  Server-->>Client: try again
\`\`\`

\`\`\`mermaid
graph TD
  A -->
\`\`\`
`;

export default async function reading(stage) {
  const { page, view, model, prompt, ask, idle, command, picture, say } = stage;
  await command("View: Close All Editors");
  await command("BreadBoard: New Session");
  // It is in front once its prompt has the focus.
  await view.locator("textarea[aria-label=Prompt]").and(view.locator(":focus")).waitFor();
  model.reply(says(ANSWER));
  await ask("where is the limit of retries?");
  const answer = view.locator(".assistant", { hasText: "raise the limit" });
  await answer.locator(".code-keyword", { hasText: "pub" }).waitFor();
  await idle();
  await picture("reading");
  const broken = await answer.locator("th, td:first-child").evaluateAll((cells) =>
    cells.filter((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell.firstChild ?? cell);
      return cell.textContent?.split(" ").length === 1 && range.getClientRects().length > 1;
    }).map((cell) => cell.textContent),
  );
  assert.deepEqual(broken, [], "no word of the table is broken");
  await answer.locator(".math math mfrac").waitFor();
  const hebrew = answer.locator("p", { hasText: "הגבול" });
  const sides = await hebrew.evaluate((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const text = range.getBoundingClientRect();
    const box = element.getBoundingClientRect();
    return { left: text.left - box.left, right: box.right - text.right };
  });
  assert.ok(sides.right < sides.left, `Hebrew begins at the right: ${JSON.stringify(sides)}`);
  say("an answer has colours, whole words, things to do, and text that runs from the right");

  // Code is applied to the file that it is of, after the editor showed what it would change.
  await answer.getByRole("button", { name: "Apply the code to a file" }).click();
  const question = page.locator(".notification-toast", { hasText: "Apply the code to src/lib.rs?" });
  await question.waitFor();
  await page.locator(".monaco-diff-editor .view-line", { hasText: "5 // src/lib.rs:2" }).first().waitFor();
  await picture("apply-preview");
  await question.getByRole("button", { name: "Apply" }).click();
  await written(stage, "src/lib.rs", "    5 // src/lib.rs:2");
  say("code goes into its file after the editor's own preview");

  await answer.getByRole("button", { name: "Put the command into a terminal" }).click();
  // Those of earlier commands are there too, behind it.
  await page.locator(".terminal.xterm:visible").first().waitFor();
  await picture("command-in-terminal");
  await command("View: Toggle Panel Visibility");

  // A prompt is changed and sent anew: in a branch, beside the session, which stays as it is.
  const asked = model.asked.length;
  const before = await view.locator(".row").allInnerTexts();
  const user = view.locator(".user").last();
  // By the keyboard: what has the focus is scrolled to.
  await user.getByRole("button", { name: "Change this prompt and send it anew" }).focus();
  await page.keyboard.press("Enter");
  const words = "where is the limit of retries?";
  await eventually("the prompt is back", async () => ((await prompt.inputValue()) === words ? true : undefined));
  await view.locator(".branch-hint", { hasText: "this begins a branch" }).waitFor();
  await picture("branch-hint");
  model.reply(says("In lib.rs, as before."));
  await ask("where is the limit, in one line?");
  await view.locator(".assistant", { hasText: "as before" }).waitFor();
  await idle();
  const tab = view.locator(".strip .tab.active");
  assert.match(await tab.innerText(), /^where is the limit, in one line\?/);
  await tab.locator(".codicon-git-branch").waitFor();
  await view.locator(".notice", { hasText: `This session is a branch of “${words}”` }).waitFor();
  assert.equal(await view.locator(".user", { hasText: words }).count(), 0, "it begins before the prompt that was changed");
  assert.deepEqual(
    model.asked[asked].body.messages.filter(({ role }) => role === "user").map(({ content }) => content.split("\n")[0]),
    ["where is the limit, in one line?"],
    "its model has heard nothing of the prompt that was changed",
  );
  await picture("branch");
  const origin = view.locator(".origin");
  assert.match(await origin.innerText(), /Branch of/);
  await origin.getByRole("button").click();
  await view.locator(".strip .tab.active", { hasText: words }).waitFor();
  await view.locator(".assistant .code-keyword", { hasText: "pub" }).waitFor();
  assert.deepEqual(await view.locator(".row").allInnerTexts(), before, "the session is as it was");
  // Of a later prompt, the branch has the turn before it, which the model remembers.
  model.reply(says("Three."));
  await ask("how many, then?");
  await view.locator(".assistant", { hasText: "Three." }).waitFor();
  await idle();
  await view.locator(".user", { hasText: "how many, then?" }).getByRole("button", { name: "Change this prompt and send it anew" }).focus();
  await page.keyboard.press("Enter");
  await view.locator(".branch-hint").waitFor();
  model.reply(says("Seven, in a branch."));
  await ask("how many, in words?");
  await view.locator(".assistant", { hasText: "Seven, in a branch." }).waitFor();
  await idle();
  await view.locator(".notice", { hasText: "remembers the conversation" }).waitFor();
  const heard = model.asked.at(-1).body.messages.filter(({ role }) => role !== "system").map(({ content }) => content);
  assert.ok(heard.some((content) => content.includes("## Retries")), "its model has the answer before it");
  assert.ok(!heard.some((content) => content.includes("how many, then?")), "and not the prompt that was changed");
  await picture("branch-of-a-later-prompt");

  await view.locator(".scroller").focus();
  await page.keyboard.press("Control+f");
  await view.getByLabel("Find in the conversation").fill("limit");
  await view.locator(".find [role=status]", { hasText: /of \d/ }).waitFor();
  await view.locator(".row.found").waitFor();
  await picture("find");
  await page.keyboard.press("Escape");
  await view.locator(".find").waitFor({ state: "detached" });

  await command("BreadBoard: Export the Session as Markdown");
  await page.locator(".monaco-editor .view-line", { hasText: "# Retries" }).first().waitFor();
  await picture("export");
  await command("View: Revert and Close Editor");
  say("a prompt was changed and sent anew, words were found, and the session is Markdown");
  await diagrams(stage);
}

/** Diagrams: pictures in the editor's colours, drawn anew with another theme; the source is one press away. */
async function diagrams({ view, model, ask, idle, theme, picture, say, sidebarFrame }) {
  const frame = await sidebarFrame();
  assert.equal(await frame.locator("script[src*='diagrams.js']").count(), 0, "nothing is loaded before the first diagram");
  model.reply(says(DIAGRAMS));
  await ask("draw me how it goes");
  const drawn = view.locator(".diagram.is-drawn > img");
  await drawn.nth(1).waitFor();
  await view.locator(".diagram > p", { hasText: "cannot be drawn" }).waitFor();
  await idle();
  await picture("diagrams");
  const pictures = () =>
    drawn.evaluateAll((images) =>
      images.map((image) => ({ source: image.src, well: image.complete && image.naturalWidth > 50 && image.naturalHeight > 50 })),
    );
  const light = await pictures();
  assert.deepEqual(light.map(({ well }) => well), [true, true], "each picture is one that the browser can draw");
  assert.ok(light.every(({ source }) => source.startsWith("data:image/svg+xml") && !/evil\.example|onerror%3D|%3Cscript/i.test(source)));
  await theme("Dark 2026");
  const dark = await eventually("the diagrams are drawn anew", async () => {
    const now = await pictures();
    return now.length === 2 && now.every(({ source, well }, at) => well && source !== light[at].source) ? now : undefined;
  });
  assert.equal(dark.length, 2);
  await picture("diagrams-dark");
  await theme("Light 2026");
  const first = view.locator(".diagram").first();
  // By the keyboard: what has the focus is scrolled to.
  const press = async () => {
    await first.getByRole("button", { name: "Show the source" }).focus();
    await first.page().keyboard.press("Enter");
  };
  await press();
  await first.locator("pre", { hasText: "Tried 3 times?" }).waitFor();
  await first.locator("img").waitFor({ state: "hidden" });
  await press();
  await first.locator("img").waitFor();
  say("diagrams are pictures in the editor's colours, and what is none says so");
}
