/**
 * What a terminal would show of a program's output: its words and their colours.
 *
 * Owns the reading of escape sequences: colours and weights become classes of the page, whose colours are those of the
 * editor's terminal; whatever else moves a cursor is left out. A line that is written again stands once. Pure.
 */

/** Some words of one look. */
export interface Run {
  readonly text: string;
  /** Classes, with blanks; empty for plain words. */
  readonly look: string;
}

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

/** Control sequences, those that set a title, and short ones. */
// eslint-disable-next-line no-control-regex
const SEQUENCE = /\u001b(?:\[([0-?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~])/g;

interface Look {
  front?: string | undefined;
  back?: string | undefined;
  bold?: boolean;
  faint?: boolean;
  italic?: boolean;
  underline?: boolean;
}

/** The text in runs; those of one look that follow each other are one. */
export function runsOf(output: string): Run[] {
  const runs: Run[] = [];
  let look: Look = {};
  let done = 0;
  const add = (text: string): void => {
    if (text === "") return;
    const words = classesOf(look);
    const last = runs.at(-1);
    if (last !== undefined && last.look === words) runs[runs.length - 1] = { look: words, text: last.text + text };
    else runs.push({ text, look: words });
  };
  const text = rewritten(output);
  for (const found of text.matchAll(SEQUENCE)) {
    add(text.slice(done, found.index));
    done = found.index + found[0].length;
    if (found[2] === "m") look = changed(look, found[1] ?? "");
  }
  add(text.slice(done));
  return runs;
}

/** The words alone. */
export function plain(output: string): string {
  return rewritten(output).replace(SEQUENCE, "");
}

/** Of a line that was begun again the last writing stays. */
function rewritten(output: string): string {
  if (!output.includes("\r")) return output;
  return output
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => line.replace(/\r+$/, "").split("\r").at(-1))
    .join("\n");
}

function changed(before: Look, parameters: string): Look {
  const look = { ...before };
  const codes = parameters.split(/[;:]/).map((code) => Number(code || "0"));
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) for (const key of Object.keys(look) as (keyof Look)[]) delete look[key];
    else if (code === 1) look.bold = true;
    else if (code === 2) look.faint = true;
    else if (code === 3) look.italic = true;
    else if (code === 4) look.underline = true;
    else if (code === 22) look.bold = look.faint = false;
    else if (code === 23) look.italic = false;
    else if (code === 24) look.underline = false;
    else if (code === 39) look.front = undefined;
    else if (code === 49) look.back = undefined;
    else if (code === 38 || code === 48) {
      const [colour, used] = mixed(codes.slice(at + 1));
      at += used;
      if (code === 38) look.front = colour;
      else look.back = colour;
    } else if (code >= 30 && code <= 37) look.front = NAMES[code - 30];
    else if (code >= 40 && code <= 47) look.back = NAMES[code - 40];
    else if (code >= 90 && code <= 97) look.front = `bright-${NAMES[code - 90] ?? "white"}`;
    else if (code >= 100 && code <= 107) look.back = `bright-${NAMES[code - 100] ?? "white"}`;
  }
  return look;
}

/** One of 256 colours, or one by its parts, as the nearest that the editor's terminal has; and how many codes it took. */
function mixed(codes: readonly number[]): [string | undefined, number] {
  const [kind, first = 0, second = 0, third = 0] = codes;
  if (kind === 2) return [nearest(first, second, third), 4];
  if (kind !== 5) return [undefined, 1];
  if (first < 8) return [NAMES[first], 2];
  if (first < 16) return [`bright-${NAMES[first - 8] ?? "white"}`, 2];
  if (first >= 232) {
    const grey = (first - 232) * 10 + 8;
    return [nearest(grey, grey, grey), 2];
  }
  const cube = first - 16;
  const level = (part: number): number => (part === 0 ? 0 : 55 + part * 40);
  return [nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)), 2];
}

function nearest(red: number, green: number, blue: number): string {
  const most = Math.max(red, green, blue);
  const least = Math.min(red, green, blue);
  if (most - least < 32) return most < 64 ? "black" : most < 144 ? "bright-black" : most < 216 ? "white" : "bright-white";
  const half = (most + least) / 2;
  const name = NAMES[(red > half ? 1 : 0) + (green > half ? 2 : 0) + (blue > half ? 4 : 0)] ?? "white";
  return most > 200 ? `bright-${name}` : name;
}

function classesOf({ front, back, bold, faint, italic, underline }: Look): string {
  return [
    front && `ansi-${front}`,
    back && `ansi-on-${back}`,
    bold && "ansi-bold",
    faint && "ansi-faint",
    italic && "ansi-italic",
    underline && "ansi-underline",
  ]
    .filter((name) => typeof name === "string" && name !== "")
    .join(" ");
}
