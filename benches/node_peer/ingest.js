// The peer of ingest: the same bytes in the same chunks through eventsource-parser and JSON.parse. Prints events a second.

const { readFileSync } = require("node:fs");
const { createParser } = require("eventsource-parser");

const [file, rounds] = process.argv.slice(2);
const CHUNK = 16 * 1024;
const bytes = readFileSync(file);

function once() {
  const decoder = new TextDecoder();
  let events = 0;
  let seen = 0;
  const parser = createParser({
    onEvent(message) {
      const event = JSON.parse(message.data);
      events += 1;
      seen += event.seq;
    },
  });
  const begun = process.hrtime.bigint();
  for (let at = 0; at < bytes.length; at += CHUNK) {
    parser.feed(decoder.decode(bytes.subarray(at, at + CHUNK), { stream: true }));
  }
  const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
  if (seen !== (events * (events + 1)) / 2) throw new Error("events are missing");
  return events / seconds;
}

// The first round warms the compiler.
once();
for (let round = 0; round < Number(rounds); round += 1) console.log(once());
