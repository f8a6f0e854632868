// Frames of the Language Server Protocol, for programs that stand between a client and a server.
//
// Owns the framing. Knows no method.

/** The frame of one message. */
export function frame(message) {
  const body = Buffer.from(JSON.stringify(message));
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
}

/** Calls `take` with each message of a stream, in order, and `ended` at its end. */
export function read(stream, take, ended) {
  let held = Buffer.alloc(0);
  stream.on("data", (piece) => {
    held = Buffer.concat([held, piece]);
    for (;;) {
      const head = held.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/content-length: *(\d+)/i.exec(held.subarray(0, head).toString())[1]);
      if (held.length < head + 4 + length) return;
      const message = JSON.parse(held.subarray(head + 4, head + 4 + length).toString());
      held = held.subarray(head + 4 + length);
      take(message);
    }
  });
  stream.on("end", ended);
}

/**
 * Passes on what each side says, as the two functions give it: a message, several, or none. Ends as the server ends. Gives what says
 * something besides: `tell` to the client, `back` to the server.
 */
export function between(server, { ofClient, ofServer }) {
  const say = (to, messages) => {
    for (const message of [messages ?? []].flat()) to.write(frame(message));
  };
  read(process.stdin, (message) => say(server.stdin, ofClient(message)), () => server.stdin.end());
  read(server.stdout, (message) => say(process.stdout, ofServer(message)), () => undefined);
  server.stdin.on("error", () => undefined);
  server.on("error", (cause) => {
    console.error(String(cause));
    process.exit(1);
  });
  server.on("close", (code) => process.stdout.write("", () => process.exit(code ?? 1)));
  return { tell: (message) => say(process.stdout, message), back: (message) => say(server.stdin, message) };
}
