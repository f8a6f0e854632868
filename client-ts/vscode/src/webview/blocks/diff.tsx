/** A unified diff, coloured by line. Owns its drawing; the text is the server's. */
import { useState } from "preact/hooks";

/** Lines that are drawn at first: more than a person reads in a card. */
export const FIRST_LINES = 200;

export function Diff({ text, label }: { text: string; label: string }) {
  const [all, setAll] = useState(false);
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = all ? lines : lines.slice(0, FIRST_LINES);
  return (
    <div class="diff">
      <pre tabindex={0} aria-label={label}>
        {shown.map((line, at) => (
          <span key={at} class={`line ${kindOf(line)}`}>
            {line}
            {"\n"}
          </span>
        ))}
      </pre>
      {shown.length < lines.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          Show all {lines.length} lines
        </button>
      )}
    </div>
  );
}

function kindOf(line: string): string {
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+++") || line.startsWith("---") || line.startsWith("diff ") || line.startsWith("index "))
    return "head";
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return "context";
}
