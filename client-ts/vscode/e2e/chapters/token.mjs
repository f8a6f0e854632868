// The token of the model is nowhere that a page, or a reader of the disk, could see it: in no frame's document or
// storage, in no message that a frame got, in no console, journal or log.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { CANARY, fileWith } from "../stage.mjs";

/** Lines of the requirements catalogue that this chapter holds (tests/requirements.rs reads them). */
export const proves = ["R000-78"];

export default async function token({ page, panel, command, messages, consoleText, opened, editor, folder, work, say }) {
  // Both pages are there.
  await command("BreadBoard: Create Spec");
  await panel.locator("[role=form][aria-busy=false]").waitFor();
  const frames = await Promise.all(
    page.frames().map((frame) =>
      frame
        .evaluate(() => ({
          text:
            document.documentElement.outerHTML +
            JSON.stringify({ ...localStorage }) +
            JSON.stringify({ ...sessionStorage }),
          title: document.title,
        }))
        .catch(() => ({ text: "", title: "" })),
    ),
  );
  const titles = frames.map(({ title }) => title);
  for (const title of ["BreadBoard", "Create New Spec"])
    assert.ok(titles.includes(title), `the frame "${title}" was read: ${titles}`);
  for (const { text, title } of frames) assert.ok(!text.includes(CANARY), `the token is in the frame "${title}"`);
  const storage = await page.evaluate(async () => {
    const names = (await indexedDB.databases()).map(({ name }) => name);
    const all = [];
    for (const name of names) {
      const db = await new Promise((resolve, reject) => {
        const request = indexedDB.open(name);
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
      for (const store of db.objectStoreNames)
        all.push(
          await new Promise((resolve, reject) => {
            const request = db.transaction(store).objectStore(store).getAll();
            request.onsuccess = () => resolve(JSON.stringify(request.result));
            request.onerror = () => reject(request.error);
          }),
        );
      db.close();
    }
    return all;
  });
  for (const text of storage) assert.ok(!text.includes(CANARY), "the token is in a database of the page");
  const heard = messages.texts;
  assert.ok(
    heard.some((text) => text.includes('"bb/view"')) && heard.some((text) => text.includes("create-spec/init")),
    `messages of both pages were heard, of ${heard.length}`,
  );
  assert.ok(!heard.some((text) => text.includes(CANARY)), "the token is in a message of a frame");
  assert.ok(!consoleText.some((text) => text.includes(CANARY)), "the token is in the console");
  for (const place of [path.join(work, "state"), path.join(editor.data, "logs"), folder])
    assert.equal(await fileWith(place, CANARY), undefined, `the token is in ${place}`);
  say(
    `the token is in none of ${frames.length} frames, ${storage.length} stores and ${heard.length} messages, ` +
      "in no console, journal or log",
  );

  // What else the whole story must not have done.
  assert.ok(!(await readdir(work)).includes("evil-ran"), "a program of the repository was run");
  assert.deepEqual(opened, [], "nothing is opened in the browser itself");
  const violations = consoleText.filter((text) => /protocol violation|Content Security Policy.*webview/i.test(text));
  assert.deepEqual(violations, []);
  assert.equal(await fileWith(path.join(editor.data, "logs"), "[protocol violation]"), undefined);
  say("no program of the repository ran, no other page was opened, and nobody broke the protocol or the content policy");
}
