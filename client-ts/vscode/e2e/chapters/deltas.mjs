// 50,000 pieces in ten seconds into the sidebar: drawn at most once a frame, with hardly more long tasks than a page
// that rests, and in the end the page has what the model said and what the server holds.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { SIDEBAR } from "../editor.mjs";
import { paced, says } from "../model.mjs";
import { eventually } from "../stage.mjs";

const PER_SECOND = 5_000;
const SECONDS = 10;

export default async function deltas(stage) {
  const { page, view, model, ask, idle, messages, picture, say } = stage;
  await stage.newSession();
  const frame = await stage.sidebarFrame();
  await messages.deafen(page.frames());
  // As long as the other, with nothing to draw.
  await begin(frame);
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 1_000));
  const idleRun = await end(frame);

  const pieces = Array.from({ length: PER_SECOND * SECONDS }, (_, n) => (n % 200 === 199 ? `${n}.\n\n` : `${n} `));
  const source = paced(pieces, PER_SECOND);
  model.reply(says(source));
  const profiler = process.env.PROFILE === undefined ? undefined : await page.context().newCDPSession(page);
  await begin(frame);
  if (profiler !== undefined) {
    await profiler.send("Profiler.enable");
    await profiler.send("Profiler.start");
  }
  await ask("count to fifty thousand");
  await view.getByRole("button", { name: "Stop" }).waitFor();
  await idle();
  if (profiler !== undefined) {
    const { profile } = await profiler.send("Profiler.stop");
    await writeFile(process.env.PROFILE, JSON.stringify(profile));
  }
  const run = await end(frame);
  await messages.undeafen(page.frames());
  await picture("deltas");

  say(`source: ${pieces.length} pieces in ${(source.tookMs / 1_000).toFixed(2)} s, ${Math.round(pieces.length / (source.tookMs / 1_000))} a second`);
  for (const [name, { ms, frames, renders, most, long, longMs, worst, when }] of [
    ["idle", idleRun],
    ["run ", run],
  ])
    say(
      `${name}: ${(ms / 1_000).toFixed(2)} s, ${frames} frames, ${renders} renders, at most ${most} a frame, ` +
        `${long} long tasks of ${Math.round(longMs)} ms in all, the longest ${Math.round(worst)} ms (${when.join(", ")})`,
    );

  // As it streamed onto the page; then what the server gives a page that begins; then that page.
  const said = pieces.join("");
  assert.equal(words(await onPage(view)), words(said), "the page has what the model said");
  assert.equal(await heldByServer(stage), said, "and so has the server");
  assert.equal(words(await onPage(view)), words(said), "and so has a page that begins anew");
  assert.ok(run.renders > SECONDS, "it streamed: it was drawn many times");
  assert.ok(run.most <= 1, `drawn ${run.most} times in one frame`);
  const [slack, slackMs] = SLACK[process.env.SPEED ?? "strict"];
  within(stage, "the source took", source.tookMs, SECONDS * 1_000 * 1.1, slack, 0);
  within(stage, "long tasks took", run.longMs, 2 * idleRun.longMs + 100, 1, slackMs);
  say("transcript whole");
}

/**
 * How far a measured time may exceed its limit before the chapter fails: a factor, and milliseconds. A machine that does
 * other things too (`SPEED=shared`, as in CI) hiccups; a page that draws every piece has long tasks for most of the run.
 */
const SLACK = { strict: [1, 0], shared: [3, 2_000], said: [Infinity, Infinity] };

function within({ say }, what, ms, limit, slack, slackMs) {
  const claim = `${what} ${Math.round(ms)} ms; at most ${Math.round(limit)} ms are asked for`;
  say(`${ms <= limit ? "in time" : "NOT in time"}: ${claim}`);
  assert.ok(ms <= limit * slack + slackMs, claim);
}

/** The last answer, as it is drawn. */
const onPage = (view) =>
  view
    .locator(".assistant .prose")
    .last()
    .evaluate((prose) => [...prose.querySelectorAll("p")].map((part) => part.textContent).join("\n"));

/** How Markdown breaks lines is not the matter here. */
const words = (text) => text.split(/\s+/).filter(Boolean).join(" ");

/** The last answer in the snapshot that the server gives when the view is hidden and shown again. */
async function heldByServer({ page, view, show, messages }) {
  const from = messages.texts.length;
  await show("Explorer");
  await page.locator(SIDEBAR).waitFor({ state: "detached" });
  await show("BreadBoard");
  await view.locator(".assistant .prose").last().waitFor();
  return eventually("the page got a snapshot", async () => {
    for (const text of messages.texts.slice(from)) {
      if (!text.includes('"lanes"')) continue;
      const answer = chatOf(JSON.parse(text))?.findLast(({ kind }) => kind === "assistant");
      if (answer !== undefined) return answer.text;
    }
    return undefined;
  });
}

/** The blocks of the chat, wherever in a message they are. */
function chatOf(value) {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value.lanes?.chat?.blocks)) return value.lanes.chat.blocks;
  for (const part of Object.values(value)) {
    const found = chatOf(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Begins to count renders by frame, and long tasks of the page's thread. */
function begin(frame) {
  return frame.evaluate(() => {
    const at = performance.now();
    const byFrame = new Map();
    let frames = 0;
    let live = true;
    const tick = () => {
      frames += 1;
      if (live) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    // Whatever draws the transcript ends in one batch of mutations; the timeline stands still within a frame.
    const drawn = new MutationObserver(() => {
      const { currentTime } = document.timeline;
      byFrame.set(currentTime, (byFrame.get(currentTime) ?? 0) + 1);
    });
    drawn.observe(document.getElementById("pane"), { subtree: true, childList: true, characterData: true, attributes: true });
    const tasks = [];
    const long = new PerformanceObserver((list) => tasks.push(...list.getEntries()));
    long.observe({ entryTypes: ["longtask"] });
    window.__count = () => {
      live = false;
      tasks.push(...long.takeRecords());
      long.disconnect();
      drawn.disconnect();
      const durations = tasks.map(({ duration }) => duration);
      return {
        ms: performance.now() - at,
        frames,
        renders: byFrame.size,
        most: Math.max(0, ...byFrame.values()),
        long: durations.length,
        longMs: durations.reduce((sum, one) => sum + one, 0),
        worst: Math.max(0, ...durations),
        when: tasks.map(({ startTime, duration }) => `${Math.round(duration)} ms at ${((startTime - at) / 1_000).toFixed(1)} s`),
      };
    };
  });
}

const end = (frame) => frame.evaluate(() => window.__count());
