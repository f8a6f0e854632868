// Real agents that edit and run, behind `breadboard-ls ask` on a terminal: each asks once, shows the whole, and obeys.
// `BB_AGENTS` names the agents of this run.

import assert from 'node:assert/strict';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { Server } from '../tests/server.mjs';
import { home as newHome, WITH_MODEL } from './agents.mjs';
import { Model } from './model.mjs';
import { LONG, longFile } from './scenarios.mjs';
import { Terminal } from './terminal.mjs';
import { gone, killAll } from './tree.mjs';

const agents = (process.env.BB_AGENTS ?? Object.keys(WITH_MODEL).join(' ')).split(' ');
/** How the turn ends where a request was denied: Claude alone lets its model go on. */
const goesOn = (agent) => agent === 'claude-agent-acp';

/** Asks on a terminal, with the agent under its name as a user has it: on the `PATH`. */
function story(name, { scenario, columns }, play) {
  for (const agent of agents.filter((agent) => agent in WITH_MODEL))
    test(`${agent}: ${name}`, async (t) => {
      const home = await newHome();
      const model = await Model.start();
      const engine = await WITH_MODEL[agent](home, model);
      const bin = join(home.place, 'bin');
      await mkdir(bin);
      await symlink(engine.command, join(bin, basename(engine.command)));
      await writeFile(join(home.workspace, 'long.txt'), longFile());
      const env = { ...process.env, ...engine.env };
      env.PATH = `${bin}:${env.PATH}`;
      const words = [Server.command(), 'ask', '--trust', '--agent', agent, '--workspace', home.workspace];
      words.push('--state-dir', home.state, `SCENARIO:${scenario} in ${home.workspace}`);
      const terminal = new Terminal(words, { env, columns });
      t.after(async () => {
        terminal.kill();
        await model.close();
        await gone(home.mark).catch(() => killAll(home.mark));
        await home.remove();
      });
      const file = (name) => readFile(join(home.workspace, name), 'utf8').catch(() => undefined);
      await play({ agent, terminal, file });
    });
}

/** What the question shows, and that it is the first. */
async function asked(terminal) {
  await terminal.until('Answer (');
  const [before, ...others] = terminal.shown.split('Permission needed: ');
  assert.equal(others.length, 1, before);
  return others[0];
}

/** The answer is given, and nothing more is asked: how it ended, and what was shown since. */
async function answer(terminal, key) {
  const before = terminal.shown.length;
  terminal.type(`${key}\n`);
  const code = await terminal.end();
  const rest = terminal.shown.slice(before);
  assert.ok(!rest.includes('Answer ('), `it is asked once:\n${rest}`);
  return { code, rest };
}

function denied(agent, { code, rest }) {
  assert.ok(rest.includes(': denied\n'), rest);
  if (goesOn(agent)) return assert.equal(code, 0, rest);
  assert.ok(rest.includes(`The request was denied, and the agent \`${agent}\` ended its turn.`), rest);
  assert.equal(code, 1, rest);
}

story('300 lines of a change are shown whole on a narrow terminal, denied, and not made', { scenario: 'long', columns: 30 }, async (run) => {
  const question = await asked(run.terminal);
  const lines = question.split('\n');
  for (const [mark, word] of [['-', 'old'], ['+', 'new']])
    for (let at = 1; at <= LONG; at += 1) assert.ok(lines.includes(`${mark}${word} line ${at} of many`), `${word} ${at}:\n${question}`);
  denied(run.agent, await answer(run.terminal, 'n'));
  assert.equal(await run.file('long.txt'), longFile());
});

story('a change in the middle of a file is shown where it stands, allowed, and made', { scenario: 'middle' }, async (run) => {
  const question = await asked(run.terminal);
  const change = ['Edit long.txt', '  change: long.txt (+1 −1)', '@@ -97,7 +97,7 @@', ...[97, 98, 99].map((at) => ` old line ${at} of many`)];
  change.push('-old line 100 of many', '+new line 100 of many', ...[101, 102, 103].map((at) => ` old line ${at} of many`));
  assert.equal(question.slice(0, question.indexOf('\n   y  ')), change.join('\n'));
  assert.equal(await run.file('long.txt'), longFile(), 'nothing is written before the answer');
  const { code, rest } = await answer(run.terminal, 'y');
  assert.equal(code, 0, rest);
  assert.ok(rest.includes('One line was changed.'), rest);
  assert.equal(await run.file('long.txt'), longFile().replace('old line 100 ', 'new line 100 '));
});

story('a command is shown as it runs, denied, and not run', { scenario: 'run' }, async (run) => {
  assert.ok((await asked(run.terminal)).includes('\n  command: echo made >made.txt && echo it ran\n'), run.terminal.shown);
  denied(run.agent, await answer(run.terminal, 'n'));
  assert.equal(await run.file('made.txt'), undefined);
});

story('a command is allowed, and run', { scenario: 'run' }, async (run) => {
  await asked(run.terminal);
  assert.equal(await run.file('made.txt'), undefined, 'nothing runs before the answer');
  const { code, rest } = await answer(run.terminal, 'y');
  assert.equal(code, 0, rest);
  assert.ok(rest.includes('The command was run.'), rest);
  assert.equal(await run.file('made.txt'), 'made\n');
});
