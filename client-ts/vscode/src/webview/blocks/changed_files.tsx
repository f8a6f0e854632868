/** Files that a change is about: each opens, and is compared in the editor's own diff view. */
import { useModel } from "../model/context";
import { fileOf } from "../places";
import { t } from "../messages";

export interface ChangedFile {
  readonly filePath: string;
  readonly root?: string | null;
  readonly added?: number | null;
  readonly removed?: number | null;
}

interface ChangedFilesProps {
  readonly files: readonly ChangedFile[];
  /** The patch that a file is compared with; without one there is nothing to compare. */
  readonly patchId?: string | undefined;
}

export function ChangedFiles({ files, patchId }: ChangedFilesProps) {
  const model = useModel();
  const { roots } = model.standing.host.value;
  return (
    <ul class="files">
      {files.map(({ filePath, root, added, removed }, at) => {
        const file = fileOf(filePath, root, roots);
        const name = root == null ? filePath : `${root}/${filePath}`;
        return (
          <li key={at}>
            <button
              type="button"
              class="link path"
              title={t("Open {0}", name)}
              onClick={() => void model.editor("editor.openFile", { ...file })}
            >
              {name}
            </button>
            <Counts added={added} removed={removed} />
            {patchId !== undefined && <Compare file={file} patchId={patchId} />}
          </li>
        );
      })}
    </ul>
  );
}

export function Counts({ added, removed }: Pick<ChangedFile, "added" | "removed">) {
  return (
    <>
      {added != null && (
        <span class="count added" aria-label={added === 1 ? t("1 line added") : t("{0} lines added", added)}>
          +{added}
        </span>
      )}
      {removed != null && (
        <span class="count removed" aria-label={removed === 1 ? t("1 line removed") : t("{0} lines removed", removed)}>
          −{removed}
        </span>
      )}
    </>
  );
}

interface CompareProps {
  readonly file: ReturnType<typeof fileOf>;
  readonly patchId: string;
  /** The editor shows it. */
  readonly onShown?: () => void;
}

export function Compare({ file, patchId, onShown }: CompareProps) {
  const model = useModel();
  const compare = async (): Promise<void> => {
    const shown = await model.editor("editor.showDiff", {
      sessionId: model.tabs.activeId.value,
      filePath: file.path,
      ...(file.root === undefined ? {} : { root: file.root }),
      beforeRef: "disk",
      afterRef: `patch:${patchId}`,
    });
    if (shown) onShown?.();
  };
  return (
    <button type="button" class="link" onClick={() => void compare()}>
      {t("Compare")}
    </button>
  );
}
