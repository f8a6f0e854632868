/** What is left out of a long list, and the button that shows it. */
import { t } from "../messages";

export interface TheRestProps {
  /** All there are. */
  of: number;
  /** Those that are not shown. */
  hidden: number;
  /** What they are. */
  noun: "file" | "line";
  onAll: () => void;
}

const WORDS = {
  file: { more: (count: number) => (count === 1 ? t("1 more file.") : t("{0} more files.", count)), all: (count: number) => t("Show all {0} files", count) },
  line: { more: (count: number) => (count === 1 ? t("1 more line.") : t("{0} more lines.", count)), all: (count: number) => t("Show all {0} lines", count) },
} as const;

export function TheRest({ of, hidden, noun, onAll }: TheRestProps) {
  if (hidden <= 0) return null;
  return (
    <p class="hint">
      {WORDS[noun].more(hidden)}{" "}
      <button type="button" class="link" onClick={onAll}>
        {WORDS[noun].all(of)}
      </button>
    </p>
  );
}
