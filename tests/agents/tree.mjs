// Which processes belong to a run: those whose environment holds its mark. Linux only.
// Owns: reading /proc, and ending what is left. A process that forks away, leads its own session or was adopted is found all the same.

import { readFileSync, readdirSync } from 'node:fs';

/** How long anything of an agent may live after its client, in milliseconds. */
const LINGER = 3_000;

/** Every living process that carries the mark, as `{ pid, parent, command }`. Zombies do not live. */
export function marked(mark) {
  const found = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (!readFileSync(`/proc/${name}/environ`, 'utf8').split('\0').includes(mark)) continue;
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z' || state === 'X') continue;
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').join(' ').trim();
      found.push({ pid: Number(name), parent: Number(parent), command });
    } catch {
      // It ended while we looked, or is not ours to read.
    }
  }
  return found;
}

/** Waits until no process of the run lives. */
export async function gone(mark, within = LINGER) {
  const end = Date.now() + within;
  for (;;) {
    const left = marked(mark);
    if (left.length === 0) return;
    if (Date.now() > end) {
      throw new Error(`still alive after ${within} ms:\n${left.map(({ pid, command }) => `${pid} ${command}`).join('\n')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function killAll(mark) {
  for (const { pid } of marked(mark)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It is gone already.
    }
  }
}
