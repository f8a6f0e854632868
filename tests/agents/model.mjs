// A model on loopback that speaks the protocols of the agents and does what the prompt asks for.
// Owns: which scenario a request is of, and the streams that a test holds open. It never answers by time: what waits, waits
// at a gate.
//
// `node model.mjs` alone serves until stdin ends; its first line is its base URL.

import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { dialectOf } from './dialects.mjs';
import { replyOf } from './scenarios.mjs';

/** The model. `close` ends every stream. */
export class Model {
  static async start() {
    const model = new Model();
    await new Promise((resolve, reject) => {
      model.server.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    return model;
  }

  constructor() {
    /** Prompts that were answered by a scenario, as `<scenario>#<round>`. */
    this.asked = [];
    /** Streams that wait at the gate. */
    this.held = new Set();
    this.server = createServer((request, response) => {
      let body = '';
      request.on('data', (piece) => (body += piece));
      request.on('end', () => {
        try {
          this.answer(request, response, body);
        } catch (error) {
          response.writeHead(500).end(String(error));
        }
      });
    });
  }

  /** Where it listens; OpenAI's protocols are found at `url`. */
  get address() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  get url() {
    return `${this.address}/v1`;
  }

  answer(request, response, body) {
    const dialect = request.method === 'POST' ? dialectOf(request.url) : undefined;
    if (!dialect) {
      response.writeHead(404).end('{"error":{"message":"no such path"}}');
      return;
    }
    const wanted = JSON.parse(body);
    const reply = this.replyTo(dialect.read(wanted));
    if (!wanted.stream) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(dialect.whole((reply.pieces ?? []).join(''))));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    const stream = dialect.stream((piece) => response.write(piece));
    for (const piece of reply.pieces ?? []) stream.say(piece);
    if (reply.gate) {
      const go = () => {
        this.held.delete(go);
        for (const piece of reply.rest) stream.say(piece);
        stream.end();
        response.end();
      };
      this.held.add(go);
      response.on('close', () => this.held.delete(go));
      return;
    }
    (reply.tools ?? []).forEach(([name, args], index) => stream.call(`call_${this.asked.length}_${index}`, name, args));
    stream.end();
    response.end();
  }

  replyTo({ said, offered }) {
    const at = said.findLastIndex(({ role, text }) => role === 'user' && text.includes('SCENARIO:'));
    // Whoever offers no tools wants a title or a summary.
    if (at < 0 || offered.length === 0) return { pieces: ['A title'] };
    const name = said[at].text.match(/SCENARIO:(\w+)/)[1];
    const cwd = said[at].text.match(/SCENARIO:\w+ in (\S+)/)?.[1] ?? '.';
    const replies = said.slice(at).filter(({ role }, index, all) => role === 'assistant' && all[index - 1]?.role !== 'assistant');
    const round = replies.length;
    this.asked.push(`${name}#${round}`);
    const reply = replyOf(name, round, cwd, offered);
    return reply.tells ? { pieces: [said[at].text.slice(0, said[at].text.indexOf('SCENARIO:')).trim()] } : reply;
  }

  /** Lets every waiting stream go on. */
  open() {
    for (const go of [...this.held]) go();
  }

  close() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const model = await Model.start();
  console.log(model.url);
  process.stdin.resume().on('end', () => model.close());
}
