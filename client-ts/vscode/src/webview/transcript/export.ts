/**
 * A conversation as Markdown, for people who were not there.
 *
 * Owns what of it is written: who said what, what was done and how it ended. Thoughts and counts are left out.
 */
import type { Block, BlockOf } from "@breadboard-ls/sdk";
import { t } from "../messages";
import { wordOf } from "../../shared/word_of";
import { statusWords } from "../status_words";

/** `whole` gives an answer that a block shows cut. */
export async function asMarkdown(
  title: string,
  blocks: readonly Block[],
  whole: (block: BlockOf<"assistant">) => Promise<string | undefined>,
): Promise<string> {
  const parts: string[] = [`# ${title}`];
  for (const block of blocks) {
    const part = block.kind === "assistant" ? await answer(block, whole) : written(block);
    if (part !== undefined && part.trim() !== "") parts.push(part.trim());
  }
  return `${parts.join("\n\n")}\n`;
}

async function answer(
  block: BlockOf<"assistant">,
  whole: (block: BlockOf<"assistant">) => Promise<string | undefined>,
): Promise<string> {
  return block.truncated === true ? ((await whole(block)) ?? block.text) : block.text;
}

function written(block: Block): string | undefined {
  switch (block.kind) {
    case "user":
      return `## You\n\n${block.text}\n\n## Agent`;
    case "tool": {
      const did = `- ${block.title ?? block.name} (${statusWords(block.status)})`;
      return block.diff == null || block.diff === "" ? did : `${did}\n\n${fenced(block.diff, "diff")}`;
    }
    case "permission":
      return `- Asked: ${block.permission.title} (${statusWords(block.status)})`;
    case "plan":
      return block.steps.map(({ text, status }) => `- [${DONE.has(status ?? "") ? "x" : " "}] ${text}`).join("\n");
    case "notice":
      return `> ${block.text.replaceAll("\n", "\n> ")}`;
    case "turn-end":
      return block.outcome === "done" ? undefined : `> ${block.text ?? wordOf(ENDED, block.outcome)}`;
    case "link":
      return block.uri === "" ? `- ${block.label}` : `- [${block.label}](${block.uri})`;
    default:
      return undefined;
  }
}

const DONE: ReadonlySet<string> = new Set(["done", "completed"]);
const ENDED = { stopped: t("The turn was stopped."), failed: t("The turn failed."), cut: t("The turn was cut off.") };

/** In a fence that is longer than any in the text. */
function fenced(text: string, language: string): string {
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}
