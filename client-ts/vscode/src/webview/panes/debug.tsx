/** What a developer of agents wants to see: what had no word, and the raw events as they come. */
import { BlockView } from "../blocks/block_view";
import { Icon } from "../blocks/icon";
import { useModel } from "../model/context";
import type { OpenSession } from "../model/open_session";
import { MOST_RAW } from "../model/raw_events";
import { t } from "../messages";

export function DebugPane({ session }: { session: OpenSession }) {
  const model = useModel();
  const blocks = session.blocks("debug");
  const raw = model.raw.all.value;
  return (
    <div class="pane">
      <section aria-label={t("Without a word of ours")}>
        <h2>{t("Other events")}</h2>
        {session.hasMore("debug") && (
          <button type="button" class="link" onClick={() => void model.reading.loadOlder("debug")}>
            {t("Show older")}
          </button>
        )}
        {blocks.length === 0 && <p class="empty">{t("None.")}</p>}
        {blocks.map((block) => (
          <BlockView key={block.id} block={block} />
        ))}
      </section>
      <section aria-label={t("Raw events")}>
        <h2>{t("Raw events")}</h2>
        {(raw[0]?.seq ?? 1) > 1 && (
          <button type="button" class="link" disabled={raw.length >= MOST_RAW} onClick={() => void older()}>
            {t("Show older")}
          </button>
        )}
        {raw.map((event) => (
          <details key={event.seq} class="unknown" data-seq={event.seq}>
            <summary>
              <span class="seq">{event.seq}</span> <code>{event.type}</code>{" "}
              <span class="hint">
                {event.class}
                {event.repaired === true && t(" · repaired")}
              </span>
            </summary>
            <pre tabindex={0}>{cut(JSON.stringify(event.payload, null, 2))}</pre>
            <button type="button" class="link" onClick={() => void openRaw(event.seq)}>
              <Icon name="go-to-file" />{" "}{t("Open it whole")}
            </button>
          </details>
        ))}
      </section>
    </div>
  );

  function older(): Promise<void> {
    return model.sentences.attempt(() => model.raw.read(true));
  }

  function openRaw(seq: number): Promise<void> {
    return model.sentences.attempt(async () => {
      const event = await model.reading.eventBody(seq);
      await model.editor("editor.openText", {
        title: t("Event {0}", seq),
        text: JSON.stringify(event, null, 2),
        language: "json",
      });
    });
  }
}

/** Characters of a payload that are drawn. */
const PREVIEW = 4_096;

function cut(text: string): string {
  return text.length <= PREVIEW ? text : t("{0}\n… ({1} more characters)", text.slice(0, PREVIEW), text.length - PREVIEW);
}
