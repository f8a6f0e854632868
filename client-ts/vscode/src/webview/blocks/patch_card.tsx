/** A proposed patch: its files, why, its diff, and the way to the editor's own diff view. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useModel } from "../model/context";
import { Diff } from "./diff";
import { Icon } from "./icon";

/** `inAsk`: its diff stands in the ask that waits for it, so that it is not drawn here as well. */
export function PatchCard({ block, inAsk = false }: { block: BlockOf<"patch">; inAsk?: boolean }) {
  const model = useModel();
  const sessionId = model.tabs.activeId.value;
  return (
    <section class="card patch" aria-label="Proposed change">
      <header>
        <Icon name="diff" />
        <span>Change of {block.files.length === 1 ? "one file" : `${block.files.length} files`}</span>
      </header>
      {block.rationale != null && <p>{block.rationale}</p>}
      <ul class="files">
        {block.files.map((file) => (
          <li key={file.filePath}>
            <button
              type="button"
              class="link path"
              title={`Open ${file.filePath}`}
              onClick={() => void model.editor("editor.openFile", { path: file.filePath })}
            >
              {file.filePath}
            </button>
            <span class="count added" aria-label={`${file.added} lines added`}>
              +{file.added}
            </span>
            <span class="count removed" aria-label={`${file.removed} lines removed`}>
              −{file.removed}
            </span>
            <button
              type="button"
              class="link"
              onClick={() =>
                void model.editor("editor.showDiff", {
                  sessionId,
                  filePath: file.filePath,
                  beforeRef: "disk",
                  afterRef: `patch:${block.patchId}`,
                })
              }
            >
              Compare
            </button>
          </li>
        ))}
      </ul>
      {block.diff != null && !inAsk && (
        <details>
          <summary>Diff</summary>
          <Diff text={block.diff} label="The diff" />
        </details>
      )}
    </section>
  );
}
