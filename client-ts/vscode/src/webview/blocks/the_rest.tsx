/** What is left out of a long list, and the button that shows it. */
export interface TheRestProps {
  /** All there are. */
  of: number;
  /** Those that are not shown. */
  hidden: number;
  /** What they are: one, and many. */
  noun: readonly [string, string];
  onAll: () => void;
}

export function TheRest({ of, hidden, noun: [one, many], onAll }: TheRestProps) {
  if (hidden <= 0) return null;
  return (
    <p class="hint">
      {hidden === 1 ? `1 more ${one}.` : `${hidden} more ${many}.`}{" "}
      <button type="button" class="link" onClick={onAll}>
        Show all {of} {many}
      </button>
    </p>
  );
}
