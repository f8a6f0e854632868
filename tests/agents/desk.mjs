// One editor window with an agent behind it: breadboard-ls over LSP, one session, what it heard.
// Owns: the words of a story (prompt, allow, deny, stop). Never decides what is right: the scenarios do.

import { randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { Server } from '../tests/server.mjs';
import { ClientView } from '../tests/view.mjs';

export class Desk {
  /** A server whose engine is this agent, with one session. */
  static async open(home, engine) {
    const desk = new Desk();
    const folder = pathToFileURL(home.workspace).href;
    await desk.server.request('initialize', {
      processId: process.pid,
      clientInfo: { name: 'agents' },
      rootUri: folder,
      workspaceFolders: [{ uri: folder, name: 'workspace' }],
      capabilities: { general: { positionEncodings: ['utf-16'] } },
      initializationOptions: { stateDir: home.state, engine, workspaceTrusted: true },
    });
    await desk.server.notify('initialized', {});
    desk.hello = await desk.server.request('bb/init', {});
    ({ sessionId: desk.sessionId } = await desk.server.request('bb/createSession', {}));
    return desk;
  }

  constructor() {
    this.server = new Server();
  }

  get events() {
    return this.server
      .heard('bb/events')
      .filter((batch) => batch.sessionId === this.sessionId)
      .flatMap((batch) => batch.events);
  }

  /** The blocks of the chat, as a client holds them. */
  get chat() {
    const view = new ClientView();
    for (const params of this.server.heard('bb/view')) if (params.sessionId === this.sessionId) view.take(params);
    return view.lanes.chat;
  }

  blocks(kind) {
    return this.chat.filter((block) => block.kind === kind);
  }

  /** What the agent said, all of it. */
  get said() {
    return this.blocks('assistant').map((block) => block.text).join('');
  }

  prompt(text) {
    return this.server.request('bb/sendMessage', { sessionId: this.sessionId, messageId: randomUUID(), text });
  }

  /** The turns that ended so far, by the number of their prompt. */
  get ends() {
    return this.events.filter((event) => event.class === 'run.finished');
  }

  /** Waits until so many turns have ended, in the events and then in the view, which comes behind them. */
  ended(turns = 1) {
    const turn = () => new Set(this.ends.map((event) => event.turn)).size;
    const seen = () =>
      this.server.heard('bb/view').some(
        (params) => params.sessionId === this.sessionId && params.toSeq >= this.ends.at(-1).seq,
      );
    return this.server.until(`the end of turn ${turns}`, () => turn() >= turns && seen());
  }

  /** Waits for the pending ask. */
  async asked() {
    return this.server.until('an ask', () => this.blocks('permission').find((block) => block.status === 'pending'));
  }

  decide({ permission }, decision) {
    const { requestId, digest } = permission;
    return this.server.request('bb/approvePermission', { sessionId: this.sessionId, requestId, digest, decision });
  }

  /** Waits for what is said of the session when it is open at a new process. */
  verdict() {
    const said = ({ sessionId, resume }) => sessionId === this.sessionId && resume;
    return this.server.until('a verdict', () => this.server.heard('bb/connection').find(said));
  }

  stop() {
    return this.server.request('bb/stop', { sessionId: this.sessionId });
  }

  /** Shuts the server down as an editor does. */
  async close() {
    await this.server.request('shutdown');
    await this.server.notify('exit');
    return this.server.exited;
  }
}
