/**
 * Finding in the conversation: a field, how many there are, one after the other.
 *
 * Owns what is searched: the words that rows show, of what was read so far; older rows are read when somebody says so.
 */
import type { Block } from "@breadboard-ls/sdk";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { IconButton } from "../blocks/icon";
import { useModel } from "../model/context";
import { t } from "../messages";

/** The words of a row. */
export function wordsOf(block: Block): string {
  switch (block.kind) {
    case "user":
    case "assistant":
    case "reasoning":
    case "notice":
    case "summary":
      return block.text;
    case "tool":
      return [block.title ?? block.name, block.preview, block.diff].filter((text) => text != null).join("\n");
    case "permission":
      return block.permission.title;
    case "plan":
      return block.steps.map(({ text }) => text).join("\n");
    case "task":
    case "checkpoint":
      return block.title;
    case "link":
      return block.label;
    case "command":
      return block.command;
    case "turn-end":
      return block.text ?? "";
    default:
      return "";
  }
}

/** Which of the rows have it. */
export function found(blocks: readonly Block[], query: string): readonly number[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return [];
  return blocks.flatMap((block, at) => (wordsOf(block).toLowerCase().includes(wanted) ? [at] : []));
}

interface FindProps {
  readonly blocks: readonly Block[];
  readonly hasMore: boolean;
  /** Shows a row; `undefined`: none any more. */
  readonly onRow: (index: number | undefined) => void;
}

export function Find({ blocks, hasMore, onRow }: FindProps) {
  const model = useModel();
  const field = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState(model.findingText.value);
  const [at, setAt] = useState(0);
  const places = useMemo(() => found(blocks, query), [blocks, query]);
  const asked = model.finding.value;
  useEffect(() => {
    if (model.findingText.value !== "") {
      setQuery(model.findingText.value);
      setAt(0);
      model.findingText.value = "";
    }
    field.current?.focus();
    field.current?.select();
  }, [asked]);
  // The newest first: that is where one stands.
  const current = places.length === 0 ? undefined : places[(places.length - 1 - at + places.length * 1_000) % places.length];
  useEffect(() => onRow(current), [current]);
  const close = (): void => {
    onRow(undefined);
    model.finding.value = 0;
    model.prompts.focus.value += 1;
  };
  const count =
    query.trim() === "" ? "" : current === undefined ? t("Nothing found") : t("{0} of {1}", places.indexOf(current) + 1, places.length);
  return (
    <div
      class="find"
      role="search"
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.stopPropagation();
          close();
        }
      }}
    >
      <input
        ref={field}
        type="text"
        placeholder={t("Find in the conversation")}
        aria-label={t("Find in the conversation")}
        value={query}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.isComposing) setAt(at + (event.shiftKey ? -1 : 1));
        }}
      />
      <span class="hint" role="status">
        {count}
      </span>
      <IconButton icon="arrow-up" label={t("Earlier")} disabled={current === undefined} onClick={() => setAt(at + 1)} />
      <IconButton icon="arrow-down" label={t("Later")} disabled={current === undefined} onClick={() => setAt(at - 1)} />
      <IconButton icon="close" label={t("Close")} onClick={close} />
      {hasMore && (
        <button type="button" class="link" onClick={() => void model.sentences.attempt(() => model.reading.loadAll())}>
          {t("Search what is older too")}
        </button>
      )}
    </div>
  );
}
