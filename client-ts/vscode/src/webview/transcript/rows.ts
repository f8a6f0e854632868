/**
 * The rows of the transcript: which blocks stand together.
 *
 * Owns that one edit is one card, whether it is a call, a patch, an ask or all three: the ask has it where somebody is
 * asked, else the patch. Owns which ask kept which call from running, and which prompt can be sent again from where.
 * Pure; one pass over the blocks.
 */
import type { Block, BlockOf, Subject } from "@breadboard-ls/sdk";
import type { Refusal } from "../blocks/tool_card";
import { isEdit } from "../blocks/tool_words";

/** One row. */
export interface Row {
  readonly block: Block;
  /** The patch that an ask is about. */
  readonly patch?: BlockOf<"patch"> | undefined;
  /** The call that an ask or a patch comes from. */
  readonly call?: BlockOf<"tool"> | undefined;
  /** How the call was kept from running. */
  readonly refused?: Refusal | undefined;
  /** What was asked in the turn that ended badly here. */
  readonly prompt?: BlockOf<"user"> | undefined;
}

/** Whether an end has something to say that the chat does not: why, or that somebody stopped the turn. */
export function saysWhy({ outcome, text }: BlockOf<"turn-end">): boolean {
  return outcome === "stopped" || (outcome !== "done" && text != null);
}

export function rowsOf(blocks: readonly Block[]): readonly Row[] {
  const calls = new Map<string, BlockOf<"tool">>();
  const patches = new Map<string, BlockOf<"patch">>();
  const callOf = new Map<Block, BlockOf<"tool">>();
  const patchOf = new Map<Block, BlockOf<"patch">>();
  const refused = new Map<Block, Refusal>();
  /** By prompt, where its turn ended badly. */
  const ends = new Map<BlockOf<"user">, Block>();
  let prompt: BlockOf<"user"> | undefined;
  const hidden = new Set<Block>();
  /** The call right before, patches of it aside. */
  let last: BlockOf<"tool"> | undefined;
  for (const block of blocks) {
    const turn = String(block.turn ?? "");
    const before = last !== undefined && last.turn === block.turn ? last : undefined;
    switch (block.kind) {
      case "user":
        prompt = block;
        last = undefined;
        break;
      case "tool":
        if (prompt !== undefined) ends.delete(prompt);
        if (block.toolCallId != null) calls.set(named(turn, block.toolCallId), block);
        last = block;
        break;
      case "patch":
        patches.set(named(turn, block.patchId), block);
        if (before !== undefined && isEdit(before.name)) callOf.set(block, before);
        break;
      case "permission": {
        const { patchId, toolCallId, subject } = block.permission;
        const patch = patchId == null || subject.kind !== "edit" ? undefined : patches.get(named(turn, patchId));
        const call =
          toolCallId == null
            ? patch === undefined
              ? before !== undefined && fits(before, subject)
                ? before
                : undefined
              : callOf.get(patch)
            : calls.get(named(turn, toolCallId));
        if (patch !== undefined) {
          patchOf.set(block, patch);
          hidden.add(patch);
        }
        if (call !== undefined) {
          // A call may be asked about again: the last answer counts.
          refused.delete(call);
          if (block.status === "pending" || block.status === "saving") refused.set(call, "pending");
          else if (block.status === "denied") refused.set(call, "denied");
          else if (block.status === "expired") refused.set(call, "expired");
          callOf.set(block, call);
          if (subject.kind === "edit" && isEdit(call.name)) hidden.add(call);
        }
        last = undefined;
        break;
      }
      case "notice":
        if (block.level === "error" && prompt !== undefined) ends.set(prompt, block);
        break;
      case "turn-end":
        if (prompt !== undefined && saysWhy(block)) ends.set(prompt, block);
        break;
      case "assistant":
        // It went on.
        if (prompt !== undefined) ends.delete(prompt);
        last = undefined;
        break;
      case "reasoning":
        if (!block.streaming && block.text.trim() === "") hidden.add(block);
        last = undefined;
        break;
      default:
        last = undefined;
    }
  }
  for (const [block, call] of callOf) if (block.kind === "patch") hidden.add(call);
  return blocks
    .filter((block) => !hidden.has(block))
    .map((block) => {
      const call = callOf.get(block);
      return {
        block,
        patch: patchOf.get(block),
        call,
        refused: refused.get(call ?? block),
        // Only the last one: what was asked after it has gone on from there.
        prompt: prompt !== undefined && ends.get(prompt) === block ? prompt : undefined,
      };
    });
}

/** Whether a call is what an ask that names none is about: several may run side by side. */
function fits({ name, title, input }: BlockOf<"tool">, subject: Subject): boolean {
  switch (subject.kind) {
    case "edit":
      return isEdit(name);
    case "command":
      return (
        title?.includes(subject.command) === true || Object.values(Object(input) as object).includes(subject.command)
      );
    case "tool":
      return subject.name === name;
    default:
      return false;
  }
}

function named(turn: string, id: string): string {
  return `${turn} ${id}`;
}
