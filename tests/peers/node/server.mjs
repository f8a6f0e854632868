// Starts breadboard-ls as an editor would and speaks to it through `vscode-languageserver-protocol`.
// Owns: the child process, the record of every frame in both directions, waiting with a limit. Never decides what is right.

import { spawn } from 'node:child_process';
import { createProtocolConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-languageserver-protocol/node';

/** Longest wait for anything the server owes us, in milliseconds. Generous: test machines are busy. */
const PATIENCE = Number(process.env.BB_PATIENCE_MS ?? 20_000);

/** Keeps every message as it came off the wire, before the library looks at it. */
class RecordingReader extends StreamMessageReader {
  constructor(stream, record) {
    super(stream);
    this.record = record;
  }
  listen(deliver) {
    return super.listen((message) => {
      this.record(message);
      deliver(message);
    });
  }
}

/** Keeps every message as it is written, which is the only place where the library shows its request ids. */
class RecordingWriter extends StreamMessageWriter {
  constructor(stream, record) {
    super(stream);
    this.record = record;
  }
  write(message) {
    this.record(message);
    return super.write(message);
  }
}

/** One running server with a connection to it. */
export class Server {
  static command() {
    const path = process.env.BB_SERVER;
    if (!path) throw new Error('Set BB_SERVER to the breadboard-ls binary to be tested.');
    return path;
  }

  constructor() {
    this.child = spawn(Server.command(), ['--stdio'], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.stderr = '';
    this.child.stderr.on('data', (piece) => (this.stderr = (this.stderr + piece).slice(-20_000)));
    this.exited = new Promise((resolve) => this.child.on('exit', (code, signal) => resolve({ code, signal })));
    this.received = [];
    this.sent = [];
    this.watchers = new Set();
    this.faults = [];
    const reader = new RecordingReader(this.child.stdout, (message) => {
      this.received.push(message);
      for (const look of this.watchers) look();
    });
    const writer = new RecordingWriter(this.child.stdin, (message) => this.sent.push(message));
    this.connection = createProtocolConnection(reader, writer);
    this.connection.onError(([error]) => this.faults.push(error));
    this.connection.onRequest('window/workDoneProgress/create', () => null);
    this.connection.onRequest('workspace/configuration', ({ items }) => items.map(() => null));
    this.connection.onUnhandledNotification(() => {});
    this.connection.listen();
  }

  /** Sends a request; fails when no answer comes. */
  request(method, params, token) {
    return within(this.connection.sendRequest(method, params, ...(token ? [token] : [])), `an answer to ${method}`, this);
  }

  notify(method, params) {
    return this.connection.sendNotification(method, params);
  }

  /** Params of every notification of this method so far, in the order of the wire. */
  heard(method) {
    return this.received.filter((message) => message.method === method && message.id === undefined).map((m) => m.params);
  }

  /** Every answer to this request id so far. */
  answers(id) {
    return this.received.filter((message) => message.method === undefined && message.id === id);
  }

  /** Id of the newest request of this method that we sent. */
  idOf(method) {
    return this.sent.findLast((message) => message.method === method && message.id !== undefined).id;
  }

  /** Resolves with the first truthy value of `look`, which runs again after every message. */
  until(what, look) {
    let watch;
    const found = new Promise((resolve, reject) => {
      watch = () => {
        try {
          const value = look();
          if (value) resolve(value);
        } catch (error) {
          reject(error);
        }
      };
      this.watchers.add(watch);
      watch();
    });
    return within(found, what, this).finally(() => this.watchers.delete(watch));
  }

  /** Ends the process whatever state it is in. */
  kill() {
    this.connection.dispose();
    if (this.child.exitCode === null) this.child.kill('SIGKILL');
  }
}

/** `promise`, or a failure that says what was missing. */
export async function within(promise, what, server) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => {
      const tail = server ? `\nserver's stderr:\n${server.stderr}\nlast messages:\n${lastOf(server)}` : '';
      reject(new Error(`waited ${PATIENCE / 1000} s for ${what}${tail}`));
    }, PATIENCE);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function lastOf(server) {
  return server.received.slice(-5).map((message) => JSON.stringify(message).slice(0, 400)).join('\n');
}
