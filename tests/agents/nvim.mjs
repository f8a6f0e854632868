// Neovim, headless, with opencode behind breadboard-ls: makes the home and the model, then runs the Lua scenario in it.

import { spawn } from 'node:child_process';
import { home as newHome, opencode } from './agents.mjs';
import { Model } from './model.mjs';
import { gone, killAll } from './tree.mjs';

const home = await newHome();
const model = await Model.start();
const engine = await opencode(home, model);
const nvim = spawn('nvim', ['--headless', '-u', 'NONE', '-i', 'NONE', '-n', '-S', process.argv[2]], {
  env: { ...process.env, ...home.env, BB_HOME: home.place, BB_ENGINE: JSON.stringify(engine) },
  stdio: ['ignore', 'inherit', 'inherit'],
});
let code = await new Promise((resolve) => nvim.on('exit', (status) => resolve(status ?? 1)));
await model.close();
if (code === 0 && model.asked.join() !== 'plain#0') {
  console.log(`FAILED: the model was asked ${model.asked.join() || 'nothing'}, want plain#0`);
  code = 1;
}
// Neovim has shut the server down: nothing of the run may be left.
await gone(home.mark).catch((error) => {
  console.log(`FAILED: ${error.message}`);
  killAll(home.mark);
  code = 1;
});
await home.remove();
process.exitCode = code;
