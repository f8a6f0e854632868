// A program on a terminal of its own, as a person has one: what it shows, and what is typed.
// Owns: the terminal, by `script` of util-linux. Never decides what is right.

import { spawn } from 'node:child_process';
import { within } from '../tests/server.mjs';

export class Terminal {
  /** Runs these words on a terminal of so many columns. */
  constructor(words, { env, columns = 80 }) {
    const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    const line = `stty cols ${columns} rows 24; exec ${quoted}`;
    this.child = spawn('script', ['--quiet', '--return', '--flush', '--command', line, '/dev/null'], { env });
    this.raw = '';
    this.watchers = new Set();
    this.child.stdout.on('data', (piece) => {
      this.raw += piece;
      for (const look of this.watchers) look();
    });
    this.exited = new Promise((resolve) => this.child.on('exit', resolve));
    this.exited.then(() => this.watchers.forEach((look) => look()));
  }

  /** What was shown, without colours; a line that was written over stands there too. */
  get shown() {
    // eslint-disable-next-line no-control-regex
    return this.raw.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replaceAll('\r\n', '\n').replaceAll('\r', '\n');
  }

  /** Waits until so many of it are shown. */
  async until(text, times = 1) {
    let watch;
    const found = new Promise((resolve, reject) => {
      watch = () => {
        if (this.shown.split(text).length > times) resolve();
        else if (this.child.exitCode !== null) reject(new Error(`it ended without "${text}":\n${this.shown}`));
      };
      this.watchers.add(watch);
      watch();
    });
    const said = () => `\nit shows:\n${this.shown.slice(-3_000)}`;
    await within(found, `"${text}" on the terminal`).catch((error) => {
      throw new Error(error.message + said());
    });
    this.watchers.delete(watch);
  }

  type(text) {
    this.child.stdin.write(text);
  }

  /** Waits for its end, and gives its exit code. */
  end() {
    return within(this.exited, 'the end of the program');
  }

  kill() {
    this.child.kill('SIGKILL');
  }
}
