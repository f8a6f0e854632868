/**
 * Markdown to safe HTML.
 *
 * Owns what an answer may put on the page: no HTML of its own, no image from a network, no style, no script. A place of the
 * workspace that it names with a line is a link, also in code. While a text streams it is cut into pieces that are finished and one that is not, so that a piece is rendered once.
 */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";
import { type Colours, coloursOf } from "./blocks/code_colours";
import { mathRules } from "./math_syntax";
import { hrefOf, partsOf } from "./places";
import { t } from "./messages";

const markdown = new MarkdownIt({ html: false, linkify: true, typographer: false });
// `main.rs` is a file and no host in Serbia.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

mathRules(markdown);

/** Longest code, in characters, that is coloured each time while it still grows. */
const MOST_GROWING = 8_000;

markdown.renderer.rules.fence = (tokens, index, _options, env) => {
  const token = tokens[index];
  return code(token?.content ?? "", fenceOf(token?.info ?? ""), (env as Environment | undefined)?.grows === true);
};
markdown.renderer.rules.code_block = (tokens, index) => code(tokens[index]?.content ?? "", { language: "" }, false);
// An address of an image is a way out of the page: what is not data becomes a link.
markdown.renderer.rules.image = (tokens, index) => {
  const token = tokens[index];
  const source = String(token?.attrGet("src") ?? "");
  const escaped = markdown.utils.escapeHtml;
  const label = escaped(token?.content || t("image"));
  return source.startsWith("data:image/")
    ? `<img src="${escaped(source)}" alt="${label}">`
    : `<a href="${escaped(source)}">${label}</a>`;
};
// Tables may be wider than a sidebar.
markdown.renderer.rules.table_open = () => `<div class="table" tabindex="0"><table>`;
markdown.renderer.rules.table_close = () => `</table></div>`;

/** What a rendering knows beside the text. */
interface Environment {
  /** The text goes on. */
  readonly grows?: boolean;
}

// `- [ ]` and `- [x]` are things to do; the mark is drawn, and said.
markdown.core.ruler.after("inline", "tasks", ({ tokens, Token }) => {
  for (const [at, inline] of tokens.entries()) {
    const first = inline.children?.[0];
    if (inline.type !== "inline" || first?.type !== "text" || tokens[at - 2]?.type !== "list_item_open") continue;
    const [whole, mark] = /^\[([ xX])\]\s+/.exec(first.content) ?? [];
    if (whole === undefined) continue;
    first.content = first.content.slice(whole.length);
    const task = new Token("task", "", 0);
    task.info = mark === " " ? "open" : "done";
    inline.children?.unshift(task);
    tokens[at - 2]?.attrJoin("class", "task-item");
  }
});
markdown.renderer.rules["task"] = (tokens, index) => {
  const done = tokens[index]?.info === "done";
  return (
    `<i class="codicon codicon-${done ? "pass-filled" : "circle-large-outline"}" aria-hidden="true"></i> ` +
    `<span class="visually-hidden">${done ? t("done") : t("to do")}: </span>`
  );
};

/** Text with the places in it as links. */
function withPlaces(text: string): string {
  const { escapeHtml } = markdown.utils;
  return partsOf(text)
    .map((part) =>
      typeof part === "string"
        ? escapeHtml(part)
        : `<a href="${escapeHtml(hrefOf(part.place))}" title="Open ${escapeHtml(part.text)}">${escapeHtml(part.text)}</a>`,
    )
    .join("");
}

/** The same, where it does not stand in a link already. */
function linked(tokens: readonly { type: string; content: string }[], index: number): string {
  const before = tokens.slice(0, index).findLast(({ type }) => type === "link_open" || type === "link_close");
  const text = tokens[index]?.content ?? "";
  return before?.type === "link_open" ? markdown.utils.escapeHtml(text) : withPlaces(text);
}
markdown.renderer.rules.text = (tokens, index) => linked(tokens, index);
markdown.renderer.rules.code_inline = (tokens, index) => `<code>${linked(tokens, index)}</code>`;

/** What stands behind the mark of a fence: the language, and the file that the code is of. */
interface Fence {
  readonly language: string;
  readonly path?: string;
}

function fenceOf(info: string): Fence {
  const [first = "", ...rest] = info.trim().split(/\s+/);
  const [language = "", path] = first.split(/:(.*)/s);
  const named = path ?? rest.map((word) => /^(?:(?:title|path|file|filename)=)?"?([^"\s{}=]+\.\w+)"?$/.exec(word)?.[1]).find(Boolean);
  return { language, ...(named === undefined || named === "" ? {} : { path: named }) };
}

/** Endings of files by the names of languages, where they are others. */
const ENDINGS: Readonly<Record<string, string>> = {
  rust: "rs", python: "py", python3: "py", typescript: "ts", javascript: "js", typescriptreact: "tsx", javascriptreact: "jsx",
  csharp: "cs", "c++": "cpp", golang: "go", kotlin: "kt", ruby: "rb", shell: "sh", console: "sh", shellscript: "sh",
  powershell: "ps1", haskell: "hs", elixir: "ex", objc: "m", jsonl: "json", postgresql: "sql", mysql: "sql", sqlite: "sql",
  text: "txt", plaintext: "txt",
};
const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "zsh", "fish", "shell", "console", "shellscript", "powershell", "ps1", "cmd", "bat"]);

/** The code with its colours, line by line; places in what has none are links. */
function coloured(text: string, colours: Colours): string {
  const line = (one: string): string =>
    colours(one)
      .map(({ text: part, kind }) =>
        kind === undefined ? withPlaces(part) : `<span class="code-${kind}">${kind === "comment" ? withPlaces(part) : markdown.utils.escapeHtml(part)}</span>`,
      )
      .join("");
  return text.split("\n").map(line).join("\n");
}

/** A change, line by line. */
function change(text: string): string {
  const kind = (line: string): string =>
    /^(?:\+\+\+|---|@@|diff |index )/.test(line) ? "hunk" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
  const { escapeHtml } = markdown.utils;
  const line = (one: string): string => {
    const of = kind(one);
    return of === "" ? escapeHtml(one) : `<span class="code-${of}">${escapeHtml(one)}</span>`;
  };
  return text.split("\n").map(line).join("\n");
}

function code(text: string, { language, path }: Fence, grows: boolean): string {
  const { escapeHtml } = markdown.utils;
  const label = escapeHtml(language);
  const button = (action: string, icon: string, name: string): string =>
    `<button type="button" class="icon" data-action="${action}" title="${name}" aria-label="${name}">` +
    `<i class="codicon codicon-${icon}" aria-hidden="true"></i></button>`;
  const of = language.toLowerCase();
  const isShell = SHELLS.has(of);
  const colours = grows && text.length > MOST_GROWING ? undefined : coloursOf(path ?? `code.${ENDINGS[of] ?? of}`);
  const drawn =
    of === "diff" || of === "patch" ? change(text) : colours === undefined ? withPlaces(text) : coloured(text, colours);
  const file = path === undefined ? "" : ` data-path="${escapeHtml(path)}"`;
  // One that grows is drawn when it is finished.
  const isDiagram = of === "mermaid" && !grows;
  return (
    `<div class="code${isDiagram ? " diagram" : ""}" data-language="${label}"${file}><div class="code-bar"><span>${path === undefined ? label : escapeHtml(path)}</span>` +
    (isDiagram ? button("source", "code", t("Show the source")) : "") +
    button("copy", "copy", t("Copy the code")) +
    (isShell
      ? button("terminal", "terminal", t("Put the command into a terminal"))
      : button("apply", "diff-added", t("Apply the code to a file"))) +
    button("insert", "insert", t("Insert the code at the cursor")) +
    button("open", "go-to-file", t("Open the code in an editor")) +
    `</div><pre tabindex="0"><code>${drawn}</code></pre></div>`
  );
}

const ALLOWED = {
  ALLOWED_TAGS: [
    "a",
    "b",
    "blockquote",
    "br",
    "button",
    "code",
    "del",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
  ],
  ALLOWED_ATTR: [
    "href",
    "src",
    "alt",
    "title",
    "class",
    "type",
    "start",
    "tabindex",
    "aria-label",
    "aria-hidden",
    "data-action",
    "data-language",
    "data-path",
    "data-math",
  ],
  ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|file:|data:image\/|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i,
};

/** A document that is shown nowhere: what is read in it loads nothing and runs nothing. */
let nowhere: Document | undefined;

/**
 * The HTML with nothing in it but what is allowed. One document for all: given a text, the cleaner makes one each time,
 * and a flood leaves the editor hundreds of them to be collected.
 */
function cleaned(html: string): string {
  nowhere ??= document.implementation.createHTMLDocument("");
  const range = nowhere.createRange();
  range.selectNodeContents(nowhere.body);
  const box = nowhere.createElement("div");
  box.append(range.createContextualFragment(html));
  DOMPurify.sanitize(box, { ...ALLOWED, IN_PLACE: true });
  return box.outerHTML.slice("<div>".length, -"</div>".length);
}

/** Most finished pieces that are kept rendered: some long answers. */
const MOST_KEPT = 2_000;
const kept = new Map<string, string>();

/** One piece as HTML that may go on the page. */
export function toHtml(text: string): string {
  const known = kept.get(text);
  if (known !== undefined) return known;
  const html = cleaned(markdown.render(text));
  if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value as string);
  kept.set(text, html);
  return html;
}

/** The unfinished piece: rendered anew with each change and never kept. */
export function toHtmlOnce(text: string): string {
  return cleaned(markdown.render(text, { grows: true } satisfies Environment));
}

/**
 * Cuts a text that still grows at blank lines between blocks, outside of fences and lists. All but the last piece are
 * finished; joined they are the text.
 */
export function pieces(text: string): string[] {
  return new Cutter().cut(text);
}

/**
 * Cuts one text again and again while it grows: what is finished is neither read nor cut a second time, so a frame
 * costs what came, and finished pieces are the same strings.
 */
export class Cutter {
  private finished: string[] = [];
  private last = "";

  /** The pieces of the text; one that does not continue the text before is cut from its beginning. */
  cut(text: string): string[] {
    const read = this.finished.join("");
    if (text.startsWith(read)) return this.take(text.slice(read.length));
    this.finished = [];
    return this.take(text);
  }

  /** The pieces with more at the end: the text before is not looked at, so a frame costs the same however long it is. */
  grow(more: string): string[] {
    return this.take(this.last + more);
  }

  private take(rest: string): string[] {
    const out = piecesOf(rest);
    this.last = out.pop() ?? "";
    if (out.length > 0) this.finished = [...this.finished, ...out];
    return [...this.finished, this.last];
  }
}

function piecesOf(text: string): string[] {
  const out: string[] = [];
  let fence: string | undefined;
  let begin = 0;
  let at = 0;
  let blank = false;
  while (at < text.length) {
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end < 0 ? text.length : end);
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    // The last line may still become an item of the list above it.
    const item = end < 0 ? /^(?:[-+*]|\d{1,9}[.)]?)(?:\s|$)/ : /^(?:[-+*]|\d{1,9}[.)])(?:\s|$)/;
    if (fence === undefined && blank && at > begin && /^\S/.test(line) && !item.test(line)) {
      out.push(text.slice(begin, at));
      begin = at;
    }
    if (mark !== undefined) {
      if (fence === undefined) fence = mark;
      else if (mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) fence = undefined;
    }
    blank = fence === undefined && line.trim() === "";
    if (end < 0) break;
    at = end + 1;
  }
  out.push(text.slice(begin));
  return out;
}
