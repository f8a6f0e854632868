// A model on loopback that speaks OpenAI's streaming protocol and says what the story tells it to. Waits at gates, and
// for a time only where the story is about a pace.
import { createServer } from "node:http";

/** A gate that a reply waits at until the story opens it. */
export function gate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { open, opened };
}

/** A reply that is this text, in pieces. */
export const says = (...steps) => ({ steps });
/** A step of a reply: pieces, so many a second, written as they fall due. */
export const paced = (pieces, perSecond) => ({ pieces, perSecond });
/** A step of a reply: what it thinks. */
export const thinks = (text) => ({ reason: text });
/** A step of a reply: what it counts. */
export const spends = (read, written) => ({ usage: { prompt_tokens: read, completion_tokens: written, total_tokens: read + written } });
/** A step of a reply: the connection breaks. */
export const breaks = { breaks: true };
/** A reply that calls one tool. */
export const calls = (name, input) => ({ steps: [{ name, input }] });

/** Listens; `reply` adds replies, each for one request, in order; `asked` has what came. */
export async function startModel() {
  const replies = [];
  const asked = [];
  const listed = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    if (request.method === "GET") {
      listed.push(request.headers.authorization);
      response.setHeader("content-type", "application/json");
      return response.end(
        JSON.stringify({
          object: "list",
          data: [
            { id: "story", object: "model" },
            { id: "story-large", object: "model" },
          ],
        }),
      );
    }
    asked.push({ path: request.url, authorization: request.headers.authorization, body: JSON.parse(body) });
    const reply = replies.shift();
    if (reply === undefined) {
      response.statusCode = 500;
      return response.end("no reply is left");
    }
    response.setHeader("content-type", "text/event-stream");
    const frame = (delta, finish = null) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    const send = (delta, finish) => response.write(frame(delta, finish));
    let called = false;
    for (const step of reply.steps) {
      if (typeof step === "string") send({ content: step });
      else if ("reason" in step) send({ reasoning_content: step.reason });
      else if ("usage" in step) response.write(`data: ${JSON.stringify({ choices: [], usage: step.usage })}\n\n`);
      else if ("opened" in step) {
        response.write(": a gate\n\n");
        await step.opened;
      } else if ("breaks" in step) return void response.destroy();
      else if ("pieces" in step) await stream(step, (some) => response.write(some.map((content) => frame({ content })).join("")));
      else {
        called = true;
        send({
          tool_calls: [
            {
              index: 0,
              id: `call_${asked.length}`,
              type: "function",
              function: { name: step.name, arguments: JSON.stringify(step.input) },
            },
          ],
        });
      }
    }
    send({}, called ? "tool_calls" : "stop");
    response.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    asked,
    /** The keys with which its models were listed. */
    listed,
    reply: (...more) => replies.push(...more),
    /** How many replies nobody has asked for yet. */
    waiting: () => replies.length,
    /** Takes the replies back that nobody will ask for any more. */
    takeBack: () => void replies.splice(0),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Gives out the pieces of a step at their pace, late ones together; notes on the step how long that took. */
async function stream(step, write) {
  const begun = performance.now();
  let given = 0;
  while (given < step.pieces.length) {
    const due = Math.min(step.pieces.length, Math.floor(((performance.now() - begun) / 1_000) * step.perSecond));
    if (due > given) write(step.pieces.slice(given, due));
    given = Math.max(given, due);
    await new Promise((resolve) => setTimeout(resolve, 4));
  }
  step.tookMs = performance.now() - begun;
}
