/** A tool call: what was called, how it stands, a preview, and the way to the whole. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { useModel } from "../model/context";
import { Icon } from "./icon";

/** A whole result up to this many characters is shown in the card; a larger one opens in an editor. */
export const MOST_INLINE = 200_000;

const STATUS = {
  running: { icon: "loading", word: "running" },
  ok: { icon: "check", word: "done" },
  failed: { icon: "error", word: "failed" },
  cancelled: { icon: "circle-slash", word: "cancelled" },
} as const;

export function ToolCard({ block }: { block: BlockOf<"tool"> }) {
  const model = useModel();
  const [whole, setWhole] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const status = STATUS[block.status];
  const title = block.title ?? block.name;
  const showAll = async (): Promise<void> => {
    setBusy(true);
    try {
      const event = await model.reading.eventBody(block.resultSeq ?? block.seq);
      const text = readable(event.payload);
      if (text.length > MOST_INLINE) await model.editor("editor.openText", { title, text });
      else setWhole(text);
    } catch (error) {
      model.sentences.alert(error);
    } finally {
      setBusy(false);
    }
  };
  const preview = whole ?? block.preview ?? "";
  return (
    <details class={`card tool ${block.status}`} open={block.status === "running" || block.status === "failed"}>
      <summary>
        <Icon name={status.icon} spin={block.status === "running"} />
        <code class="title">{title}</code>
        <span class="status">{status.word}</span>
      </summary>
      {block.input != null && (
        <pre class="input" tabindex={0} aria-label="Arguments">
          {readable(block.input)}
        </pre>
      )}
      {preview !== "" && (
        <pre class="output" tabindex={0} aria-label={block.status === "running" ? "Output so far" : "Result"}>
          {preview}
        </pre>
      )}
      <div class="actions">
        {block.truncated === true && whole === undefined && (
          <button type="button" class="link" disabled={busy} onClick={() => void showAll()}>
            Show all{block.bytes == null ? "" : ` (${bytes(block.bytes)})`}
          </button>
        )}
        {preview !== "" && (
          <button
            type="button"
            class="link"
            onClick={() => void model.editor("editor.openText", { title, text: preview })}
          >
            Open in editor
          </button>
        )}
        {block.artifact != null && (
          <button
            type="button"
            class="link"
            onClick={() =>
              void model.editor("editor.openArtifact", {
                sessionId: model.tabs.activeId.value,
                artifactPath: block.artifact,
              })
            }
          >
            Open the whole output
          </button>
        )}
      </div>
    </details>
  );
}

/** A value as text: text stays as it is, everything else is JSON. */
export function readable(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

/** A size for people. */
export function bytes(count: number): string {
  if (count < 1024) return `${count} bytes`;
  return count < 1024 * 1024 ? `${(count / 1024).toFixed(1)} KiB` : `${(count / 1024 / 1024).toFixed(1)} MiB`;
}
