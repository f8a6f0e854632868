// What the peer answers, on whichever library: the least that a client of breadboard-ls waits for.

const EVENT_BYTES = 200;

/** One event of `EVENT_BYTES` as JSON, like those of `benches/end_to_end/egress.rs`. */
function event(seq) {
  const shell = {
    id: "",
    type: "assistant.token",
    turn: 1,
    ts: 1700000000000,
    payload: { token: "" },
    seq,
    class: "transcript.assistant_stream",
    pane: ["chat"],
    origin: "engine",
  };
  shell.payload.token = "x".repeat(EVENT_BYTES - JSON.stringify({ ...shell, seq: 100000 }).length);
  return shell;
}

/** Sends `count` events in batches of `size`, then says that it is done. */
async function send(connection, { count, size }) {
  const events = Array.from({ length: size }, (_, index) => event(index + 1));
  let seq = 0;
  let last;
  for (let message = 0; seq < count; message += 1) {
    for (const each of events) {
      seq += 1;
      each.seq = seq;
    }
    last = connection.sendNotification("bb/events", {
      sessionId: "5f0c1b9e-6a63-4d0e-9f5b-3b1f3f0e7a11",
      epoch: "0123456789abcdef0123456789abcdef",
      fromSeq: seq - size + 1,
      toSeq: seq,
      events,
    });
    // The library serialises at once and queues the write. Waiting now and then bounds the queue; waiting each time
    // would only make it slower.
    if (message % 64 === 63) await last;
  }
  await last;
}

/** Answers everything on a connection that is not listening yet. */
function serve(connection, onInitialize) {
  onInitialize({
    capabilities: { textDocumentSync: 2, experimental: { breadboard: { v: 1, methods: [], notifications: [] } } },
    serverInfo: { name: "node-peer", version: "0" },
  });
  connection.onRequest("bb/init", () => ({
    v: 1,
    server: { name: "node-peer", version: "0" },
    epoch: "0123456789abcdef0123456789abcdef",
    engine: { kind: "embedded", status: "connected", capabilities: {} },
    sessions: [],
    workspaceTrusted: true,
  }));
  connection.onRequest("bb/listSessions", () => ({ sessions: [] }));
  connection.onNotification("bench/send", (params) => {
    void send(connection, params);
  });
}

module.exports = { serve };
