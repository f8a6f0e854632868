/**
 * Formulas of an answer, drawn once whoever draws them is loaded.
 *
 * Owns that a reader has the source until then, and where a formula cannot be read.
 */
import { loadBeside } from "../beside";

/** Draws one; `undefined`: it cannot be read. */
export type DrawFormula = (source: string, isBlock: boolean) => Element | undefined;

/** Draws the formulas below this element that are not drawn yet. */
export async function drawFormulas(below: Element): Promise<void> {
  const open = [...below.querySelectorAll(".math")].filter(({ firstElementChild }) => firstElementChild === null);
  if (open.length === 0) return;
  const draw = await loadBeside<DrawFormula>("math", "breadboardFormula");
  if (draw === undefined) return;
  for (const place of open) {
    const drawn = draw(place.textContent ?? "", place.getAttribute("data-math") === "block");
    if (drawn !== undefined) place.replaceChildren(drawn);
  }
}
