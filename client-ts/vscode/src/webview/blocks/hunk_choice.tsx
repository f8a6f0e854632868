/**
 * An edit that is decided change by change.
 *
 * Owns what was chosen for each change until all of it is sent at once, and that a change which is folded is unfolded
 * before it can be made. Writes nothing: the server does, once every change has its answer.
 */
import type { BlockOf, Permission, Subject } from "@breadboard-ls/sdk";
import { useEffect, useState } from "preact/hooks";
import type { Patch, PatchHunk } from "../model/asks";
import { useModel } from "../model/context";
import { Diff, FIRST_LINES, kindsOf, linesOf } from "./diff";

/** Changes that are drawn below the first one that has no answer yet. */
const AHEAD = 20;

/** How many changes an edit has. */
export function countHunks(subject: Subject, patch: BlockOf<"patch"> | undefined): number {
  if (subject.kind !== "edit" || subject.unknown === true) return 0;
  const diffs = subject.files.flatMap(({ diff }) => (diff == null ? [] : [diff]));
  const texts = diffs.length > 0 || patch?.diff == null ? diffs : [patch.diff];
  return texts.flatMap((text) => kindsOf(linesOf(text))).filter((kind) => kind === "hunk").length;
}

interface HunkChoiceProps {
  readonly permission: Permission;
  readonly trusted: boolean;
  readonly onBack: () => void;
}

type Read = { readonly patch?: Patch; readonly failure?: string };

export function HunkChoice({ permission, trusted, onBack }: HunkChoiceProps) {
  const model = useModel();
  const [read, setRead] = useState<Read>({});
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [sending, setSending] = useState(false);
  useEffect(() => {
    let wanted = true;
    model.asks.patchOf(permission).then(
      (patch) => wanted && setRead({ patch }),
      (error: unknown) => wanted && setRead({ failure: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      wanted = false;
    };
  }, [permission.requestId, permission.digest]);

  const back = (
    <button type="button" class="link" onClick={onBack}>
      Decide on all of it at once
    </button>
  );
  if (read.patch === undefined)
    return (
      <div class="hunks">
        <p class={read.failure === undefined ? "hint" : "fault"} role="status">
          {read.failure ?? "The changes are being read."}
        </p>
        <div class="buttons">{back}</div>
      </div>
    );

  const { patch } = read;
  const all = patch.files.flatMap((file) => file.hunks.map((hunk) => ({ file, hunk })));
  const left = all.filter(({ hunk }) => !chosen.has(hunk.id)).length;
  const made = all.filter(({ hunk }) => chosen.get(hunk.id) === true).length;
  const next = all.findIndex(({ hunk }) => !chosen.has(hunk.id));
  const shown = next === -1 ? all : all.slice(0, next + AHEAD);
  const blocked = sending || left > 0 || (made > 0 && !trusted);

  const choose = (hunk: PatchHunk, make: boolean): void => {
    if (!make || !isFolded(hunk, opened)) setChosen(new Map(chosen).set(hunk.id, make));
  };
  const send = async (): Promise<void> => {
    if (blocked) return;
    setSending(true);
    await model.asks.decideHunks(patch, chosen);
    setSending(false);
  };

  return (
    <div class="hunks">
      {shown.map(({ file, hunk }, at) => {
        const path = file.root == null ? file.filePath : `${file.root}/${file.filePath}`;
        const name = `Change ${at + 1} of ${all.length} in ${path}`;
        const folded = isFolded(hunk, opened);
        return (
          <fieldset key={hunk.id} class="hunk-choice" data-hunk={hunk.id}>
            <legend>
              Change {at + 1} of {all.length} in <code class="path">{path}</code>
            </legend>
            {hunk.label != null && <p class="what">{hunk.label}</p>}
            <Diff
              text={textOf(hunk)}
              label={name}
              fold={{ open: !folded, onOpen: () => setOpened(new Set([...opened, hunk.id])) }}
            />
            <div class="buttons">
              {([true, false] as const).map((make) => (
                <button
                  key={String(make)}
                  type="button"
                  class={chosen.get(hunk.id) === make ? "primary" : "secondary"}
                  aria-pressed={chosen.get(hunk.id) === make}
                  aria-disabled={make && folded}
                  title={make && folded ? "It can be made once all of it was shown." : undefined}
                  onClick={() => choose(hunk, make)}
                >
                  {make ? "Make it" : "Leave it out"}
                </button>
              ))}
            </div>
          </fieldset>
        );
      })}
      {shown.length < all.length && (
        <p class="hint">
          {all.length - shown.length} more {all.length - shown.length === 1 ? "change follows" : "changes follow"}.
        </p>
      )}
      <div class="buttons">
        <button type="button" class="primary" aria-disabled={blocked} onClick={() => void send()}>
          {toDo(left, made, all.length)}
        </button>
        {back}
      </div>
    </div>
  );
}

function isFolded(hunk: PatchHunk, opened: ReadonlySet<string>): boolean {
  return !opened.has(hunk.id) && linesOf(textOf(hunk)).length > FIRST_LINES;
}

function textOf({ oldStart, oldLines, newStart, newLines, content }: PatchHunk): string {
  return `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@\n${content}`;
}

/** What the button does. */
function toDo(left: number, made: number, all: number): string {
  if (left > 0) return `${left} of ${all} changes to decide`;
  if (made === 0) return "Leave all of them out";
  return made === all ? `Make all ${all} changes` : `Make ${made} of ${all} changes`;
}
