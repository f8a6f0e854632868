/** What went with a prompt beside its words, folded; each can be opened as it was sent. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useModel } from "../model/context";
import { bytes } from "./tool_card";
import { t } from "../messages";

export function WentAlong({ block }: { readonly block: BlockOf<"user"> }) {
  const { nextContext } = useModel();
  const { context, contextNotes } = block;
  const chips = context ?? [];
  const notes = contextNotes ?? [];
  if (chips.length === 0 && notes.length === 0) return null;
  const all = chips.reduce((sum, chip) => sum + chip.bytes, 0);
  return (
    <details class="went-along">
      <summary class="hint">
        {chips.length === 1 ? t("1 thing went along") : t("{0} things went along", chips.length)}
        {all > 0 && ` (${bytes(all)})`}
      </summary>
      <ul>
        {chips.map(({ id, kind, label, bytes: size }, at) => (
          <li key={id}>
            <button type="button" class="link" onClick={() => void nextContext.open(block, at)}>
              {kind.replace("_", " ")}: {label}
            </button>{" "}
            {size > 0 && <span class="hint">{bytes(size)}</span>}
          </li>
        ))}
        {notes.map((note) => (
          <li key={note} class="hint">
            {note}
          </li>
        ))}
      </ul>
    </details>
  );
}
