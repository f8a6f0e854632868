// One story through Microsoft's protocol library: initialize, open, ask, stream, cancel, refuse, shut down.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { pathToFileURL } from 'node:url';
import { CancellationTokenSource } from 'vscode-jsonrpc/node';
import { ResponseError } from 'vscode-languageserver-protocol/node';
import { Server, within } from './server.mjs';
import { ClientView, blocksOf } from './view.mjs';

// The emoji is two units of UTF-16, four bytes and one character: an edit behind it tells the encodings apart.
const LINE = '/// Waits 😀 longer each time.';
const DISK = `${LINE}\npub fn wait_time(attempt: u32) -> u64 {\n    100 * u64::from(attempt)\n}\n`;
const BUFFER = DISK.replace('longer each time', 'a random while').replace('wait_time', 'jittered_wait_time');

test('the story of a session', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'bb-peer-node-'));
  const workspace = join(home, 'workspace');
  await mkdir(join(workspace, 'src'), { recursive: true });
  await writeFile(join(workspace, 'src', 'backoff.rs'), DISK);
  await writeFile(join(workspace, 'notes.md'), 'Nothing about waiting here.\n');
  const uri = pathToFileURL(join(workspace, 'src', 'backoff.rs')).href;
  const server = new Server();
  t.after(async () => {
    server.kill();
    await rm(home, { recursive: true, force: true });
  });

  await t.test('initialize announces the contract', async () => {
    const result = await server.request('initialize', {
      processId: process.pid,
      clientInfo: { name: 'peer-node' },
      rootUri: pathToFileURL(workspace).href,
      workspaceFolders: [{ uri: pathToFileURL(workspace).href, name: 'workspace' }],
      capabilities: {
        general: { positionEncodings: ['utf-16'] },
        window: { workDoneProgress: true },
        workspace: { workspaceFolders: true, configuration: true },
      },
      initializationOptions: { stateDir: join(home, 'state') },
    });
    assert.equal(result.serverInfo.name, 'breadboard-ls');
    assert.equal(result.capabilities.positionEncoding ?? 'utf-16', 'utf-16');
    const { v, methods, notifications } = result.capabilities.experimental.breadboard;
    assert.equal(v, 1);
    for (const name of ['bb/init', 'bb/createSession', 'bb/sendMessage', 'bb/selectSession', 'bb/rpc']) {
      assert.ok(methods.includes(name), `${name} is announced`);
    }
    assert.deepEqual(new Set(notifications), new Set(['bb/connection', 'bb/state', 'bb/events', 'bb/view', 'bb/tab']));
    await server.notify('initialized', {});
  });

  await t.test('an open file takes an unsaved change', async () => {
    await server.notify('textDocument/didOpen', {
      textDocument: { uri, languageId: 'rust', version: 1, text: DISK },
    });
    const behindEmoji = LINE.indexOf('longer each time');
    await server.notify('textDocument/didChange', {
      textDocument: { uri, version: 2 },
      contentChanges: [
        {
          range: {
            start: { line: 0, character: behindEmoji },
            end: { line: 0, character: behindEmoji + 'longer each time'.length },
          },
          text: 'a random while',
        },
        { range: { start: { line: 1, character: 7 }, end: { line: 1, character: 7 } }, text: 'jittered_' },
      ],
    });
  });

  let epoch;
  await t.test('bb/init says hello', async () => {
    const hello = await server.request('bb/init', {});
    assert.equal(hello.v, 1);
    assert.equal(hello.server.name, 'breadboard-ls');
    assert.equal(hello.engine.kind, 'embedded');
    assert.equal(hello.workspaceTrusted, false);
    assert.deepEqual(hello.sessions, []);
    epoch = hello.epoch;
    assert.ok(epoch.length > 0);
  });

  let sessionId;
  const streamed = () => server.heard('bb/events').filter((batch) => batch.sessionId === sessionId);
  const events = () => streamed().flatMap((batch) => batch.events);

  await t.test('a prompt is accepted once and streams to its end', async () => {
    ({ sessionId } = await server.request('bb/createSession', {}));
    const prompt = { sessionId, text: 'Where is jittered_wait_time defined?', messageId: randomUUID() };
    const accepted = await server.request('bb/sendMessage', prompt);
    assert.deepEqual(accepted, { sessionId, messageId: prompt.messageId, disposition: 'started' });
    assert.deepEqual(await server.request('bb/sendMessage', prompt), accepted, 'the same prompt again does nothing');
    await server.until('run.finished', () => events().some((event) => event.class === 'run.finished'));
  });

  await t.test('events come in order, without holes, once', async () => {
    let next = 1;
    for (const batch of streamed()) {
      assert.equal(batch.epoch, epoch);
      assert.equal(batch.fromSeq, next, 'a batch begins where the last one ended');
      assert.deepEqual(
        batch.events.map((event) => event.seq),
        Array.from({ length: batch.events.length }, (_, offset) => next + offset),
      );
      next += batch.events.length;
      assert.equal(batch.toSeq, next - 1);
    }
    const prompts = events().filter((event) => event.type === 'local.prompt');
    assert.equal(prompts.length, 1);
    assert.equal(prompts[0].class, 'transcript.user_message');
    const upTo = events().at(-1).seq;
    const journal = await server.request('bb/events/read', { sessionId, fromSeq: 1, limit: upTo });
    assert.deepEqual(journal.events, events().slice(0, journal.events.length));
    assert.equal(journal.events.length, upTo);
  });

  await t.test('applied changes are the view of a fresh client', async () => {
    const held = () => {
      const view = new ClientView();
      for (const params of server.heard('bb/view')) if (params.sessionId === sessionId) view.take(params);
      return view;
    };
    const fresh = await server.request('bb/selectSession', { sessionId });
    assert.equal(fresh.sessionId, sessionId);
    assert.equal(fresh.view.seq, fresh.seq);
    assert.equal(fresh.view.epoch, epoch);
    assert.equal(fresh.resume.verdict, 'complete');
    const same = () => isDeepStrictEqual(held().pageLike(fresh.view), blocksOf(fresh.view));
    await server.until('the view of the snapshot', same).catch(() => {});
    assert.deepEqual(held().pageLike(fresh.view), blocksOf(fresh.view));
    const chat = fresh.view.lanes.chat.blocks;
    assert.equal(chat[0].kind, 'user');
    assert.equal(chat[0].text, 'Where is jittered_wait_time defined?');
    const said = chat.filter((block) => block.kind === 'assistant').map((block) => block.text).join('\n');
    assert.match(said, /src\/backoff\.rs:\d+/, 'the answer cites the place that only the unsaved buffer has');
  });

  await t.test('progress that began also ended', async () => {
    const created = () => server.received.filter((m) => m.method === 'window/workDoneProgress/create');
    const kinds = (token) =>
      server.heard('$/progress').filter((params) => params.token === token).map((params) => params.value.kind);
    await server.until('the end of every progress', () =>
      created().every(({ params }) => kinds(params.token).at(-1) === 'end' || kinds(params.token).length === 0),
    );
    const known = new Set(created().map(({ params }) => params.token));
    for (const { token } of server.heard('$/progress')) assert.ok(known.has(token), `token ${token} was created`);
    for (const token of known) {
      assert.ok(kinds(token).length === 0 || kinds(token)[0] === 'begin', `token ${token} begins with begin`);
    }
  });

  await t.test('a snippet shows the unsaved buffer', async () => {
    const snippet = await server.request('bb/readFileSnippet', { sessionId, path: 'src/backoff.rs' });
    assert.deepEqual(snippet, {
      path: 'src/backoff.rs',
      content: BUFFER,
      totalBytes: Buffer.byteLength(BUFFER),
      truncated: false,
      ranges: [{ startLine: 1, endLine: 4 }],
      source: 'buffer',
    });
  });

  await t.test('a cancelled slow request is answered once, with -32800', async (t) => {
    const held = new Set();
    let asked;
    const reached = new Promise((resolve) => (asked = resolve));
    const deaf = createServer((socket) => {
      held.add(socket);
      socket.on('error', () => {});
      asked();
    });
    await new Promise((resolve) => deaf.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      for (const socket of held) socket.destroy();
      deaf.close();
    });
    const url = `http://127.0.0.1:${deaf.address().port}/`;
    const chosen = server.connection
      .sendRequest('bb/models/set', { provider: 'ollama', name: 'never-answers', url })
      .catch(() => {});
    const source = new CancellationTokenSource();
    const listing = server.connection.sendRequest('bb/models/list', {}, source.token);
    const id = server.idOf('bb/models/list');
    listing.catch(() => {});
    await within(reached, 'the server asking the provider that never answers', server);
    assert.deepEqual(server.answers(id), [], 'nothing was answered before the cancel');
    source.cancel();
    await assert.rejects(within(listing, 'the answer to a cancelled request', server), (error) => {
      assert.ok(error instanceof ResponseError);
      assert.equal(error.code, -32800);
      return true;
    });
    for (const socket of held) socket.destroy();
    deaf.close();
    await within(chosen, 'the answer to bb/models/set', server);
    await server.request('bb/listSessions', {});
    assert.equal(server.answers(id).length, 1, 'exactly one answer');
  });

  await t.test('a cancel right behind its request still yields exactly one answer', async () => {
    const source = new CancellationTokenSource();
    const answer = server.connection.sendRequest('bb/listSessions', {}, source.token);
    const id = server.idOf('bb/listSessions');
    source.cancel();
    const outcome = await within(answer.then(() => 'result', (error) => error.code), 'one answer', server);
    assert.ok(outcome === 'result' || outcome === -32800, `answered with ${outcome}`);
    await server.request('bb/listSessions', {});
    assert.equal(server.answers(id).length, 1);
  });

  await t.test('what cannot be served is refused with its code', async () => {
    const refused = async (method, params) => {
      const error = await server.request(method, params).then(() => assert.fail(`${method} was served`), (e) => e);
      assert.ok(error instanceof ResponseError, String(error));
      assert.ok(error.message.length > 10, 'a sentence');
      return [error.code, error.data?.code];
    };
    assert.equal((await refused('bb/nope', {}))[0], -32601);
    assert.deepEqual(await refused('bb/sendMessage', { sessionId: 7 }), [-32602, 'invalid_params']);
    assert.deepEqual(await refused('bb/selectSession', { sessionId: 'no-such' }), [-32803, 'unknown_session']);
    assert.deepEqual(await refused('bb/readFileSnippet', { sessionId, path: '../state' }), [
      -32803,
      'path_outside_workspace',
    ]);
  });

  await t.test('bb/rpc carries the same answer', async () => {
    const res = await server.request('bb/rpc', { v: 1, kind: 'req', id: 'a', method: 'bb.listSessions', params: {} });
    const { sessions } = await server.request('bb/listSessions', {});
    assert.deepEqual(res, { v: 1, kind: 'res', id: 'a', ok: true, result: { sessions } });
    assert.equal(sessions[0].sessionId, sessionId);
  });

  await t.test('shutdown and exit end the process with 0', async () => {
    assert.equal(await server.request('shutdown'), null);
    await server.notify('exit');
    assert.deepEqual(await within(server.exited, 'the process to end', server), { code: 0, signal: null });
    assert.deepEqual(server.faults, []);
  });
});
