/** Markdown on the page, and what its links and buttons do. */
import { type Block, growthSince } from "@breadboard-ls/sdk";
import { Component } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { Cutter, toHtml, toHtmlOnce } from "../markdown";
import { drawDiagrams, toggleSource } from "../diagrams/loader";
import { drawFormulas } from "../math/loader";
import { useModel } from "../model/context";
import { placeOf } from "../places";
import { sheetsOf } from "./sheets";
import { t } from "../messages";

/**
 * Longest text, in characters, that is rendered as a whole once it is finished, which takes some milliseconds. A longer
 * one keeps the pieces in which it streamed: they are rendered already, and a book at once would stop the page.
 */
const MOST_WHOLE = 20_000;

/** Sheets at the end that are in sight, or were a moment ago: leaving them out would be undone at once. */
const NEAR = 2;

interface ProseProps {
  readonly text: string;
  readonly streaming: boolean;
  /** The block whose text it is, where it is that of a block: it may know what was appended. */
  readonly block?: Block | undefined;
}

export function Prose({ text, streaming, block }: ProseProps) {
  const model = useModel();
  const cut = useRef<Cut>(undefined);
  const streamed = useRef(streaming);
  const parts = useMemo(() => {
    if (!streaming && text.length <= MOST_WHOLE) return [text];
    cut.current = cutAgain(cut.current, text, block);
    return cut.current.parts;
  }, [text, streaming, block]);
  const sheets = useMemo(() => sheetsOf(parts), [parts]);
  const onClick = (event: MouseEvent): void => {
    const target = event.target as Element;
    const button = target.closest<HTMLElement>("[data-action]");
    const link = target.closest("a");
    if (button !== null) {
      const box = button.closest<HTMLElement>(".code");
      const code = box?.querySelector("code")?.textContent ?? "";
      const action = button.dataset["action"];
      if (action === "copy") void model.editor("editor.copy", { text: code }).then(() => model.sentences.say(t("Copied.")));
      if (action === "terminal") void model.editor("editor.openTerminal", { command: commandOf(code) });
      if (action === "apply") {
        const path = box?.dataset["path"];
        void model.editor("editor.applyCode", { text: code, ...(path === undefined ? {} : { path }) });
      }
      if (action === "source" && box !== null) toggleSource(box, button);
      if (action === "insert") void model.editor("editor.insert", { text: code });
      if (action === "open")
        void model.editor("editor.openText", {
          title: t("Code of an answer"),
          text: code,
          language: box?.dataset["language"] || undefined,
        });
    } else if (link !== null) {
      event.preventDefault();
      // The editor hears clicks on links of a page too, at its document, and would open the address as it stands there: an
      // address of the web a second time, and a file as one of this page.
      event.stopPropagation();
      followLink(link.getAttribute("href") ?? "", model);
    }
  };
  return (
    // The buttons and links inside take the keyboard themselves; this only hears what bubbles.
    <div class="prose" onClick={onClick}>
      {sheets.map((sheet, at) => (
        <Sheet
          key={at}
          pieces={sheet}
          grows={streaming && at === sheets.length - 1}
          past={streamed.current && at < sheets.length - NEAR}
        />
      ))}
    </div>
  );
}

/** What is typed into the terminal: the lines of a session without their prompts, as one line, since nothing is run by itself. */
export function commandOf(code: string): string {
  const lines = code.split("\n").map((line) => line.replace(/\s+$/, ""));
  const prompted = lines.filter((line) => /^\s*[$>]\s/.test(line));
  const commands = prompted.length > 0 ? prompted.map((line) => line.replace(/^\s*[$>]\s+/, "")) : lines;
  return commands
    .filter((line) => line.trim() !== "" && !line.trim().startsWith("#"))
    .map((line) => line.replace(/\t/g, " "))
    .reduce((all, line) => (all === "" ? line : all.endsWith("\\") ? `${all.slice(0, -1)}${line.trim()}` : `${all} && ${line}`), "");
}

/** A text that was cut. */
interface Cut {
  readonly cutter: Cutter;
  readonly block: Block | undefined;
  readonly parts: string[];
}

function cutAgain(before: Cut | undefined, text: string, block: Block | undefined): Cut {
  const cutter = before?.cutter ?? new Cutter();
  const more = before?.block === undefined || block === undefined ? undefined : growthSince(before.block, block);
  return { cutter, block, parts: more === undefined ? cutter.cut(text) : cutter.grow(more) };
}

interface SheetProps {
  readonly pieces: readonly string[];
  /** Its last piece is the last one of a text that streams. */
  readonly grows: boolean;
  /** The text streamed past it while it could be seen: its height is known, and it need not be laid out out of sight. */
  readonly past: boolean;
}

/** Pieces that are laid out and painted together; a full sheet is not looked at again. */
class Sheet extends Component<SheetProps> {
  override shouldComponentUpdate({ pieces, grows, past }: SheetProps): boolean {
    const { props } = this;
    return (
      grows !== props.grows ||
      past !== props.past ||
      pieces.length !== props.pieces.length ||
      pieces.some((piece, at) => piece !== props.pieces[at])
    );
  }

  override render({ pieces, grows, past }: SheetProps) {
    return (
      <div class={past ? "sheet past" : "sheet"}>
        {pieces.map((piece, at) => (
          <Piece key={at} text={piece} grows={grows && at === pieces.length - 1} />
        ))}
      </div>
    );
  }
}

interface PieceProps {
  readonly text: string;
  /** It is the last one of a text that streams. */
  readonly grows: boolean;
}

/** A part of a text: a finished one is not looked at again. */
class Piece extends Component<PieceProps> {
  override shouldComponentUpdate(next: PieceProps): boolean {
    return next.text !== this.props.text || next.grows !== this.props.grows;
  }

  private piece: HTMLDivElement | null = null;
  private readonly take = (element: HTMLDivElement | null): void => {
    this.piece = element;
  };

  override componentDidMount(): void {
    this.draw();
  }

  override componentDidUpdate(): void {
    this.draw();
  }

  /** Of a piece that is finished: one that grows would be drawn anew with each word. */
  private draw(): void {
    const { piece, props } = this;
    if (props.grows || piece === null) return;
    if (/[$\\]/.test(props.text)) void drawFormulas(piece);
    if (/mermaid/i.test(props.text)) void drawDiagrams(piece);
  }

  override render({ text, grows }: PieceProps) {
    return <div ref={this.take} class="piece" dangerouslySetInnerHTML={{ __html: grows ? toHtmlOnce(text) : toHtml(text) }} />;
  }
}

/** A link of an answer: an address, or a file of the workspace with a line. */
export function followLink(href: string, model: Pick<ReturnType<typeof useModel>, "editor">): void {
  if (/^(?:https?|mailto|file):/i.test(href)) {
    void model.editor("editor.openLink", { uri: href });
    return;
  }
  const place = placeOf(href);
  if (place !== undefined) void model.editor("editor.openFile", { ...place });
}
