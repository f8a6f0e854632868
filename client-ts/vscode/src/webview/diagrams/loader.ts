/**
 * Diagrams of an answer, drawn once whoever draws them is loaded, and anew when the editor changes its theme.
 *
 * Owns that a reader has the source until then, always one press away, and with a sentence where it cannot be drawn.
 */
import { loadBeside } from "../beside";
import { type Look, lookNow, onLook } from "./look";
import { t } from "../messages";

/** What came of a source. */
export type Drawn =
  | {
      readonly kind: "drawn";
      /** A `data:` address. */
      readonly address: string;
      /** Pixels. */
      readonly width: number;
      readonly height: number;
      /** The title and description that it gave itself; empty where it gave none. */
      readonly label: string;
    }
  | {
      readonly kind: "failed";
      /** The line of the source in which the mistake is, from 1, where it is known. */
      readonly line?: number;
    };

export type DrawDiagram = (source: string, look: Look) => Promise<Drawn>;

/** Most pictures that are kept: those of some answers. A piece that is put on the page again has its picture at once. */
const MOST_KEPT = 50;
const kept = new Map<string, Drawn>();
let watches = false;

/** Draws the diagrams below this element that are not drawn in the present look. */
export async function drawDiagrams(below: ParentNode): Promise<void> {
  const places = [...below.querySelectorAll<HTMLElement>(".code.diagram")];
  if (places.length === 0) return;
  if (!watches) {
    watches = true;
    onLook(() => void drawDiagrams(document));
  }
  const look = lookNow();
  const mark = JSON.stringify(look);
  const open = places.filter((place) => looks.get(place) !== mark);
  for (const place of open) looks.set(place, mark);
  for (const place of open) {
    const source = place.querySelector("pre")?.textContent ?? "";
    const drawn = kept.get(mark + source) ?? (await drawAnew(source, look, mark));
    // Another look came in between.
    if (drawn !== undefined && looks.get(place) === mark) put(place, drawn);
  }
}

/** The look in which each was drawn, or is being drawn. */
const looks = new WeakMap<Element, string>();

async function drawAnew(source: string, look: Look, mark: string): Promise<Drawn | undefined> {
  const draw = await loadBeside<DrawDiagram>("diagrams", "breadboardDiagram");
  const drawn = await draw?.(source, look);
  if (drawn === undefined) return undefined;
  if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value as string);
  kept.set(mark + source, drawn);
  return drawn;
}

function put(place: HTMLElement, drawn: Drawn): void {
  place.querySelector(".drawing")?.remove();
  const drawing = document.createElement(drawn.kind === "drawn" ? "img" : "p");
  drawing.classList.add("drawing");
  if (drawn.kind === "drawn") {
    const image = drawing as HTMLImageElement;
    image.alt = drawn.label === "" ? t("A diagram; its source has its words.") : drawn.label;
    image.width = drawn.width;
    image.height = drawn.height;
    image.src = drawn.address;
  } else {
    drawing.classList.add("hint");
    drawing.textContent =
      drawn.line === undefined
        ? t("This diagram cannot be drawn, so here is its source.")
        : t("This diagram cannot be drawn: line {0} of its source has a mistake.", drawn.line);
  }
  place.querySelector("pre")?.before(drawing);
  place.classList.toggle("is-drawn", drawn.kind === "drawn");
}

/** Shows the source of a diagram in the place of its picture, or the picture again. */
export function toggleSource(place: Element, button: Element): void {
  button.setAttribute("aria-pressed", String(place.classList.toggle("shows-source")));
}
