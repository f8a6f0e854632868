/**
 * "Changes of this turn": which files it changed, whoever wrote them, how they stand, and taking them back.
 *
 * Owns that nothing is taken back before what that does was shown, and by a press of its own. How a file stands is asked of
 * the server when the list is opened, and again after each deed.
 */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useEffect, useRef, useState } from "preact/hooks";
import { useModel } from "../model/context";
import { nameOf, type Reverted, type RevertedFile, type TurnChanges, type TurnFile, type Which } from "../model/turn_changes";
import { fileOf } from "../places";
import { Counts } from "./changed_files";
import { Diff } from "./diff";
import { Icon } from "./icon";
import { changeWords } from "./subject";
import { said, t } from "../messages";
import { wordOf } from "../../shared/word_of";

const STATE = {
  as_left: t("as it was left"),
  moved_on: t("changed since"),
  reverted: t("taken back"),
  partly: t("taken back in part"),
} as const;
const BY = { engine: t("by the agent itself"), server: t("allowed here") } as const;

/** What is asked about: a file, or all of the turn. */
interface Question {
  readonly which: Which;
  readonly would: Reverted;
}

export function TurnChangesRow({ block }: { readonly block: BlockOf<"changes"> }) {
  const model = useModel();
  const { promptSeq: turn, files, ofRevert } = block;
  const [list, setList] = useState<TurnChanges | undefined>(undefined);
  const [open, setOpen] = useState(false);
  const [question, setQuestion] = useState<Question | undefined>(undefined);
  const [undo, setUndo] = useState<number | undefined>(undefined);
  const box = useRef<HTMLElement>(null);
  const { trusted, server } = model.standing.host.value;
  const tells = model.standing.offers("bb/turn/changes");

  const read = async (): Promise<void> => {
    const now = await model.turns.changes(turn);
    if (now !== undefined) setList(now);
  };
  // The server told anew how they stand.
  useEffect(() => {
    if (open) void read();
  }, [block, open]);
  // The button that was pressed is gone.
  useEffect(() => {
    if (question !== undefined) box.current?.querySelector<HTMLElement>(".take-back button")?.focus();
  }, [question]);

  const ask = async (which: Which): Promise<void> => {
    const would = await model.turns.preview(turn, which);
    if (would !== undefined) setQuestion({ which, would });
  };
  const takeBack = async (turn: number, which: Which): Promise<void> => {
    setQuestion(undefined);
    const done = await model.turns.takeBack(turn, which);
    if (done !== undefined) setUndo(done.undo ?? undefined);
    if (open) await read();
  };
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);

  return (
    <section class="card turn-changes" aria-label={t("Changes of this turn")} ref={box}>
      <header>
        <Icon name="diff-multiple" />{" "}
        <span class="status">
          {ofRevert == null ? changedWords(files.length) : takenWords(files.length)}
        </span>
        <Counts added={added} removed={removed} />
      </header>
      <div class="buttons">
        {tells && (
          <>
            <button type="button" class="secondary" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? t("Hide the files") : t("Review")}
            </button>
            <button
              type="button"
              class="link"
              onClick={() => void model.editor("editor.turnDiffs", { sessionId: model.tabs.activeId.value, turn })}
            >
              {t("Open all in the editor")}
            </button>
          </>
        )}
        {model.standing.offers("bb/turn/revert") && question === undefined && undo === undefined && (
          <button type="button" class="link" disabled={!trusted} onClick={() => void ask(undefined)}>
            {ofRevert == null ? t("Undo…") : t("Make it again…")}
          </button>
        )}
        {undo !== undefined && (
          <button type="button" class="link" disabled={!trusted} onClick={() => void takeBack(undo, undefined)}>
            {t("Take the undo back")}
          </button>
        )}
      </div>
      {!tells && server === "running" && <p class="hint">{t("This server does not tell what a turn changed; update it.")}</p>}
      {question !== undefined && (
        <Preview question={question} onYes={() => void takeBack(turn, question.which)} onNo={() => setQuestion(undefined)} />
      )}
      {open && list === undefined && <p class="hint">{t("The files are being looked at.")}</p>}
      {open && list !== undefined && (
        <>
          <ul class="files turn-files">
            {list.files.map((file) => (
              <File key={nameOf(file)} turn={turn} file={file} onUndo={() => void ask(file)} onMarked={() => void read()} />
            ))}
          </ul>
          {list.uncovered.map(({ message, filePath, root }, at) => (
            <p key={at} class="hint">
              {filePath == null ? "" : `${nameOf({ filePath, ...(root == null ? {} : { root }) })}: `}
              {said(message)}
            </p>
          ))}
        </>
      )}
      {!open && (block.uncovered ?? 0) > 0 && <p class="hint">{t("Not all of it can be taken back; the list says what.")}</p>}
    </section>
  );
}

interface FileProps {
  readonly turn: number;
  readonly file: TurnFile;
  readonly onUndo: () => void;
  readonly onMarked: () => void;
}

function File({ turn, file, onUndo, onMarked }: FileProps) {
  const model = useModel();
  const name = nameOf(file);
  const { roots, trusted } = model.standing.host.value;
  const place = fileOf(file.filePath, file.root, roots);
  const root = file.root == null ? {} : { root: file.root };
  const mark = async (wanted: TurnFile["review"]): Promise<void> => {
    await model.turns.mark(turn, file, file.review === wanted ? "open" : wanted);
    onMarked();
  };
  return (
    <li class={`turn-file ${file.state}`}>
      <span class="change">{file.change}</span>
      <button type="button" class="link path" title={t("Open {0}", name)} onClick={() => void model.editor("editor.openFile", { ...place })}>
        {file.oldPath == null ? name : `${file.oldPath} → ${name}`}
      </button>
      <Counts added={file.added} removed={file.removed} />
      <span class="hint">
        {wordOf(BY, file.by)}; {wordOf(STATE, file.state)}
      </span>
      {file.message != null && <p class="hint">{said(file.message)}</p>}
      <div class="hunk-buttons" role="group" aria-label={name}>
        <button
          type="button"
          class="link"
          onClick={() =>
            void model.editor("editor.turnDiff", { sessionId: model.tabs.activeId.value, turn, filePath: file.filePath, ...root })
          }
        >
          {t("Compare")}
        </button>
        <button type="button" class="link" aria-pressed={file.review === "reviewed"} onClick={() => void mark("reviewed")}>
          {file.review === "open" ? t("Mark reviewed") : file.review === "reviewed" ? t("Reviewed") : t("Reviewed and kept")}
        </button>
        <button type="button" class="link" aria-pressed={file.review === "kept"} onClick={() => void mark("kept")}>
          {file.review === "kept" ? t("Kept") : t("Keep")}
        </button>
        {file.canRevert && (
          <button type="button" class="link" disabled={!trusted} onClick={onUndo}>
            {t("Undo…")}
          </button>
        )}
      </div>
    </li>
  );
}

interface PreviewProps {
  readonly question: Question;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

function Preview({ question, onYes, onNo }: PreviewProps) {
  const { would } = question;
  const does = would.files.some(({ outcome }) => outcome === "reverted");
  return (
    <div class="take-back" role="group" aria-label={t("What taking back does")}>
      <p>{does ? t("Taking back does this:") : t("Nothing can be taken back:")}</p>
      <ul class="files">
        {would.files.map((file) => (
          <li key={nameOf(file)}>
            <WouldDo file={file} />
          </li>
        ))}
      </ul>
      <div class="buttons">
        {does && (
          <button type="button" class="primary" onClick={onYes}>
            {t("Undo")}
          </button>
        )}
        <button type="button" class="link" onClick={onNo}>
          {does ? t("Leave it") : t("Close")}
        </button>
      </div>
    </div>
  );
}

function WouldDo({ file }: { readonly file: RevertedFile }) {
  const name = nameOf(file);
  const kept = (file.kept ?? 0) > 0 ? file.kept === 1 ? t(" 1 change kept.") : t(" {0} changes kept.", file.kept) : "";
  if (file.outcome === "unchanged")
    return (
      <span>
        <code class="path">{name}</code> <span class="hint">{t("nothing to take back.{0}", kept)}</span>
      </span>
    );
  if (file.outcome === "conflict")
    return (
      <>
        <code class="path">{name}</code> <span class="fault">{t("is left as it is: {0}", file.message ?? t("it changed since."))}</span>
        {(file.conflicts ?? []).map(({ id, line, yours, theirs }) => (
          <div key={id} class="conflict">
            <p class="hint">{t("Line {0}, as it is now:", line)}</p>
            <pre tabindex={0}>{yours}</pre>
            <p class="hint">{t("What would stand there:")}</p>
            <pre tabindex={0}>{theirs}</pre>
          </div>
        ))}
      </>
    );
  return (
    <>
      <span class="change">{changeWords(file.change)}</span> <code class="path">{name}</code>
      <Counts added={file.added} removed={file.removed} />
      {(file.open === true || kept !== "") && (
        <span class="hint">
          {file.open === true ? t(" In the open editor, where what you have not saved stays.") : ""}
          {kept}
        </span>
      )}
      {file.diff != null && file.diff !== "" && <Diff text={file.diff} label={t("What taking back changes in {0}", name)} />}
    </>
  );
}

function changedWords(files: number): string {
  return files === 1 ? t("This turn changed 1 file") : t("This turn changed {0} files", files);
}

function takenWords(files: number): string {
  return files === 1 ? t("Taking back changed 1 file") : t("Taking back changed {0} files", files);
}
