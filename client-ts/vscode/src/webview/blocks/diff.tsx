/** A unified diff, coloured by line. Owns its drawing; the text is the server's. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { TheRest } from "./the_rest";

/** Lines that are drawn at first: more than a person reads in a card. */
export const FIRST_LINES = 200;

export function linesOf(text: string): readonly string[] {
  return text.replace(/\n$/, "").split("\n");
}

interface DiffProps {
  readonly text: string;
  readonly label: string;
  /** Whether all of it is drawn, where somebody else keeps count of that. */
  readonly fold?: { readonly open: boolean; readonly onOpen: () => void } | undefined;
}

export function Diff({ text, label, fold }: DiffProps) {
  const [opened, setOpened] = useState(false);
  const all = fold?.open ?? opened;
  const pressed = useRef(false);
  const pre = useRef<HTMLPreElement>(null);
  const lines = linesOf(text);
  const kinds = kindsOf(lines);
  const shown = all ? lines : lines.slice(0, FIRST_LINES);
  const hidden = lines.length - shown.length;
  // The button that had the focus is gone.
  useLayoutEffect(() => {
    if (all && pressed.current) pre.current?.focus({ preventScroll: true });
  }, [all]);
  const open = (): void => {
    pressed.current = true;
    setOpened(true);
    fold?.onOpen();
  };
  return (
    <div class="diff">
      <pre ref={pre} tabindex={0} aria-label={label}>
        {shown.map((line, at) => (
          <span key={at} class={`line ${kinds[at]}`}>
            {line}
            {"\n"}
          </span>
        ))}
      </pre>
      <TheRest of={lines.length} hidden={hidden} noun={["line", "lines"]} onAll={open} />
    </div>
  );
}

type LineKind = "hunk" | "head" | "added" | "removed" | "context";

/** What each line is. Inside of a hunk a line that begins with `---` or `+++` is a line of the file. */
export function kindsOf(lines: readonly string[]): readonly LineKind[] {
  let before = 0;
  let after = 0;
  return lines.map((line) => {
    if (before > 0 || after > 0) {
      if (line.startsWith("\\")) return "context";
      if (line.startsWith("+")) {
        after -= 1;
        return "added";
      }
      before -= 1;
      if (line.startsWith("-")) return "removed";
      after -= 1;
      return "context";
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk !== null) {
      before = Number(hunk[1] ?? 1);
      after = Number(hunk[2] ?? 1);
    }
    if (line.startsWith("@@")) return "hunk";
    if (/^(?:\+\+\+ |--- |diff |index )/.test(line)) return "head";
    if (line.startsWith("+")) return "added";
    return line.startsWith("-") ? "removed" : "context";
  });
}
