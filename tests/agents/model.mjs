// A model on loopback that speaks OpenAI's streaming protocol and says what the prompt asks for.
// Owns: the scenarios, and the streams that a test holds open. It never answers by time: what waits, waits at a gate.
//
// `node model.mjs` alone serves until stdin ends; its first line is its base URL.

import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const text = (...pieces) => ({ pieces });
const calls = (...tools) => ({ tools });

/**
 * Replies by the word behind `SCENARIO:` in the last prompt, one for each round of the turn: the first, then the one after
 * the results of its tools, and so on. `{cwd}` is the folder that the prompt names with `in <folder>`.
 */
const SCENARIOS = {
  plain: [text('Hello ', 'from ', 'the ', 'model.')],
  edit: [
    calls(['read', { filePath: '{cwd}/hello.txt' }]),
    calls(['edit', { filePath: '{cwd}/hello.txt', oldString: 'Hello, world', newString: 'Hello, breadboard' }]),
    text('The greeting ', 'was changed.'),
  ],
  two: [
    calls(['read', { filePath: '{cwd}/hello.txt' }], ['read', { filePath: '{cwd}/other.txt' }]),
    text('Both ', 'were read.'),
  ],
  // One word, then nothing until the gate opens; a client that gives up closes the stream.
  slow: [{ pieces: ['tick0 ', 'tick1 '], gate: true, rest: ['tick2'] }],
};

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

  get url() {
    return `http://127.0.0.1:${this.server.address().port}/v1`;
  }

  answer(request, response, body) {
    if (!request.url.endsWith('/chat/completions')) {
      response.writeHead(404).end('{"error":{"message":"no such path"}}');
      return;
    }
    const { messages, tools, stream } = JSON.parse(body);
    const reply = this.replyTo(messages, tools);
    if (!stream) {
      const content = (reply.pieces ?? []).join('');
      const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...head('chat.completion'), choices: [choice], usage: USAGE }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    const send = (delta, finish = null) =>
      response.write(`data: ${JSON.stringify({ ...head(), choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    const end = (finish) => {
      send({}, finish);
      response.write(`data: ${JSON.stringify({ ...head(), choices: [], usage: USAGE })}\n\n`);
      response.end('data: [DONE]\n\n');
    };
    send({ role: 'assistant', content: '' });
    for (const piece of reply.pieces ?? []) send({ content: piece });
    if (reply.gate) {
      const go = () => {
        this.held.delete(go);
        for (const piece of reply.rest) send({ content: piece });
        end('stop');
      };
      this.held.add(go);
      response.on('close', () => this.held.delete(go));
      return;
    }
    (reply.tools ?? []).forEach(([name, args], index) => {
      const id = `call_${this.asked.length}_${index}`;
      send({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] });
    });
    end(reply.tools ? 'tool_calls' : 'stop');
  }

  replyTo(messages, tools) {
    const at = messages.findLastIndex((message) => message.role === 'user' && wordsOf(message).includes('SCENARIO:'));
    // Whoever offers no tools wants a title or a summary.
    if (at < 0 || !tools?.length) return text('A title');
    const words = wordsOf(messages[at]);
    const name = words.match(/SCENARIO:(\w+)/)[1];
    const cwd = words.match(/ in (\S+)/)?.[1] ?? '.';
    const round = messages.slice(at).filter((message) => message.role === 'assistant').length;
    this.asked.push(`${name}#${round}`);
    const reply = SCENARIOS[name]?.[round] ?? text('There is nothing more to say.');
    return JSON.parse(JSON.stringify(reply).replaceAll('{cwd}', cwd));
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

const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

function head(object = 'chat.completion.chunk') {
  return { id: 'chatcmpl-1', object, created: 1_700_000_000, model: 'fake-1' };
}

function wordsOf(message) {
  const { content } = message;
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').join('\n');
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const model = await Model.start();
  console.log(model.url);
  process.stdin.resume().on('end', () => model.close());
}
