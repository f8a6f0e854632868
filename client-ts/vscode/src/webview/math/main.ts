/**
 * Formulas as MathML, loaded when the first one is on the page.
 *
 * Owns nothing but the call: what it cannot read stays the text that it was.
 */
import temml from "temml";
import type { DrawFormula } from "./loader";

const draw: DrawFormula = (source, isBlock) => {
  const box = document.createElement("span");
  try {
    temml.render(source, box, { displayMode: isBlock, throwOnError: true, trust: false, maxSize: [20, 200], maxExpand: 500 });
    return box.firstElementChild ?? undefined;
  } catch {
    return undefined;
  }
};

(globalThis as { breadboardFormula?: DrawFormula }).breadboardFormula = draw;
