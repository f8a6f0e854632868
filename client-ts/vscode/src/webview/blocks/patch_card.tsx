/** A proposed patch: its files, why, its diff, what came of it, and the way to the editor's own diff view. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { ChangedFiles } from "./changed_files";
import { Diff } from "./diff";
import { Icon } from "./icon";
import { Outcome, type Refusal, standingOf } from "./tool_card";
import { t } from "../messages";

interface PatchCardProps {
  readonly block: BlockOf<"patch">;
  /** The call that proposed it: one edit is one card. */
  readonly call?: BlockOf<"tool"> | undefined;
  readonly refused?: Refusal | undefined;
}

export function PatchCard({ block, call, refused }: PatchCardProps) {
  const standing = call === undefined ? undefined : standingOf(call, refused);
  return (
    <section class={`card patch ${standing?.look ?? ""}`} aria-label={t("Proposed change")}>
      <header>
        <Icon name={standing === undefined || standing.look === "ok" ? "diff" : standing.icon} />
        <span class="title">{t("Change of {0}", block.files.length === 1 ? t("one file") : t("{0} files", block.files.length))}</span>
        {standing !== undefined && <span class="status">{standing.word}</span>}
      </header>
      {block.rationale != null && <p>{block.rationale}</p>}
      <ChangedFiles files={block.files} patchId={block.patchId} />
      {block.diff != null && (
        <details>
          <summary>{t("Diff")}</summary>
          <Diff text={block.diff} label={t("The diff")} />
        </details>
      )}
      {call !== undefined && standing?.look === "failed" && <Outcome block={call} refused={refused} />}
    </section>
  );
}
