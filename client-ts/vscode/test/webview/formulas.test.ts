// @vitest-environment jsdom
/** Formulas: drawn as MathML by a script that is loaded with the first one; what cannot be read stays its text. */
import { expect, it } from "vitest";
import "../../src/webview/math/main";
import type { DrawFormula } from "../../src/webview/math/loader";

// The document of the tests gives formulas no style of their own; a browser does.
if (!("style" in document.createElementNS("http://www.w3.org/1998/Math/MathML", "math")))
  Object.defineProperty(Element.prototype, "style", { get: () => ({}), configurable: true });
const draw = (globalThis as { breadboardFormula?: DrawFormula }).breadboardFormula as DrawFormula;

it("a formula is MathML with no script, link or image of its own", () => {
  const drawn = draw("\\frac{a}{b}", true);
  expect([drawn?.tagName.toLowerCase(), drawn?.querySelectorAll("mfrac").length]).toEqual(["math", 1]);
  for (const evil of ["\\href{javascript:alert(1)}{x}", "\\includegraphics{https://evil.example/x.png}", "\\url{https://evil.example}"])
    expect(draw(evil, false)?.querySelectorAll("a, img, script, [href], [src]").length ?? 0, evil).toBe(0);
});

it("what is no formula stays what it was", () => {
  expect(draw("\\frac{a", false)).toBe(undefined);
  expect(draw("\\def\\a{\\a\\a}\\a", false)).toBe(undefined);
});
