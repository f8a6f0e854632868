/**
 * What was appended to a block, kept beside the block.
 *
 * Owns which block grew out of which, and by what. Who draws a text that grows can so take the new part alone: reading
 * the end of a long text that was put together piece by piece has the engine copy the whole, with each piece.
 */

import type { Block } from "./generated/types.js";

interface Growth {
  /** All that was appended since the block was put; shared by all that grew out of it, and only ever added to. */
  readonly parts: string[];
  /** How many of them this block has. */
  readonly count: number;
}

const growths = new WeakMap<Block, Growth>();

/** `after` is `before` with `text` at its end. */
export function noteGrowth(before: Block, after: Block, text: string): void {
  let growth = growths.get(before);
  if (!growth || growth.parts.length > growth.count) {
    growth = { parts: growth?.parts.slice(0, growth.count) ?? [], count: growth?.count ?? 0 };
    growths.set(before, growth);
  }
  growth.parts.push(text);
  growths.set(after, { parts: growth.parts, count: growth.count + 1 });
}

/** What was appended to `before` to make it `after`; `undefined` where `after` did not come about like that. */
export function growthSince(before: Block, after: Block): string | undefined {
  if (before === after) return "";
  const [from, to] = [growths.get(before), growths.get(after)];
  if (!from || !to || from.parts !== to.parts || from.count > to.count) return undefined;
  return to.parts.slice(from.count, to.count).join("");
}
