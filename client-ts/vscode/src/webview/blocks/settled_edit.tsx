/** An edit that was asked for and answered: its files, what was shown of it, and what came of it. */
import type { BlockOf, FileChange } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { ChangedFiles } from "./changed_files";
import { Diff } from "./diff";
import { Outcome, type Refusal, standingOf } from "./tool_card";
import { t } from "../messages";

interface SettledEditProps {
  readonly files: readonly FileChange[];
  readonly patch: BlockOf<"patch"> | undefined;
  readonly call: BlockOf<"tool"> | undefined;
  readonly refused: Refusal | undefined;
  /** The file is as it was proposed: there is nothing to compare. */
  readonly applied: boolean;
  /** Some of its changes were left out. */
  readonly inPart: boolean;
}

export function SettledEdit({ files, patch, call, refused, applied, inPart }: SettledEditProps) {
  const [open, setOpen] = useState(false);
  const diffs = files.flatMap(({ filePath, diff }) => (diff == null || diff === "" ? [] : [{ filePath, diff }]));
  const shown = diffs.length > 0 || patch?.diff == null ? diffs : [{ filePath: t("the patch"), diff: patch.diff }];
  return (
    <>
      <ChangedFiles files={files.length > 0 ? files : (patch?.files ?? [])} patchId={applied ? undefined : patch?.patchId} />
      {shown.length > 0 && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{inPart ? t("All that was proposed") : t("Diff")}</summary>
          {open && shown.map(({ filePath, diff }, at) => <Diff key={at} text={diff} label={t("What {0} {1}", inPart ? t("was proposed for") : t("changed in"), filePath)} />)}
        </details>
      )}
      {call !== undefined && standingOf(call, refused).look === "failed" && <Outcome block={call} refused={refused} />}
    </>
  );
}
