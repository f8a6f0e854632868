// Real agents behind the real breadboard-ls, over LSP: elizacp, and opencode with a model that is not there.
// `BB_AGENTS` names the agents of this run.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { elizacp, home as newHome, opencode } from './agents.mjs';
import { Desk } from './desk.mjs';
import { Model } from './model.mjs';
import { gone, killAll, marked } from './tree.mjs';

const agents = (process.env.BB_AGENTS ?? 'elizacp opencode').split(' ');

/** A story with a home, a model and an open window; all of it is gone afterwards. */
function story(agent, name, play) {
  test(`${agent}: ${name}`, { skip: !agents.includes(agent) }, async (t) => {
    const home = await newHome();
    const model = await Model.start();
    const desks = [];
    t.after(async () => {
      for (const desk of desks) desk.server.kill();
      await model.close();
      await gone(home.mark).catch(() => killAll(home.mark));
      await home.remove();
    });
    const engine = agent === 'opencode' ? await opencode(home, model) : elizacp(home);
    const open = async () => {
      const desk = await Desk.open(home, engine);
      desks.push(desk);
      return desk;
    };
    await play({ home, model, engine, open });
  });
}

/** The agent's own process: the newest that was started with these words, without the guardians around it. */
function processOf(mark, engine) {
  const words = engine.args.join(' ');
  const mine = marked(mark).filter(({ command }) => command.endsWith(words) && !command.startsWith('bb-guard'));
  // A launcher may stand above the program itself: all of them.
  assert.ok(mine.length > 0, `no process of ${engine.command}:\n${marked(mark).map((one) => one.command).join('\n')}`);
  return mine.map(({ pid }) => pid);
}

const greeting = 'Hello, world\nsecond line\n';
const hello = (home) => readFile(`${home.workspace}/hello.txt`, 'utf8');
const last = (list) => list[list.length - 1];

story('elizacp', 'a plain answer', async ({ open }) => {
  const desk = await open();
  await desk.prompt('Hello, I feel happy today');
  await desk.ended();
  assert.ok(desk.said.length > 0);
  assert.equal(desk.ends[0].payload.stopReason, 'end_turn');
  assert.deepEqual(desk.blocks('user').map((block) => block.text), ['Hello, I feel happy today']);
});

story('elizacp', 'killed between two turns: the next prompt finds a new process, and is told what is lost', async (run) => {
  const desk = await run.open();
  await desk.prompt('Hello');
  await desk.ended();
  for (const pid of processOf(run.home.mark, run.engine)) process.kill(pid, 'SIGKILL');
  await desk.server.until('the exit', () => desk.events.some((event) => event.type === 'local.agent_exited'));
  await desk.prompt('Are you there?');
  await desk.ended(2);
  assert.equal(last(desk.ends).payload.stopReason, 'end_turn');
  // It can load no session: what was said before is known to us alone.
  const { resume } = await desk.verdict();
  assert.equal(resume.verdict, 'lost');
  assert.ok(resume.reason.length > 0);
});

story('elizacp', 'the client is killed: nothing of the tree is alive after 3 s', async ({ home, engine }) => {
  await clientDies(home, engine, 'Hello', '.');
});

story('opencode', 'a plain answer', async ({ open, model }) => {
  const desk = await open();
  await desk.prompt('SCENARIO:plain hi');
  await desk.ended();
  assert.equal(desk.said, 'Hello from the model.');
  assert.equal(desk.ends[0].payload.stopReason, 'end_turn');
  assert.deepEqual(model.asked, ['plain#0']);
});

story('opencode', 'an edit that is allowed is made', async ({ open, home }) => {
  const desk = await open();
  await desk.prompt(`SCENARIO:edit in ${home.workspace}`);
  const ask = await desk.asked();
  const options = ask.permission.options.map(({ optionId, label, kind }) => [optionId, label, kind]);
  assert.deepEqual(options, [
    ['once', 'Allow once', 'allow_once'],
    ['always', 'Always allow', 'allow_rule'],
    ['reject', 'Reject', 'deny'],
  ]);
  assert.equal(await hello(home), greeting, 'nothing is written before the answer');
  assert.equal((await desk.decide(ask, 'allow_once')).outcome, 'recorded');
  await desk.ended();
  assert.equal(await hello(home), 'Hello, breadboard\nsecond line\n');
  assert.deepEqual(desk.blocks('permission').map((block) => block.status), ['allowed']);
  assert.deepEqual(desk.blocks('tool').map((block) => block.status), ['ok', 'ok']);
  assert.equal(desk.said, 'The greeting was changed.');
});

story('opencode', 'an edit that is rejected is not made', async ({ open, home }) => {
  const desk = await open();
  await desk.prompt(`SCENARIO:edit in ${home.workspace}`);
  const ask = await desk.asked();
  assert.equal((await desk.decide(ask, 'deny')).outcome, 'recorded');
  await desk.ended();
  assert.equal(await hello(home), greeting);
  assert.deepEqual(desk.blocks('permission').map((block) => block.status), ['denied']);
  // The agent says `failed`; that it never ran is what we know better.
  assert.equal(last(desk.blocks('tool')).status, 'denied');
});

story('opencode', 'tools that run side by side each have their block', async ({ open, home }) => {
  const desk = await open();
  await desk.prompt(`SCENARIO:two in ${home.workspace}`);
  await desk.ended();
  assert.deepEqual(desk.blocks('tool').map((block) => block.status), ['ok', 'ok']);
  assert.equal(new Set(desk.blocks('tool').map((block) => block.id)).size, 2);
  assert.equal(desk.said, 'Both were read.');
});

story('opencode', 'a stop in mid-stream ends the turn as cancelled', async ({ open, model }) => {
  const desk = await open();
  await desk.prompt('SCENARIO:slow count');
  await desk.server.until('the first words', () => desk.said.includes('tick1'));
  assert.equal(model.held.size, 1);
  await desk.stop();
  await desk.ended();
  assert.equal(desk.ends[0].payload.stopReason, 'cancelled');
  assert.equal(desk.said.trim(), 'tick0 tick1');
  // The session goes on, once its queue is let go.
  await desk.prompt('SCENARIO:plain after');
  await desk.server.request('bb/queue/resume', { sessionId: desk.sessionId });
  await desk.ended(2);
  assert.ok(desk.said.endsWith('Hello from the model.'), desk.said);
});

story('opencode', 'a stop while an ask waits settles it as cancelled', async ({ open, home }) => {
  const desk = await open();
  await desk.prompt(`SCENARIO:edit in ${home.workspace}`);
  await desk.asked();
  await desk.stop();
  await desk.ended();
  assert.deepEqual(desk.blocks('permission').map((block) => block.status), ['cancelled']);
  assert.equal(desk.ends[0].payload.stopReason, 'cancelled');
  assert.equal(await hello(home), greeting);
  assert.ok(!desk.blocks('tool').some((block) => block.status === 'running'), 'no tool runs for ever');
});

story('opencode', 'SIGKILL in mid-stream: the turn ends, what was said stays, the next prompt says what is lost', async (run) => {
  const desk = await killedInMidStream(run);
  await desk.prompt('SCENARIO:plain after');
  await desk.server.request('bb/queue/resume', { sessionId: desk.sessionId });
  await desk.ended(2);
  // opencode has kept the prompt and lost the words: our journal has both.
  const { status, resume } = await desk.verdict();
  assert.deepEqual([status, resume.verdict], ['connected', 'lost']);
  assert.ok(resume.reason.length > 0);
  assert.equal(desk.said.replaceAll(/\s+/g, ' '), 'tick0 tick1 Hello from the model.', 'nothing is printed twice');
});

story('opencode', 'SIGKILL in mid-stream, then a restart: the session is open again before any prompt', async (run) => {
  const desk = await killedInMidStream(run);
  const { generation } = await desk.server.request('bb/agent/restart', {});
  assert.equal(generation, 2);
  const { status, resume } = await desk.verdict();
  assert.deepEqual([status, resume.verdict], ['connected', 'lost']);
  assert.equal(desk.said.trim(), 'tick0 tick1', 'nothing is printed twice');
});

story('opencode', 'the client is killed in mid-turn: nothing of the tree is alive after 3 s', async ({ home, engine }) => {
  await clientDies(home, engine, 'SCENARIO:slow count', 'tick1');
});

/** A window whose agent was killed while it spoke. */
async function killedInMidStream({ open, home, engine }) {
  const desk = await open();
  await desk.prompt('SCENARIO:slow count');
  await desk.server.until('the first words', () => desk.said.includes('tick1'));
  for (const pid of processOf(home.mark, engine)) process.kill(pid, 'SIGKILL');
  await desk.ended();
  assert.equal(desk.said.trim(), 'tick0 tick1');
  const exit = desk.events.find((event) => event.type === 'local.agent_exited');
  assert.deepEqual([exit.payload.generation, exit.payload.expected], [1, false]);
  return desk;
}

/** A client of its own begins a turn and is killed. */
async function clientDies(home, engine, prompt, until) {
  const script = fileURLToPath(new URL('client.mjs', import.meta.url));
  const plan = { home: { workspace: home.workspace, state: home.state }, engine, prompt, until };
  const client = spawn(process.execPath, [script], {
    env: { ...process.env, BB_PLAN: JSON.stringify(plan), BB_AGENT_RUN: home.place },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => client.on('exit', resolve));
  const line = await Promise.race([
    new Promise((resolve) => createInterface({ input: client.stdout }).once('line', resolve)),
    exited.then((code) => `it ended with ${code}`),
  ]);
  assert.equal(line, 'in mid-turn');
  // The client, breadboard-ls, its guardians and the agent.
  const tree = marked(home.mark);
  assert.ok(tree.length >= 3, tree.map((one) => one.command).join('\n'));
  client.kill('SIGKILL');
  await exited;
  await gone(home.mark);
}
