/**
 * What an ask is about: the change, the command, the tool or the question.
 *
 * Owns its drawing. The text comes safe to show from the server and is drawn as it is; what was cut or never told is
 * said. Decides nothing: the card around it knows what may be answered.
 */
import type { BlockOf, FileChange, InputForm, Subject } from "@breadboard-ls/sdk";
import { useModel } from "../model/context";
import { fileOf } from "../places";
import { Arguments, Lines } from "./arguments";
import { Compare, Counts } from "./changed_files";
import { Diff, FIRST_LINES, linesOf } from "./diff";
import { FIRST_FILES, type Folds, isDrawnByPatch } from "./folds";
import type { HunkChoices } from "./hunk_choice";
import { Icon } from "./icon";
import { TheRest } from "./the_rest";
import { PlainWords } from "./words";
import { t } from "../messages";
import { wordOf } from "../../shared/word_of";

const CHANGE = { modify: t("change"), create: t("create"), delete: t("delete"), rename: t("rename") } as const;
/** What is done to a file, in a word. */
export function changeWords(change: string | null | undefined): string {
  return CHANGE[(change ?? "modify") as keyof typeof CHANGE] ?? change ?? CHANGE.modify;
}
/** Asked for one file, and for several. */
const ASKS: Readonly<Record<"modify" | "create" | "delete" | "rename", readonly [string, string]>> = {
  modify: [t("The agent asks to change a file"), t("The agent asks to change files")],
  create: [t("The agent asks to create a file"), t("The agent asks to create files")],
  delete: [t("The agent asks to delete a file"), t("The agent asks to delete files")],
  rename: [t("The agent asks to rename a file"), t("The agent asks to rename files")],
};

/** What the agent asks for, in a few words. */
export function askedFor(subject: Subject): string {
  switch (subject.kind) {
    case "edit": {
      const [first] = subject.files;
      if (first === undefined) return t("The agent asks to change files");
      const changes = new Set(subject.files.map(({ change }) => change));
      const asks = wordOf(ASKS, changes.size === 1 ? first.change : "modify", ASKS.modify);
      return asks[subject.files.length === 1 ? 0 : 1];
    }
    case "command":
      return t("The agent asks to run a command");
    case "tool":
      return t("The agent asks to use a tool");
    case "question":
      return t("The agent asks you");
    default:
      return t("The agent asks");
  }
}

interface SubjectProps {
  readonly subject: Subject;
  readonly title: string;
  /** The patch that an edit is of: it can be compared in the editor. */
  readonly patch?: BlockOf<"patch"> | undefined;
  readonly folds: Folds;
  /** The changes of an edit, where each can be decided by itself. */
  readonly hunks?: HunkChoices | undefined;
}

export function SubjectView({ subject, title, patch, folds, hunks }: SubjectProps) {
  return (
    <div class="subject">
      {subject.unknown === true && (
        <p class="notice warning">
          <Icon name="warning" />
          <span>{t("The agent did not say exactly what it would do, so this can be allowed once only.")}</span>
        </p>
      )}
      <Action subject={subject} title={title} patch={patch} folds={folds} hunks={hunks} />
      {subject.reason != null && (
        <p class="reason">
          {t("Reason:")}{" "}<PlainWords text={subject.reason} />
        </p>
      )}
    </div>
  );
}

function Action({ subject, title, patch, folds, hunks }: SubjectProps) {
  switch (subject.kind) {
    case "edit":
      return <Files subject={subject} title={title} patch={patch} folds={folds} hunks={hunks} />;
    case "command":
      return (
        <>
          <pre class="asked command" tabindex={0} aria-label={t("Command")}>
            {subject.command}
          </pre>
          {subject.cwd !== "." && (
            <p class="hint">
              {t("in")}{" "}<code>{subject.cwd}</code>
            </p>
          )}
          {subject.env != null && Object.keys(subject.env).length > 0 && (
            <Lines label={t("Environment variables")} values={subject.env} />
          )}
        </>
      );
    case "tool":
      return (
        <>
          <p>
            <code class="tool-name">{subject.name}</code>
          </p>
          <Arguments value={subject.input} />
        </>
      );
    case "question":
      return (
        <>
          <p class="question">{subject.text}</p>
          {subject.input != null && <Asked input={subject.input} text={subject.text} />}
        </>
      );
    default:
      return <p class="asked">{title}</p>;
  }
}

type Edit = Extract<Subject, { kind: "edit" }>;

function Files({ subject, title, patch, folds, hunks }: SubjectProps & { readonly subject: Edit }) {
  const { files } = subject;
  const shown = folds.isOpen("files") ? files : files.slice(0, FIRST_FILES);
  const hidden = files.length - shown.length;
  if (files.length === 0) return <p class="asked">{title}</p>;
  return (
    <>
      <ul class="files changes">
        {shown.map((file, at) => (
          <File key={at} file={file} at={at} patchId={patch?.patchId} folds={folds} hunks={hunks} />
        ))}
      </ul>
      {isDrawnByPatch(subject, patch) && (
        <Diff
          text={patch?.diff ?? ""}
          label={t("The diff")}
          fold={{ open: folds.isOpen("patch"), onOpen: () => folds.open("patch") }}
        />
      )}
      <TheRest of={files.length} hidden={hidden} noun="file" onAll={() => folds.open("files")} />
    </>
  );
}

interface FileProps {
  readonly file: FileChange;
  readonly at: number;
  readonly patchId: string | undefined;
  readonly folds: Folds;
  readonly hunks: HunkChoices | undefined;
}

function File({ file, at, patchId, folds, hunks }: FileProps) {
  const folded = linesOf(file.diff ?? "").length > FIRST_LINES && !folds.isOpen(`file ${at}`);
  const { roots } = useModel().standing.host.value;
  const path = file.root == null ? file.filePath : `${file.root}/${file.filePath}`;
  return (
    <li>
      <span class="change">{changeWords(file.change)}</span>
      <code class="path">{file.oldPath == null ? path : `${file.oldPath} → ${path}`}</code>
      <Counts added={file.added} removed={file.removed} />
      {patchId !== undefined && (
        <Compare
          file={fileOf(file.filePath, file.root, roots)}
          patchId={patchId}
          onShown={() => folds.compared(at)}
        />
      )}
      {file.diff != null && file.diff !== "" && (
        <Diff
          text={file.diff}
          label={t("What would change in {0}", path)}
          path={file.filePath}
          fold={{ open: folds.isOpen(`file ${at}`), onOpen: () => folds.open(`file ${at}`) }}
          below={hunks && ((hunk, folded) => hunks.below(at, hunk, folded))}
        />
      )}
      {hunks?.whole(at, folded)}
      {file.truncated === true && <p class="hint">{t("This is not all of the change.")}</p>}
    </li>
  );
}

/** The words of a question and the address to visit; the fields are the form's. */
function Asked({ input, text }: { input: InputForm; text: string }) {
  const model = useModel();
  const { url, message } = input;
  return (
    <>
      {message.trim() !== "" && message !== text && <p class="question">{message}</p>}
      {url != null && (
        <p class="address">
          <code class="path">{url}</code>{" "}
          {/^https?:/i.test(url) && (
            <button type="button" class="link" onClick={() => void model.editor("editor.openLink", { uri: url })}>
              {t("Open the address")}
            </button>
          )}
        </p>
      )}
    </>
  );
}
