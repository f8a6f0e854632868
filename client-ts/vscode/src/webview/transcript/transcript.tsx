/** The transcript: as much of it on the page as is seen, older pages from the server as they are reached. */
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { BlockView } from "../blocks/block_view";
import { useModel } from "../model/context";
import type { Brought } from "../model/asks";
import type { OpenSession } from "../model/open_session";
import { Icon } from "../blocks/icon";
import { Welcome } from "../setup/welcome";
import { Find } from "./find";
import { Origin } from "./origin";
import { type Row, rowsOf } from "./rows";
import { type Rows, useRows } from "./window";
import { t } from "../messages";

export function Transcript({ session }: { session: OpenSession }) {
  const model = useModel();
  const chat = session.blocks("chat");
  const shown = useMemo(() => rowsOf(chat), [chat]);
  const hasMore = session.hasMore("chat");
  const loading = useRef(false);
  const keys = useMemo(() => shown.map(({ block }) => block.id), [shown]);
  const older = useCallback(() => {
    if (loading.current || !session.session.view.hasMore("chat")) return;
    loading.current = true;
    void model.reading.loadOlder("chat").finally(() => (loading.current = false));
  }, [model, session]);
  const rows = useRows(keys, older);
  const pending = session.pending();
  useBrought(shown, rows);
  const taken = model.prompts.taken.value;
  const takenBefore = useRef(taken);
  useLayoutEffect(() => {
    if (taken === takenBefore.current) return;
    takenBefore.current = taken;
    rows.toEnd();
  }, [taken, rows]);
  const [foundAt, setFoundAt] = useState<number | undefined>(undefined);
  const finding = model.finding.value > 0;
  const blocks = useMemo(() => (finding ? shown.map(({ block }) => block) : []), [shown, finding]);

  return (
    <div
      class="transcript"
      onKeyDown={(event) => {
        if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f" && !event.altKey && !event.shiftKey) {
          event.preventDefault();
          event.stopPropagation();
          model.find();
        }
      }}
    >
      {finding && (
        <Find
          blocks={blocks}
          hasMore={hasMore}
          onRow={(index) => {
            setFoundAt(index);
            if (index !== undefined) rows.toRow(index);
          }}
        />
      )}
      <Origin session={session} />
      <div
        class="scroller"
        ref={rows.scroller}
        tabindex={0}
        role="region"
        aria-label={t("Conversation")}
      >
        {hasMore && (
          <button type="button" class="link older" onClick={older}>
            {t("Show older")}
          </button>
        )}
        {shown.length === 0 && session.attached.value && <Welcome />}
        <div class="rows" role="feed" aria-label={t("Messages")} aria-busy={model.running.value} style={{ height: `${rows.height}px` }}>
          {rows.items.map((row) => {
            const one = shown[row.index];
            if (one === undefined) return null;
            return (
              <article
                key={row.key}
                ref={rows.measure}
                class={row.index === foundAt ? "row found" : "row"}
                data-index={row.index}
                data-block={one.block.id}
                aria-posinset={row.index + 1}
                aria-setsize={hasMore ? -1 : shown.length}
                style={{ transform: `translateY(${row.start}px)` }}
              >
                <BlockView {...one} />
              </article>
            );
          })}
        </div>
      </div>
      {pending.length > 0 && (
        <div class="waiting" role="status">
          <Icon name="bell-dot" /> {waitingWords(pending.length)}{" "}
          <button type="button" class="link" onClick={() => model.asks.bring(pending[0]?.permission.requestId ?? "")}>
            {pending.length === 1 ? t("Show it") : t("Show the oldest")}
          </button>
        </div>
      )}
      {!rows.atEnd && (
        <button type="button" class="to-end" onClick={rows.toEnd} title={t("Go to the end")} aria-label={t("Go to the end")}>
          <Icon name="arrow-down" />
        </button>
      )}
    </div>
  );
}

/** Puts the focus on the ask that it is to be on, as soon as that is drawn. */
function useBrought(shown: readonly Row[], rows: Rows): void {
  const { asks } = useModel();
  const brought = asks.toFocus();
  const looked = useRef<Brought>(undefined);
  useLayoutEffect(() => {
    if (brought === undefined || brought !== asks.toFocus()) return;
    if (brought !== looked.current) {
      looked.current = brought;
      const at = shown.findIndex(
        ({ block }) => block.kind === "permission" && block.permission.requestId === brought.requestId,
      );
      if (at >= 0) rows.toRow(at);
    }
    const cards = [...(rows.scroller.current?.querySelectorAll<HTMLElement>("[data-request]") ?? [])];
    const card = cards.find(({ dataset }) => dataset["request"] === brought.requestId);
    const button = card?.querySelector<HTMLElement>(".buttons button:not(:disabled)");
    if (button == null) return;
    asks.hasFocus(brought);
    button.focus();
  });
}

function waitingWords(count: number): string {
  return count === 1 ? t("One request waits.") : t("{0} requests wait.", count);
}
