// Real agents whose edit of two changes is accepted in part: the disk holds exactly that, and their next turn knows it.
// `BB_AGENTS` names the agents of this run.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { home as newHome, WITH_MODEL } from './agents.mjs';
import { Desk } from './desk.mjs';
import { Model } from './model.mjs';
import { longFile } from './scenarios.mjs';
import { gone, killAll } from './tree.mjs';

const agents = (process.env.BB_AGENTS ?? 'opencode codex-acp').split(' ');

for (const agent of agents.filter((agent) => agent in WITH_MODEL))
  for (const accepted of [0, 1])
    test(`${agent}: of two changes ${accepted === 0 ? 'the first' : 'the second'} is accepted, and it alone is made and told`, async (t) => {
      const home = await newHome();
      const model = await Model.start();
      const path = join(home.workspace, 'long.txt');
      await writeFile(path, longFile());
      const desk = await Desk.open(home, await WITH_MODEL[agent](home, model));
      t.after(async () => {
        desk.server.kill();
        await model.close();
        await gone(home.mark).catch(() => killAll(home.mark));
        await home.remove();
      });
      // Given an edit of two places that waits
      await desk.prompt(`SCENARIO:hunks in ${home.workspace}`);
      const { permission } = await desk.asked();
      const { patchId, digest } = permission;
      const { patch } = await desk.server.request('bb/patch/get', { sessionId: desk.sessionId, patchId });
      const hunks = patch.files.flatMap((file) => file.hunks);
      assert.equal(hunks.length, 2, JSON.stringify(patch.files, null, 1));
      // When one of them is accepted
      const decisions = hunks.map(({ id }, at) => ({ id, accepted: at === accepted }));
      const decided = await desk.server.request('bb/patch/decide', {
        sessionId: desk.sessionId, patchId, digest, scope: 'hunk', hunks: decisions,
      });
      assert.deepEqual(decided.files.map(({ outcome }) => outcome), ['partly']);
      // Then the disk holds exactly that, then and when the agent is through
      const line = [10, 140][accepted];
      const made = longFile().replace(`old line ${line} of`, `new line ${line} of`);
      assert.equal(await readFile(path, 'utf8'), made);
      await desk.ended();
      assert.equal(await readFile(path, 'utf8'), made);
      // And its next turn speaks of it so
      await desk.prompt('SCENARIO:told and now?');
      await desk.server.request('bb/queue/resume', { sessionId: desk.sessionId }).catch(() => {});
      await desk.ended(2);
      assert.match(desk.said, /The user decided on this edit change by change\. `long\.txt` has 1 of its 2 changes and is now sha256:[0-9a-f]{64}/);
      const rejected = [140, 10][accepted];
      assert.ok(desk.said.includes(`-old line ${rejected} of many`), desk.said);
      assert.ok(!desk.said.includes(`-old line ${line} of many`), desk.said);
      assert.equal(await readFile(path, 'utf8'), made);
    });
