/** A proposed patch: its files, why, its diff, what came of it, and the way to the editor's own diff view. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { ChangedFiles } from "./changed_files";
import { Diff } from "./diff";
import { Icon } from "./icon";
import { Outcome, type Refusal, standingOf } from "./tool_card";

interface PatchCardProps {
  readonly block: BlockOf<"patch">;
  /** The call that proposed it: one edit is one card. */
  readonly call?: BlockOf<"tool"> | undefined;
  readonly refused?: Refusal | undefined;
}

export function PatchCard({ block, call, refused }: PatchCardProps) {
  const standing = call === undefined ? undefined : standingOf(call, refused);
  return (
    <section class={`card patch ${standing?.look ?? ""}`} aria-label="Proposed change">
      <header>
        <Icon name={standing === undefined || standing.look === "ok" ? "diff" : standing.icon} />
        <span class="title">Change of {block.files.length === 1 ? "one file" : `${block.files.length} files`}</span>
        {standing !== undefined && <span class="status">{standing.word}</span>}
      </header>
      {block.rationale != null && <p>{block.rationale}</p>}
      <ChangedFiles files={block.files} patchId={block.patchId} />
      {block.diff != null && (
        <details>
          <summary>Diff</summary>
          <Diff text={block.diff} label="The diff" />
        </details>
      )}
      {call !== undefined && standing?.look === "failed" && <Outcome block={call} refused={refused} />}
    </section>
  );
}
