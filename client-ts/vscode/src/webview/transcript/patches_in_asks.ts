/** Which patches are drawn by the ask that waits for them, so that nobody reads the same diff twice. */
import type { Block } from "@breadboard-ls/sdk";

/** Ids of the patch blocks whose diff stands in an ask of the same turn that waits. */
export function patchesInAsks(blocks: readonly Block[]): ReadonlySet<string> {
  const asked = new Set<string>();
  for (const block of blocks) {
    if (block.kind !== "permission" || block.status !== "pending") continue;
    const { patchId, subject } = block.permission;
    if (patchId == null || subject.kind !== "edit") continue;
    if (subject.files.some(({ diff, truncated }) => (diff ?? "") !== "" || truncated === true))
      asked.add(place(block, patchId));
  }
  const found = new Set<string>();
  for (const block of blocks)
    if (block.kind === "patch" && asked.has(place(block, block.patchId))) found.add(block.id);
  return found;
}

function place({ turn }: Block, patchId: string): string {
  return `${turn ?? ""} ${patchId}`;
}
