/**
 * What of an ask is folded away in its card, and what of it its reader had before him all the same.
 *
 * Owns which parts an ask has that are longer than a card draws at first, and that a part counts as seen once it was
 * unfolded here or compared in the editor. Draws nothing and allows nothing.
 */
import type { BlockOf, Subject } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { FIRST_LINES, linesOf } from "./diff";
import { t } from "../messages";

/** Files that are drawn at first. */
export const FIRST_FILES = 50;

/** The list of the files, the change of one of them, or the diff of them all. */
export type PartName = "files" | "patch" | `file ${number}`;

interface Part {
  readonly name: PartName;
  /** The files that it shows. */
  readonly files: readonly number[];
  readonly hidden: number;
  readonly noun: "file" | "line";
}

type Patch = BlockOf<"patch"> | undefined;

/** Whether the diff of the patch stands for its files, which bring none of their own. */
export function isDrawnByPatch(subject: Subject, patch: Patch): boolean {
  if (subject.kind !== "edit" || patch?.diff == null) return false;
  return subject.files.every(({ diff, truncated }) => (diff ?? "") === "" && truncated !== true);
}

/** The parts of which a card draws only the beginning, until they are unfolded. */
export function foldedParts(subject: Subject, patch: Patch): readonly Part[] {
  if (subject.kind !== "edit") return [];
  const all = subject.files.map((_, at) => at);
  const parts: Part[] = subject.files.map(({ diff }, at) => part(`file ${at}`, [at], linesOf(diff ?? "").length - FIRST_LINES, "line"));
  if (isDrawnByPatch(subject, patch))
    parts.push(part("patch", all, linesOf(patch?.diff ?? "").length - FIRST_LINES, "line"));
  parts.unshift(part("files", all.slice(FIRST_FILES), all.length - FIRST_FILES, "file"));
  return parts.filter(({ hidden }) => hidden > 0);
}

function part(name: PartName, files: readonly number[], hidden: number, noun: "file" | "line"): Part {
  return { name, files, hidden, noun };
}

export interface Folds {
  isOpen(name: PartName): boolean;
  open(name: PartName): void;
  openAll(): void;
  /** The editor shows the change of a file. */
  compared(file: number): void;
  /** How much was not seen yet, in words; absent where all was. */
  readonly unseen: string | undefined;
}

/** The folds of one ask. What was seen of another text counts for nothing. */
export function useFolds(subject: Subject, digest: string, patch: Patch): Folds {
  const parts = foldedParts(subject, patch);
  const text = `${digest} ${parts.map(({ name, hidden }) => `${name}:${hidden}`).join(" ")}`;
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  const opened = (name: PartName): string => `${text} opened ${name}`;
  const comparedOf = (file: number): string => `${text} compared ${file}`;
  // The editor may take its time, and something else be unfolded meanwhile.
  const add = (more: readonly string[]): void => setSeen((before) => new Set([...before, ...more]));
  const left = parts.filter(
    ({ name, files }) => !seen.has(opened(name)) && !files.every((file) => seen.has(comparedOf(file))),
  );
  return {
    isOpen: (name) => seen.has(opened(name)),
    open: (name) => add([opened(name)]),
    openAll: () => add(parts.map(({ name }) => opened(name))),
    compared: (file) => add([comparedOf(file)]),
    unseen: left.length === 0 ? undefined : inWords(left),
  };
}

const COUNTED = {
  file: (count: number) => (count === 1 ? t("1 file") : t("{0} files", count)),
  line: (count: number) => (count === 1 ? t("1 line") : t("{0} lines", count)),
} as const;

function inWords(left: readonly Part[]): string {
  const counted = (["file", "line"] as const).flatMap((noun) => {
    const count = left.reduce((sum, part) => sum + (part.noun === noun ? part.hidden : 0), 0);
    return count === 0 ? [] : [COUNTED[noun](count)];
  });
  return counted.join(t(" and "));
}
