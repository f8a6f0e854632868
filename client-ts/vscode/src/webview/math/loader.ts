/**
 * Formulas of an answer, drawn once whoever draws them is loaded.
 *
 * Owns that this is a script of its own, fetched from beside ours under the same nonce when there is a first formula, and that a
 * reader has the source until then and where a formula cannot be read.
 */

/** Draws one; `undefined`: it cannot be read. */
export type DrawFormula = (source: string, isBlock: boolean) => Element | undefined;

let loading: Promise<DrawFormula | undefined> | undefined;

function load(): Promise<DrawFormula | undefined> {
  const ours = document.querySelector<HTMLScriptElement>("script[src*='main.js']");
  if (ours === null) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const script = document.createElement("script");
    // A page can read the nonce of an element as its property alone.
    script.nonce = ours.nonce;
    script.src = ours.src.replace(/main\.js/, "math.js");
    script.onload = () => resolve((globalThis as { breadboardFormula?: DrawFormula }).breadboardFormula);
    script.onerror = () => resolve(undefined);
    document.head.append(script);
  });
}

/** Draws the formulas below this element that are not drawn yet. */
export async function drawFormulas(below: Element): Promise<void> {
  const open = [...below.querySelectorAll(".math")].filter(({ firstElementChild }) => firstElementChild === null);
  if (open.length === 0) return;
  const draw = await (loading ??= load());
  if (draw === undefined) return;
  for (const place of open) {
    const drawn = draw(place.textContent ?? "", place.getAttribute("data-math") === "block");
    if (drawn !== undefined) place.replaceChildren(drawn);
  }
}
