// The story of a user, in a real VS Code with a real server and a model of our own: chapter by chapter, in one editor.
// What each chapter proves stands at the top of its file.
//
//   WORK       a folder that is ours, with extension.vsix and symbols.vsix in it
//   E2E_CACHE  where code-server is
//   BB_SERVER  the server's program
//   SHOTS      where pictures go; default: none are kept
//   CHAPTERS   names of chapters, with commas; default: all. The first one always runs: it grants trust.
//   WITHOUT    names of chapters to leave out of all
//   E2E_LEFT   a file that gets the names of the chapters that were not passed, with commas, when one fails
//   E2E_NVIM   a Neovim that is new enough for the plugin; default: none, and the chapter of one host for two editors is left out
//   E2E_AGENTS  real agents that are installed, with blanks; default: none, and the chapter of the agents is left out
//   SPEED      `strict` (default): the limits of time as they stand. `shared`: with room for what else the machine does.
//              `said`: what is slower than it should be is said and fails nothing
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { saidBy, setStage } from "./stage.mjs";

const ALL = [
  "trust",
  // It measures, so it comes before the page has served as a test bench.
  "deltas",
  "chat",
  "approve",
  "hide",
  "queue",
  "reload",
  "panes",
  "as_shown",
  "hunks",
  "context",
  "review",
  "undo_turn",
  "cards",
  "two_windows",
  "folders",
  "create_spec",
  "agents",
  "killed",
  "keyboard",
  "accessibility",
  "reading",
  "natives",
  "everyday",
  "sessions",
  // These choose other servers and engines, and the last of them nothing at all.
  "versions",
  "pairing",
  "one_host",
  "former_engine",
  "gap",
  "setup",
  "token",
];
const { WORK, E2E_CACHE, BB_SERVER, SHOTS, CHAPTERS, WITHOUT = "", E2E_AGENTS = "", E2E_LEFT, E2E_NVIM = "", SPEED = "strict" } = process.env;
if (!["strict", "shared", "said"].includes(SPEED)) {
  console.error(`SPEED=${SPEED} is none of strict, shared and said`);
  process.exit(2);
}
if (SHOTS) ALL.splice(ALL.indexOf("former_engine"), 0, "pictures");
if (!E2E_AGENTS) ALL.splice(ALL.indexOf("agents"), 1);
if (!E2E_NVIM) ALL.splice(ALL.indexOf("one_host"), 1);
const wanted = CHAPTERS ? [ALL[0], ...CHAPTERS.split(",").filter((name) => name !== ALL[0])] : ALL.filter((name) => !WITHOUT.split(",").includes(name));
for (const name of wanted)
  if (!ALL.includes(name)) {
    console.error(`there is no chapter "${name}"; there are ${ALL.join(", ")}`);
    process.exit(2);
  }

const stage = await setStage({ work: WORK, cache: E2E_CACHE, server: BB_SERVER, shots: SHOTS });
const times = [];
let at = "";
try {
  for (at of wanted) {
    const begun = Date.now();
    stage.say(`--- ${at}`);
    await (await import(`./chapters/${at}.mjs`)).default(stage);
    times.push(`${at} ${((Date.now() - begun) / 1000).toFixed(1)}`);
  }
  stage.say(`done; seconds by chapter: ${times.join(", ")}`);
  await stage.close();
} catch (error) {
  if (SHOTS) await stage.page.screenshot({ path: path.join(SHOTS, "failed.png") }).catch(() => undefined);
  console.error(stage.consoleText.slice(-20).map((line) => line.slice(0, 200)).join("\n"));
  console.error(whatElseIsKnown());
  console.error(`the page says:\n${await saidBy(stage.page)}`);
  // Last, since a reader of a long log looks at its end.
  console.error(`the chapter "${at}" failed:`, error);
  await stage.close();
  if (E2E_LEFT) await writeFile(E2E_LEFT, wanted.slice(wanted.indexOf(at)).join(","));
  process.exitCode = 1;
}
// A server of the editor that was told to end may hold this process by its pipes.
process.exit();

/** For whoever reads why a story failed: whether the model was asked, what the page heard last, and where the server's threads are. */
function whatElseIsKnown() {
  const { asked, waiting } = stage.model;
  const last = asked.at(-1)?.body.messages?.at(-1);
  const heard = stage.messages.texts.slice(-12).map((text) => text.slice(0, 240));
  const threads = spawnSync("ps", ["-eLo", "pid,lwp,stat,etimes,wchan:24,comm"], { encoding: "utf8" }).stdout ?? "";
  const ofServer = spawnSync("pgrep", ["-x", "breadboard-ls"], { encoding: "utf8" }).stdout?.split("\n") ?? [];
  return [
    `the model was asked ${asked.length} times, last ${JSON.stringify(last)?.slice(-240)}; replies that nobody asked for: ${waiting()}`,
    "the page heard last:",
    ...heard,
    "threads of the server:",
    ...threads.split("\n").filter((line) => ofServer.includes(line.trim().split(/\s+/)[0])).slice(0, 40),
  ].join("\n");
}
