// A real Neovim with the plugin, and each agent of BB_AGENTS behind it: makes the home and the model, then runs the Lua there.

import { spawn } from 'node:child_process';
import { home as newHome, WITH_MODEL } from './agents.mjs';
import { Model } from './model.mjs';
import { gone, killAll } from './tree.mjs';

const [, , script] = process.argv;
for (const agent of process.env.BB_AGENTS.split(' ')) {
  const home = await newHome();
  const model = await Model.start();
  const engine = await WITH_MODEL[agent](home, model);
  const nvim = spawn(process.env.BB_NVIM ?? 'nvim', ['--headless', '-u', 'NONE', '-i', 'NONE', '-n', '-S', script], {
    env: { ...process.env, ...home.env, BB_HOME: home.place, BB_AGENT: agent, BB_ENGINE: JSON.stringify(engine) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if ((await new Promise((resolve) => nvim.on('exit', resolve))) !== 0) process.exitCode = 1;
  await model.close();
  // Neovim has shut the server down: nothing of the run may be left.
  await gone(home.mark).catch((error) => {
    console.log(`FAILED: ${error.message}`);
    killAll(home.mark);
    process.exitCode = 1;
  });
  await home.remove();
}
