/**
 * What goes with the next prompt, each with a button that takes it away.
 *
 * Owns that it takes one line until somebody wants to see all of it, and that what does not fit there is counted.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, IconButton } from "../blocks/icon";
import { bytes } from "../blocks/tool_card";
import { useModel } from "../model/context";
import { t } from "../messages";

const ICONS: Readonly<Record<string, string>> = {
  active_editor: "file-code",
  diagnostics: "warning",
  diff: "diff",
  folder: "folder",
  git: "git-branch",
  open_editors: "files",
  resource: "plug",
  selection: "list-selection",
  scope: "symbol-function",
  symbol: "symbol-class",
  terminal: "terminal",
};

const WORDS: Readonly<Record<string, string>> = {
  active_editor: t("File"),
  diagnostics: t("Problems"),
  diff: t("Changes"),
  folder: t("Folder"),
  git: t("Branch"),
  open_editors: t("Open"),
  resource: t("Resource"),
  selection: t("Selection"),
  scope: t("Around the cursor"),
  symbol: t("Definition"),
  terminal: t("Terminal"),
  test: t("Test"),
  source: t("Tested"),
  import: t("Uses"),
  dependent: t("Used by"),
  file: t("File"),
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
  const notes = nextContext.notes.value;
  const [open, setOpen] = useState(false);
  const [beyond, setBeyond] = useState(0);
  useLayoutEffect(() => {
    const line = list.current;
    if (line === null) return undefined;
    const count = (): void => setBeyond(beyondTheLine(line));
    count();
    if (typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(count);
    observer.observe(line);
    return () => observer.disconnect();
  }, [chips, taken.size, open]);
  if (chips.length === 0 && taken.size === 0 && notes.length === 0) return null;
  /** The next button has the focus then, so that the keyboard goes on. */
  const takeAway = (id: string, at: number): void => {
    nextContext.takeAway(id);
    requestAnimationFrame(() => {
      const buttons = list.current?.querySelectorAll("button") ?? [];
      buttons[Math.min(at, buttons.length - 1)]?.focus();
    });
  };
  const more = moreWords(open ? 0 : beyond, open ? 0 : Math.max(0, notes.length - 1));
  return (
    <div class={`context-line${open ? " open" : ""}`}>
      {(chips.length > 0 || taken.size > 0) && (
        <ul class="context-chips" ref={list} aria-label={t("Goes with the prompt")}>
          {chips.map(({ id, kind, label, bytes: size }, at) => (
            <li key={id} title={[WORDS[kind] ?? kind, label, ...(size > 0 ? [bytes(size)] : [])].join(", ")}>
              <Icon name={ICONS[kind] ?? "file"} /> <span class="chip-label">{label}</span>{" "}
              {size > 0 && <span class="hint size">{bytes(size)}</span>}
              <IconButton
                icon="close"
                label={t("Leave out: {0} {1}", WORDS[kind] ?? kind, label)}
                onClick={() => takeAway(id, at)}
              />
            </li>
          ))}
          {taken.size > 0 && (
            <li class="chips-back">
              <button type="button" class="link" onClick={() => nextContext.bringBack()}>
                {taken.size === 1 ? t("Bring back what was left out") : t("Bring back the {0} left out", taken.size)}
              </button>
            </li>
          )}
        </ul>
      )}
      {(open || more !== undefined) && (
        <button type="button" class="link chips-more" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? t("Show less") : more}
        </button>
      )}
      {notes.length > 0 && (
        <ul class="chip-notes hint" aria-label={t("Left out")}>
          {(open ? notes : notes.slice(0, 1)).map((note) => (
            <li key={note} title={note}>
              {note}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** How many of the line do not fit into it. */
function beyondTheLine(line: HTMLElement): number {
  const room = line.clientWidth;
  return [...line.children].filter((chip) => {
    const { offsetLeft, offsetWidth } = chip as HTMLElement;
    return offsetLeft - line.offsetLeft + offsetWidth > room + 1;
  }).length;
}

function moreWords(chips: number, notes: number): string | undefined {
  const left = notes === 1 ? t("1 note") : t("{0} notes", notes);
  if (chips > 0) return notes > 0 ? t("+{0} more, {1}", chips, left) : t("+{0} more", chips);
  return notes > 0 ? `+${left}` : undefined;
}
