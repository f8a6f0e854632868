/** A unified diff, coloured by line, and by language where its file is known. Owns its drawing; the text is the server's. */
import type { ComponentChild } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Colours, coloursOf } from "./code_colours";
import { TheRest } from "./the_rest";
import { t } from "../messages";

/** Lines that are drawn at first: more than a person reads in a card. */
export const FIRST_LINES = 200;

/** Lines that are coloured by language: who reads more than these searches. */
const COLOURED = 2_000;

/** The mark of a carriage return, as the server shows one. */
const RETURN = "␍";

/** The lines of a diff as they are drawn: line ends of Windows are not, where no line has another. */
function drawnOf(lines: readonly string[], kinds: readonly LineKind[]): readonly string[] {
  const isOfFile = (at: number): boolean => kinds[at] !== "hunk" && kinds[at] !== "head" && !lines[at]?.startsWith("\\");
  if (!lines.every((line, at) => !isOfFile(at) || line.endsWith(RETURN))) return lines;
  return lines.map((line) => (line.endsWith(RETURN) ? line.slice(0, -1) : line));
}

export function linesOf(text: string): readonly string[] {
  return text.replace(/\n$/, "").split("\n");
}

interface DiffProps {
  readonly text: string;
  readonly label: string;
  /** The file that it changes, where it is one. */
  readonly path?: string | undefined;
  /** Whether all of it is drawn, where somebody else keeps count of that. */
  readonly fold?: { readonly open: boolean; readonly onOpen: () => void } | undefined;
  /** What stands below each change: by its place, and whether some of it is folded away. */
  readonly below?: ((hunk: number, folded: boolean) => ComponentChild) | undefined;
}

export function Diff({ text, label, path, fold, below }: DiffProps) {
  const [opened, setOpened] = useState(false);
  const all = fold?.open ?? opened;
  const pressed = useRef(false);
  const pre = useRef<HTMLPreElement>(null);
  const read = linesOf(text);
  const kinds = kindsOf(read);
  const lines = drawnOf(read, kinds);
  const shown = all ? lines : lines.slice(0, FIRST_LINES);
  const hidden = lines.length - shown.length;
  const colours = useMemo(() => (path === undefined ? undefined : coloursOf(path)), [path]);
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
      {(below === undefined ? [whole(shown)] : partsOf(kinds, shown.length)).map(({ from, to, hunk, folded }, at) => (
        <div key={at} class="part">
          <pre ref={at === 0 ? pre : undefined} tabindex={0} aria-label={hunk === undefined ? label : t("{0}, change {1}", label, hunk + 1)}>
            {shown.slice(from, to).map((line, nth) => (
              <span key={nth} class={`line ${kinds[from + nth]}`}>
                {from + nth < COLOURED ? drawn(line, kinds[from + nth], colours) : line}
                {"\n"}
              </span>
            ))}
          </pre>
          {hunk !== undefined && below?.(hunk, folded)}
        </div>
      ))}
      <TheRest of={lines.length} hidden={hidden} noun="line" onAll={open} />
    </div>
  );
}

/** A line with what its language has in it; its mark stands before that. */
function drawn(line: string, kind: LineKind | undefined, colours: Colours | undefined): ComponentChild {
  if (colours === undefined || kind === undefined || kind === "hunk" || kind === "head" || line.startsWith("\\")) return line;
  return [
    line.slice(0, 1),
    ...colours(line.slice(1)).map(({ text, kind: of }, at) =>
      of === undefined ? text : (
        <span key={at} class={`code-${of}`}>
          {text}
        </span>
      ),
    ),
  ];
}

interface DiffPart {
  readonly from: number;
  readonly to: number;
  /** Which change it is; absent of what is none. */
  readonly hunk?: number;
  readonly folded: boolean;
}

const whole = (lines: readonly string[]): DiffPart => ({ from: 0, to: lines.length, folded: false });

/** The changes one by one, as far as they are drawn. What stands before the first belongs to it. */
function partsOf(kinds: readonly LineKind[], drawn: number): readonly DiffPart[] {
  const begins = kinds.flatMap((kind, at) => (kind === "hunk" ? [at] : []));
  return begins.flatMap((begin, hunk) => {
    const end = begins[hunk + 1] ?? kinds.length;
    return begin >= drawn ? [] : [{ from: hunk === 0 ? 0 : begin, to: Math.min(end, drawn), hunk, folded: end > drawn }];
  });
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
