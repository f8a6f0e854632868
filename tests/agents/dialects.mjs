// The protocols in which agents speak to a model: OpenAI's chat completions and responses, and Anthropic's messages.
// Owns: reading a request, and writing a streamed reply in the same protocol. Never decides what is replied.

/** The dialect of a request by its path, or `undefined`. */
export function dialectOf(path) {
  const [plain] = path.split('?');
  return [CHAT, MESSAGES, RESPONSES].find(({ ends }) => plain.endsWith(ends));
}

const CHAT = {
  ends: '/chat/completions',
  /** What was said so far as `{ role, text }`, oldest first, and the names of the tools on offer. */
  read: ({ messages, tools }) => ({
    said: messages.map(({ role, content }) => ({ role, text: wordsOf(content) })),
    offered: (tools ?? []).map((tool) => tool.function.name),
  }),
  whole: (words) => ({
    ...chunk('chat.completion'),
    choices: [{ index: 0, message: { role: 'assistant', content: words }, finish_reason: 'stop' }],
    usage: CHAT_USAGE,
  }),
  /** A reply in pieces: `say` and `call` as often as one likes, `end` once. */
  stream(write) {
    const data = (value) => write(`data: ${JSON.stringify(value)}\n\n`);
    const send = (delta, finish = null) =>
      data({ ...chunk(), choices: [{ index: 0, delta, finish_reason: finish }] });
    let index = 0;
    send({ role: 'assistant', content: '' });
    return {
      say: (piece) => send({ content: piece }),
      call: (id, name, args) =>
        send({ tool_calls: [{ index: index++, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] }),
      end: () => {
        send({}, index > 0 ? 'tool_calls' : 'stop');
        data({ ...chunk(), choices: [], usage: CHAT_USAGE });
        write('data: [DONE]\n\n');
      },
    };
  },
};

const MESSAGES = {
  ends: '/v1/messages',
  read: ({ messages, tools }) => ({
    said: messages.map(({ role, content }) => ({ role, text: wordsOf(content) })),
    offered: (tools ?? []).map((tool) => tool.name),
  }),
  whole: (words) => ({ ...message(), content: [{ type: 'text', text: words }], stop_reason: 'end_turn' }),
  stream(write) {
    const send = (type, value) => write(`event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`);
    let index = -1;
    let open;
    let called = false;
    const close = () => {
      if (open) send('content_block_stop', { index });
      open = undefined;
    };
    const begin = (kind, content_block) => {
      close();
      open = kind;
      send('content_block_start', { index: ++index, content_block });
    };
    send('message_start', { message: message() });
    return {
      say: (piece) => {
        if (open !== 'text') begin('text', { type: 'text', text: '' });
        send('content_block_delta', { index, delta: { type: 'text_delta', text: piece } });
      },
      call: (id, name, args) => {
        called = true;
        begin('tool', { type: 'tool_use', id, name, input: {} });
        send('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: JSON.stringify(args) } });
      },
      end: () => {
        close();
        send('message_delta', { delta: { stop_reason: called ? 'tool_use' : 'end_turn', stop_sequence: null }, usage: MESSAGES_USAGE });
        send('message_stop', {});
      },
    };
  },
};

const RESPONSES = {
  ends: '/responses',
  read: ({ input, tools }) => ({
    said: input.map(({ type, role, content }) => ({
      role: role ?? (type.endsWith('_output') ? 'tool' : 'assistant'),
      text: wordsOf(content),
    })),
    offered: (tools ?? []).map((tool) => tool.name ?? tool.type),
  }),
  whole: (words) => answer(1, [spoken(1, words)]),
  stream(write) {
    const send = (type, value) => write(`event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`);
    const output = [];
    const number = (replies += 1);
    let words = '';
    const done = (item) => {
      send('response.output_item.done', { output_index: output.length, item });
      output.push(item);
    };
    send('response.created', { response: answer(number, []) });
    return {
      say: (piece) => {
        if (words === '') send('response.output_item.added', { output_index: output.length, item: spoken(number, '') });
        words += piece;
        send('response.output_text.delta', { item_id: `msg_${number}`, output_index: output.length, content_index: 0, delta: piece });
      },
      call: (id, name, args) => done({ type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: JSON.stringify(args) }),
      end: () => {
        if (words !== '') done(spoken(number, words));
        send('response.completed', { response: answer(number, output) });
      },
    };
  },
};

/** Agents take two messages with one id for one message. */
let replies = 0;

const CHAT_USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
const MESSAGES_USAGE = { input_tokens: 100, output_tokens: 20 };

function chunk(object = 'chat.completion.chunk') {
  return { id: 'chatcmpl-1', object, created: 1_700_000_000, model: 'fake-1' };
}

function message() {
  replies += 1;
  return { id: `msg_${replies}`, type: 'message', role: 'assistant', model: 'fake-1', content: [], stop_reason: null, stop_sequence: null, usage: MESSAGES_USAGE };
}

function spoken(number, words) {
  return { type: 'message', id: `msg_${number}`, role: 'assistant', content: [{ type: 'output_text', text: words, annotations: [] }] };
}

function answer(number, output) {
  const usage = { input_tokens: 100, input_tokens_details: null, output_tokens: 20, output_tokens_details: null, total_tokens: 120 };
  return { id: `resp_${number}`, object: 'response', status: 'completed', model: 'fake-1', output, usage };
}

/** The words of a message, whatever parts it has. */
function wordsOf(content) {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').join('\n');
}
