/**
 * Formulas in Markdown: `$…$`, `$$…$$`, `\\(…\\)`, `\\[…\\]`.
 *
 * Owns where one begins and ends. It is put on the page as its own text, which whoever can draws over: without that, or while
 * it grows, a reader has the source.
 */
import MarkdownIt from "markdown-it";

/** Longest formula, in characters: what is longer is a dollar sign with much behind it. */
const LONGEST = 2_000;

export function mathRules(markdown: InstanceType<typeof MarkdownIt>): void {
  markdown.inline.ruler.before("escape", "math", (state, silent) => {
    const found = formulaAt(state.src, state.pos);
    if (found === undefined) return false;
    if (!silent) {
      const token = state.push("math", "", 0);
      token.content = found.text;
      token.info = found.isBlock ? "block" : "inline";
    }
    state.pos = found.end;
    return true;
  });
  markdown.renderer.rules["math"] = (tokens, index) => {
    const { content = "", info = "inline" } = tokens[index] ?? {};
    return `<code class="math" data-math="${info}">${markdown.utils.escapeHtml(content)}</code>`;
  };
}

/** The formula that begins here. Money is none: no blank stands inside at the signs, and no digit behind the last one. */
export function formulaAt(text: string, at: number): { text: string; end: number; isBlock: boolean } | undefined {
  for (const [open, close, isBlock] of [
    ["$$", "$$", true],
    ["\\[", "\\]", true],
    ["\\(", "\\)", false],
  ] as const) {
    if (!text.startsWith(open, at)) continue;
    const end = text.indexOf(close, at + open.length);
    const inside = text.slice(at + open.length, Math.max(at, end));
    if (end < 0 || inside.trim() === "" || inside.length > LONGEST) return undefined;
    return { text: inside.trim(), end: end + close.length, isBlock };
  }
  const [whole, inside] = /^\$([^\s$](?:[^$\n]*[^\s$\\])?)\$(?!\d)/.exec(text.slice(at, at + LONGEST)) ?? [];
  return whole === undefined || inside === undefined ? undefined : { text: inside, end: at + whole.length, isBlock: false };
}
