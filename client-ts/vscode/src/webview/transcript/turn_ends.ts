/**
 * Where the transcript says how a turn ended that did not come to its end.
 *
 * Owns which ends are said there: those of the run lane that were no success, a stop among them, of turns that the chat
 * itself says nothing about. Whoever reads the chat alone would take half an answer for a whole one.
 */
import type { Block, BlockOf } from "@breadboard-ls/sdk";

/** Made once for each end, so that it is drawn once. */
const rows = new WeakMap<Block, Block>();

/** The blocks of the chat, and behind the last one of each such turn its end. */
export function withTurnEnds(chat: readonly Block[], run: readonly Block[]): readonly Block[] {
  let shown = chat;
  for (const end of run.filter(isBad)) {
    const last = chat.findLast(({ turn }) => turn != null && turn === end.turn);
    // The turn may be on an older page.
    if (last !== undefined && !isTold(chat, end)) shown = shown.toSpliced(shown.indexOf(last) + 1, 0, rowOf(end));
  }
  return shown;
}

function isBad(block: Block): block is BlockOf<"summary"> {
  return block.kind === "summary" && !block.success;
}

function isTold(chat: readonly Block[], end: BlockOf<"summary">): boolean {
  return chat.some(
    (block) =>
      block.kind === "notice" && block.turn === end.turn && (block.level === "error" || block.text === end.text),
  );
}

/** The same block; its id is unique in its own lane only. */
function rowOf(end: BlockOf<"summary">): Block {
  const row = rows.get(end) ?? { ...end, id: `end-${end.id}` };
  rows.set(end, row);
  return row;
}
