/**
 * An edit that is decided change by change: the buttons below each change, and the one that sends what was chosen.
 *
 * Owns that a change which is folded is unfolded before it can be accepted, and that nothing is sent before each change
 * has its answer. What is chosen is the model's, which has it in common with the editor. Writes nothing: the server does.
 */
import type { BlockOf, Permission, Subject } from "@breadboard-ls/sdk";
import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Patch } from "../model/asks";
import { useModel } from "../model/context";
import { kindsOf, linesOf } from "./diff";
import { Icon } from "./icon";
import { t } from "../messages";

/** How many changes an edit has: of lines, and of files as a whole. */
export function countHunks(subject: Subject, patch: BlockOf<"patch"> | undefined): number {
  if (subject.kind !== "edit" || subject.unknown === true) return 0;
  if (patch?.diff != null && subject.files.every(({ diff }) => diff == null)) return hunksIn(patch.diff);
  return subject.files.reduce((sum, { diff, oldPath }) => {
    const ofLines = hunksIn(diff);
    // A file that gets another path does so apart from its lines; one without lines is a change all the same.
    return sum + Math.max(1, ofLines + (oldPath == null ? 0 : 1));
  }, 0);
}

function hunksIn(diff: string | null | undefined): number {
  return diff == null ? 0 : kindsOf(linesOf(diff)).filter((kind) => kind === "hunk").length;
}

/** The changes of an edit, once they are known by name. */
export interface HunkChoices {
  readonly all: number;
  readonly left: number;
  readonly accepted: number;
  /** What stands below a change: the file and the change by their places, and whether some of it is folded away. */
  below(file: number, hunk: number, folded: boolean): ComponentChild;
  /** What stands below a file for what happens to it as a whole: it goes, gets another path or mode, or is no text. */
  whole(file: number, folded: boolean): ComponentChild;
  /** Sends what was chosen of each. */
  send(): Promise<void>;
  /** Forgets what was chosen. */
  clear(): void;
}

/** The changes of an ask that may be decided one by one; absent where not, and until they were read. */
export function useHunks(permission: Permission, subject: Subject, enabled: boolean): HunkChoices | undefined {
  const model = useModel();
  const [patch, setPatch] = useState<Patch | undefined>(undefined);
  const { patchId } = permission;
  useEffect(() => {
    let wanted = true;
    if (enabled)
      model.asks.patchOf(permission).then(
        (read) => wanted && setPatch(read),
        // The whole of it can be answered all the same.
        () => undefined,
      );
    return () => {
      wanted = false;
    };
  }, [permission.requestId, permission.digest, enabled]);
  if (!enabled || patch === undefined || patchId == null || patch.digest !== permission.digest || !fits(patch, subject))
    return undefined;

  const chosen = model.asks.chosen.value.get(patchId) ?? new Map<string, boolean>();
  const files = patch.files.map(partsOf);
  const ids = patch.files.flatMap(({ hunks }) => hunks.map(({ id }) => id));
  const buttons = ({ id, label }: Hunk, folded: boolean) => {
    const number = t("Change {0} of {1}", ids.indexOf(id) + 1, ids.length);
    return (
      <HunkButtons
        key={id}
        name={label == null ? number : `${number}: ${label}`}
        chosen={chosen.get(id)}
        folded={folded}
        choose={(accept) => model.asks.choose(patchId, id, chosen.get(id) === accept ? undefined : accept)}
        show={() => void model.editor("editor.review", { sessionId: patch.sessionId, patchId, hunkId: id })}
      />
    );
  };
  return {
    all: ids.length,
    left: ids.filter((id) => !chosen.has(id)).length,
    accepted: ids.filter((id) => chosen.get(id) === true).length,
    below: (file, hunk, folded) => {
      const of = files[file]?.lines[hunk];
      return of === undefined ? null : buttons(of, folded);
    },
    whole: (file, folded) => {
      const { lines, whole } = files[file] ?? { lines: [], whole: [] };
      // Where there are changes of lines, those are what is folded away.
      return whole.map((of) => buttons(of, folded && lines.length === 0));
    },
    send: () => model.asks.decideHunks(patch, new Map(ids.map((id) => [id, chosen.get(id) === true]))),
    clear: () => {
      for (const id of ids) if (chosen.has(id)) model.asks.choose(patchId, id, undefined);
    },
  };
}

type Hunk = Patch["files"][number]["hunks"][number];

/** The changes of a file: those of its lines, and what happens to it as a whole. */
function partsOf({ hunks }: Patch["files"][number]): { readonly lines: readonly Hunk[]; readonly whole: readonly Hunk[] } {
  const isOfLines = ({ part }: Hunk): boolean => part == null || part === "lines";
  return { lines: hunks.filter(isOfLines), whole: hunks.filter((hunk) => !isOfLines(hunk)) };
}

/** Whether the card draws the changes that the server decides on, each in its place. */
function fits(patch: Patch, subject: Subject): boolean {
  if (subject.kind !== "edit" || subject.files.length !== patch.files.length) return false;
  return patch.files.every((file, at) => {
    const drawn = subject.files[at];
    const { lines, whole } = partsOf(file);
    if (drawn?.filePath !== file.filePath) return false;
    // The lines of a file that goes are drawn, and go with it.
    return lines.length === hunksIn(drawn.diff) || (lines.length === 0 && whole.length > 0);
  });
}

interface HunkButtonsProps {
  readonly name: string;
  readonly chosen: boolean | undefined;
  readonly folded: boolean;
  readonly choose: (accept: boolean) => void;
  readonly show: () => void;
}

function HunkButtons({ name, chosen, folded, choose, show }: HunkButtonsProps) {
  return (
    <div class={`hunk-buttons${chosen === undefined ? "" : chosen ? " accepted" : " rejected"}`} role="group" aria-label={name}>
      <span class="hint">{name}</span>
      {([true, false] as const).map((accept) => (
        <button
          key={String(accept)}
          type="button"
          class={chosen === accept ? "primary" : "secondary"}
          aria-pressed={chosen === accept}
          aria-disabled={accept && folded}
          title={accept && folded ? t("It can be accepted once all of it was shown.") : undefined}
          onClick={() => (!accept || !folded) && choose(accept)}
        >
          {accept ? t("Accept") : t("Reject")}
        </button>
      ))}
      <button type="button" class="link" title={t("Show in the editor")} onClick={show}>
        <Icon name="go-to-file" />
        <span class="visually-hidden">{t("Show in the editor")}</span>
      </button>
    </div>
  );
}

/** What was chosen so far, and the button that sends it. */
export function SendHunks({ hunks, trusted }: { readonly hunks: HunkChoices; readonly trusted: boolean }) {
  const [sending, setSending] = useState(false);
  const { all, left, accepted } = hunks;
  const blocked = sending || left > 0 || (accepted > 0 && !trusted);
  const send = async (): Promise<void> => {
    if (blocked) return;
    setSending(true);
    await hunks.send();
    setSending(false);
  };
  return (
    <div class="buttons">
      <button type="button" class="primary" aria-disabled={blocked} onClick={() => void send()}>
        {toDo(left, accepted, all)}
      </button>
      <button type="button" class="link" onClick={hunks.clear}>
        {t("Decide on all of it at once")}
      </button>
    </div>
  );
}

/** What the button does. */
function toDo(left: number, accepted: number, all: number): string {
  if (left > 0) return t("{0} of {1} changes to decide", left, all);
  if (accepted === 0) return t("Reject all changes");
  return accepted === all ? t("Accept all {0} changes", all) : t("Accept {0} of {1} changes", accepted, all);
}
