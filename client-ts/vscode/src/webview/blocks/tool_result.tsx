/** What a tool gave, as a terminal or a diff shows it: colours kept, places of the workspace as links. */
import { runsOf } from "./ansi";
import { Diff } from "./diff";
import { Places } from "./words";

/** A diff has a hunk, with or without the names of its files before it. */
const DIFF = /^(?:diff .*\n|index .*\n|--- .*\n\+\+\+ .*\n)*@@ -\d/;

export function isDiff(text: string): boolean {
  return DIFF.test(text);
}

export function ToolResult({ text, label }: { text: string; label: string }) {
  if (isDiff(text)) return <Diff text={text} label={label} />;
  return (
    <pre class="output" tabindex={0} aria-label={label}>
      {runsOf(text).map(({ text: words, look }, at) =>
        look === "" ? (
          <Places key={at} text={words} which="all" />
        ) : (
          <span key={at} class={look}>
            <Places text={words} which="all" />
          </span>
        ),
      )}
    </pre>
  );
}
