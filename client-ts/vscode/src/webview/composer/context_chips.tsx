/** What goes with the next prompt, each with a button that takes it away. */
import { useEffect, useRef } from "preact/hooks";
import { Icon, IconButton } from "../blocks/icon";
import { bytes } from "../blocks/tool_card";
import { useModel } from "../model/context";

const ICONS: Readonly<Record<string, string>> = {
  active_editor: "file-code",
  diagnostics: "warning",
  diff: "diff",
  folder: "folder",
  git: "git-branch",
  open_editors: "files",
  selection: "list-selection",
  scope: "symbol-function",
  symbol: "symbol-class",
  terminal: "terminal",
};

const WORDS: Readonly<Record<string, string>> = {
  active_editor: "File",
  diagnostics: "Problems",
  diff: "Changes",
  folder: "Folder",
  git: "Branch",
  open_editors: "Open",
  selection: "Selection",
  scope: "Around the cursor",
  symbol: "Definition",
  terminal: "Terminal",
  test: "Test",
  source: "Tested",
  import: "Uses",
  dependent: "Used by",
  file: "File",
};

export function ContextChips() {
  const { nextContext, prompts } = useModel();
  const list = useRef<HTMLUListElement>(null);
  const taken = nextContext.taken.value;
  const chips = nextContext.chips.value.filter(({ id }) => !taken.has(id));
  const { text } = prompts.draft.value;
  // Only these words change what goes.
  const matters = (text.match(/(^|\s)@\S+/g) ?? []).join(" ") + (/^\s*\/\w+/.exec(text)?.[0] ?? "");
  const { tabs, standing } = useModel();
  useEffect(() => nextContext.changed(), [matters, tabs.frontId.value, standing.booted.value]);
  if (chips.length === 0 && taken.size === 0 && nextContext.notes.value.length === 0) return null;
  /** The next button has the focus then, so that the keyboard goes on. */
  const takeAway = (id: string, at: number): void => {
    nextContext.takeAway(id);
    requestAnimationFrame(() => {
      const buttons = list.current?.querySelectorAll("button") ?? [];
      buttons[Math.min(at, buttons.length - 1)]?.focus();
    });
  };
  return (
    <ul class="context-chips" ref={list} aria-label="Goes with the prompt">
      {chips.map(({ id, kind, label, bytes: size }, at) => (
        <li key={id} title={size > 0 ? `${WORDS[kind] ?? kind}, ${bytes(size)}` : (WORDS[kind] ?? kind)}>
          <Icon name={ICONS[kind] ?? "file"} /> <span class="chip-label">{label}</span>{" "}
          {size > 0 && <span class="hint">{bytes(size)}</span>}
          <IconButton
            icon="close"
            label={`Leave out: ${WORDS[kind] ?? kind} ${label}`}
            onClick={() => takeAway(id, at)}
          />
        </li>
      ))}
      {taken.size > 0 && (
        <li class="chips-back">
          <button type="button" class="link" onClick={() => nextContext.bringBack()}>
            {taken.size === 1 ? "Bring back what was left out" : `Bring back the ${taken.size} left out`}
          </button>
        </li>
      )}
      {nextContext.notes.value.map((note) => (
        <li key={note} class="chip-note hint">
          {note}
        </li>
      ))}
    </ul>
  );
}
