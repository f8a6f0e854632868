/**
 * The whole of an answer whose block the server cut: one event where the engine sent it whole, else its pieces in
 * order.
 *
 * Pure but for the reading that comes in. Shows nothing that does not begin with what the block shows: where the events
 * do not have it, there is no whole.
 */
import type { Event } from "./raw_events";

/** Largest text that is put together, in characters: an editor of a web stack stalls beyond it. */
const MOST_WHOLE = 20 * 1024 * 1024;

/** How events are read. */
export interface EventReader {
  one(seq: number): Promise<Event>;
  /** Some events from `fromSeq` on, in order; none at the end. */
  from(fromSeq: number): Promise<readonly Event[]>;
}

/** What ends a text, once as much as the block shows was read. */
const ENDS: ReadonlySet<string> = new Set([
  "transcript.user_message",
  "transcript.reasoning_stream",
  "tool.call",
  "permission.request",
  "run.finished",
  "run.error_or_gap",
  "turn.start",
]);

/** The whole text, or `undefined` where the events do not have it. */
export async function wholeText(
  block: { readonly seq: number; readonly text: string },
  read: EventReader,
): Promise<string | undefined> {
  const longer = (text: string): boolean => text.length > block.text.length && text.startsWith(block.text);
  const first = await read.one(block.seq);
  if (longer(said(first.payload))) return said(first.payload);
  const message = idOf(first.payload);
  let whole = "";
  for (let next = block.seq; ;) {
    const events = await read.from(next);
    const last = events.at(-1);
    if (last === undefined) break;
    for (const event of events) {
      const text = said(event.payload);
      // The engine's own whole, after the pieces.
      if (longer(text)) return text;
      if (event.class === "transcript.assistant_stream") {
        // A whole that is no longer than its pieces only repeats them.
        const repeats = text.length >= block.text.length && text === whole;
        if (idOf(event.payload) === message && !repeats) whole += text;
        if (whole.length > MOST_WHOLE) return undefined;
      } else if (ENDS.has(event.class) && whole.length >= block.text.length) {
        return longer(whole) ? whole : undefined;
      }
    }
    next = last.seq + 1;
  }
  return longer(whole) ? whole : undefined;
}

/** Fields in which engines say a text, or a piece of one. */
const FIELDS = ["token", "delta", "text", "content", "message"];

function said(payload: unknown): string {
  if (typeof payload === "string") return payload;
  if (Array.isArray(payload)) return payload.map(said).join("");
  if (typeof payload !== "object" || payload === null) return "";
  const fields = payload as Record<string, unknown>;
  for (const name of FIELDS) {
    const text = fields[name] === undefined ? "" : said(fields[name]);
    if (text !== "") return text;
  }
  return "";
}

/** The engine's own id of a message, where it names them. */
function idOf(payload: unknown): string | undefined {
  const { messageId, message_id: other } = (payload ?? {}) as Record<string, unknown>;
  return typeof messageId === "string" ? messageId : typeof other === "string" ? other : undefined;
}
