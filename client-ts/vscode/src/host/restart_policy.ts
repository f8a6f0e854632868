/**
 * When a server that ended is started again.
 *
 * Owns the arithmetic only: no timer, no clock; the time comes in.
 */

/** The first pause; it doubles with each end that follows. */
export const FIRST_PAUSE_MS = 500;
/** The longest pause: after it a person who watches still sees something happen. */
export const LONGEST_PAUSE_MS = 30_000;
/** A server that ran this long was well: what ends then is counted anew. */
export const WELL_AFTER_MS = 60_000;
/**
 * Ends in a row after which only the user starts it again: what fails six times within some thirty seconds will fail
 * again.
 */
export const MOST_ENDS = 6;

/** What is to be done after an end. */
export type Verdict =
  | { readonly kind: "again"; readonly afterMs: number; readonly attempt: number }
  | { readonly kind: "give_up"; readonly ends: number };

export class RestartPolicy {
  private ends = 0;
  private startedAt: number | undefined;

  /** The server answered `initialize` at `now` (milliseconds). */
  started(now: number): void {
    this.startedAt = now;
  }

  /** It ended at `now`, unasked. */
  ended(now: number): Verdict {
    if (this.startedAt !== undefined && now - this.startedAt >= WELL_AFTER_MS) this.ends = 0;
    this.startedAt = undefined;
    this.ends += 1;
    if (this.ends >= MOST_ENDS) return { kind: "give_up", ends: this.ends };
    return {
      kind: "again",
      afterMs: Math.min(FIRST_PAUSE_MS * 2 ** (this.ends - 1), LONGEST_PAUSE_MS),
      attempt: this.ends,
    };
  }

  /** The user asked for a start. */
  forget(): void {
    this.ends = 0;
    this.startedAt = undefined;
  }
}
