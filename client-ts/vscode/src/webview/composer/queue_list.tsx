/** Prompts that wait: edit, move, remove, go on. */
import type { QueueItem } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { Icon, IconButton } from "../blocks/icon";
import { useModel } from "../model/context";
import type { OpenSession } from "../model/open_session";
import { t } from "../messages";

export function QueueList({ session }: { session: OpenSession }) {
  const model = useModel();
  const { items, paused } = session.queue.value;
  if (items.length === 0) return null;
  return (
    <section class="queue" aria-label={t("Waiting prompts")}>
      <header>
        <Icon name="list-ordered" /> {items.length === 1 ? t("One prompt waits") : t("{0} prompts wait", items.length)}
        {paused && (
          <>
            {" "}
            {t("· paused")}{" "}
            <button type="button" class="link" onClick={() => void model.prompts.queue("resume")}>
              {t("Resume")}
            </button>
          </>
        )}
      </header>
      <ol>
        {items.map((item, at) => (
          <QueueRow
            key={item.messageId}
            item={item}
            before={items[at - 1]}
            afterNext={items[at + 2]}
            last={at === items.length - 1}
          />
        ))}
      </ol>
    </section>
  );
}

function QueueRow({
  item,
  before,
  afterNext,
  last,
}: {
  item: QueueItem;
  before: QueueItem | undefined;
  afterNext: QueueItem | undefined;
  last: boolean;
}) {
  const model = useModel();
  const [text, setText] = useState<string | undefined>(undefined);
  const { messageId } = item;
  const save = (): void => {
    if (text !== undefined && text.trim() !== "")
      void model.prompts.queue("edit", { messageId, text }).then(() => setText(undefined));
  };
  if (text !== undefined) {
    return (
      <li>
        <textarea
          rows={2}
          aria-label={t("Text of the waiting prompt")}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
              event.preventDefault();
              save();
            }
            if (event.key === "Escape") {
              event.stopPropagation();
              setText(undefined);
            }
          }}
        />
        <IconButton icon="check" label={t("Save")} onClick={save} />
        <IconButton icon="close" label={t("Leave it as it is")} onClick={() => setText(undefined)} />
      </li>
    );
  }
  return (
    <li>
      <span class="text" title={item.text}>
        {item.text}
      </span>
      <IconButton icon="edit" label={t("Edit the waiting prompt")} onClick={() => setText(item.text)} />
      <IconButton
        icon="arrow-up"
        label={t("Move it up")}
        disabled={before === undefined}
        onClick={() =>
          void model.prompts.queue("move", { messageId, ...(before === undefined ? {} : { before: before.messageId }) })
        }
      />
      <IconButton
        icon="arrow-down"
        label={t("Move it down")}
        disabled={last}
        onClick={() =>
          void model.prompts.queue("move", { messageId, ...(afterNext === undefined ? {} : { before: afterNext.messageId }) })
        }
      />
      <IconButton icon="trash" label={t("Remove it")} onClick={() => void model.prompts.queue("remove", { messageId })} />
    </li>
  );
}
