// The peer of the whole way: the engine's stream by fetch, eventsource-parser and JSON.parse, events as a client gets them,
// batched as breadboard-ls does, out through vscode-jsonrpc. With a second argument each batch is journalled first.

const { createParser } = require("eventsource-parser");
const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = require("vscode-jsonrpc/node");

const [url, file] = process.argv.slice(2);
const MOST_EVENTS = 64;
const MOST_BYTES = 256 * 1024;
const LATENCY_MS = 4;
const SESSION = "5f0c1b9e-6a63-4d0e-9f5b-3b1f3f0e7a11";

const CLASSES = {
  turn_start: ["transcript.turn_start", ["chat"]],
  "assistant.message.delta": ["transcript.assistant_stream", ["chat"]],
  "assistant.reasoning.delta": ["transcript.reasoning_stream", ["chat"]],
  tool_call: ["tool.call", ["chat"]],
  tool_result: ["tool.result", ["chat"]],
  limits_update: ["usage.update", ["run"]],
  ctree_node: ["ctree.node", ["tasks", "debug"]],
};

/** A journal on the most used SQLite binding, set up as ours is. */
function openJournal(path) {
  const Database = require("better-sqlite3");
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = NORMAL");
  database.exec(
    "CREATE TABLE batch (session_id TEXT NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL, " +
      "events TEXT NOT NULL, PRIMARY KEY (session_id, from_seq)) WITHOUT ROWID",
  );
  const insert = database.prepare("INSERT INTO batch VALUES (?, ?, ?, ?)");
  return (from, to, events) => insert.run(SESSION, from, to, JSON.stringify(events));
}

const journal = file ? openJournal(file) : undefined;
const connection = createMessageConnection(
  new StreamMessageReader(process.stdin),
  new StreamMessageWriter(process.stdout),
);
connection.onClose(() => process.exit(0));
connection.listen();

let seq = 0;
let waiting = [];
let bytes = 0;
let timer;
let messages = 0;
let last;

function flush() {
  clearTimeout(timer);
  timer = undefined;
  if (waiting.length === 0) return;
  const events = waiting;
  waiting = [];
  bytes = 0;
  const fromSeq = seq - events.length + 1;
  journal?.(fromSeq, seq, events);
  messages += 1;
  last = connection.sendNotification("bb/events", {
    sessionId: SESSION,
    epoch: "0123456789abcdef0123456789abcdef",
    fromSeq,
    toSeq: seq,
    events,
  });
}

const parser = createParser({
  onEvent(message) {
    const event = JSON.parse(message.data);
    const [kind, pane] = CLASSES[event.type] ?? ["unknown_event", ["debug"]];
    seq += 1;
    waiting.push({
      id: message.id,
      type: event.type,
      turn: event.turn,
      ts: event.timestamp_ms,
      payload: event.payload,
      seq,
      class: kind,
      pane,
      origin: "engine",
    });
    bytes += message.data.length;
    if (waiting.length >= MOST_EVENTS || bytes >= MOST_BYTES) flush();
  },
});

(async () => {
  const response = await fetch(url, { headers: { accept: "text/event-stream" } });
  const decoder = new TextDecoder();
  let awaited = 0;
  for await (const chunk of response.body) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (waiting.length > 0 && timer === undefined) timer = setTimeout(flush, LATENCY_MS);
    // Waiting now and then bounds the queue of writes; waiting each time would only make it slower.
    if (messages - awaited >= 64) {
      awaited = messages;
      await last;
    }
  }
})();
