/**
 * A moment to come, in the user's own way to write times.
 *
 * Owns that the day is said where it is another one. A date, and not "tomorrow": what was drawn before midnight stays
 * true after it.
 */

import { LOCALE } from "./messages";

/** Where the user is; the browser's own by default. */
export interface Place {
  readonly locale?: string;
  readonly timeZone?: string;
}

/** The time of `at`, and its day if that is not the day of `now`; both in milliseconds since the Unix epoch. */
export function momentWords(at: number, now: number, { locale, timeZone }: Place = {}): string {
  const format = (options: Intl.DateTimeFormatOptions, of: number): string =>
    new Intl.DateTimeFormat(locale ?? LOCALE, { ...options, ...(timeZone === undefined ? {} : { timeZone }) }).format(of);
  const day = (of: number): string => format({ year: "numeric", month: "numeric", day: "numeric" }, of);
  const time: Intl.DateTimeFormatOptions = { hour: "numeric", minute: "2-digit" };
  if (day(at) === day(now)) return format(time, at);
  return format({ weekday: "long", month: "long", day: "numeric", ...time }, at);
}
