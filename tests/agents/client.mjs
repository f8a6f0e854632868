// A client for the story in which the client dies: it opens a window, begins a turn, says so, and waits to be killed.
// Reads its plan from the environment: BB_PLAN is `{ home, engine, prompt, until }`.

import { Desk } from './desk.mjs';

const { home, engine, prompt, until } = JSON.parse(process.env.BB_PLAN);
const desk = await Desk.open(home, engine);
await desk.prompt(prompt);
await desk.server.until(until, () => desk.said.includes(until));
console.log('in mid-turn');
