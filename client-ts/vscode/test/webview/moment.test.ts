import { expect, it } from "vitest";
import { momentWords } from "../../src/webview/moment";

const at = (text: string): number => Date.parse(text);
/** Which spaces stand in a time is a matter of the browser's tables. */
const words = (...args: Parameters<typeof momentWords>): string => momentWords(...args).replace(/\s/g, " ");

it("a time of the same day is a time", () => {
  const now = at("2026-03-03T08:17:00Z");
  expect([
    words(at("2026-03-03T16:05:00Z"), now, { locale: "en-US", timeZone: "UTC" }),
    words(at("2026-03-03T16:05:00Z"), now, { locale: "de-DE", timeZone: "UTC" }),
  ]).toEqual(["4:05 PM", "16:05"]);
});

it("a time of another day says the day, also where it is less than a day away", () => {
  const now = at("2026-03-03T20:00:00Z");
  expect([
    words(at("2026-03-04T08:17:00Z"), now, { locale: "en-US", timeZone: "UTC" }),
    words(at("2026-03-03T23:59:00Z"), now, { locale: "en-US", timeZone: "UTC" }),
    words(at("2026-03-04T00:00:00Z"), now, { locale: "en-US", timeZone: "UTC" }),
  ]).toEqual(["Wednesday, March 4 at 8:17 AM", "11:59 PM", "Wednesday, March 4 at 12:00 AM"]);
});

it("the same time of the next day, month or year is another day", () => {
  const now = at("2026-03-03T08:17:00Z");
  for (const later of ["2026-03-04T08:17:00Z", "2026-04-03T08:17:00Z", "2027-03-03T08:17:00Z"])
    expect(words(at(later), now, { locale: "en-US", timeZone: "UTC" })).toContain("day, ");
});

it("which day it is, the user's place decides", () => {
  const now = at("2026-03-03T10:00:00Z");
  const then = at("2026-03-03T13:00:00Z");
  expect([
    words(then, now, { locale: "en-US", timeZone: "America/New_York" }),
    words(then, now, { locale: "en-US", timeZone: "Pacific/Auckland" }),
  ]).toEqual(["8:00 AM", "Wednesday, March 4 at 2:00 AM"]);
});
