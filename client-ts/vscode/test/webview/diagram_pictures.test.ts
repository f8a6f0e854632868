// @vitest-environment jsdom
/** What is drawn of a diagram, by who really draws it: an image that can do nothing. */
import { expect, it } from "vitest";
import type { DrawDiagram } from "../../src/webview/diagrams/loader";
import { lookNow } from "../../src/webview/diagrams/look";

// The document of the tests lays nothing out; a browser does.
const box = { x: 0, y: 0, width: 80, height: 20, top: 0, left: 0, right: 80, bottom: 20 };
Object.assign(SVGElement.prototype, { getBBox: () => box, getComputedTextLength: () => 80 });
await import("../../src/webview/diagrams/main");
const draw = (globalThis as { breadboardDiagram?: DrawDiagram }).breadboardDiagram as DrawDiagram;
const svgOf = async (source: string): Promise<string> => {
  const drawn = await draw(source, lookNow());
  return drawn.kind === "drawn" ? decodeURIComponent(drawn.address.replace("data:image/svg+xml;charset=utf-8,", "")) : "";
};

it("R000-52: a diagram is an image with no script, link, foreign page or address of a network in it", async () => {
  const evil = [
    'graph TD\n  A["<script>alert(1)</script><img src=https://evil.example/x onerror=alert(1)>"] --> B',
    'graph TD\n  A --> B\n  click A href "https://evil.example/x" "go"\n  click B call alert()',
    'graph TD\n  A@{ img: "https://evil.example/x.png", label: "x", w: 60, h: 60 } --> B',
    "%%{init: {\"securityLevel\": \"loose\", \"htmlLabels\": true, \"themeCSS\": \"rect { fill: url(https://evil.example/x) }\"}}%%\ngraph TD\n  A[<b>x</b>] --> B",
    "---\nconfig:\n  securityLevel: loose\n  flowchart:\n    htmlLabels: true\n---\ngraph TD\n  A[<b>x</b>] --> B",
    "sequenceDiagram\n  A->>B: <img src=https://evil.example/x>\n  links A: {\"x\": \"https://evil.example/x\"}",
  ];
  for (const source of evil) {
    const svg = await svgOf(source);
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
    const bad = [...parsed.querySelectorAll("*")].filter(
      (element) =>
        /^(?:script|foreignObject|iframe|a)$/i.test(element.localName) ||
        [...element.attributes].some(({ name, value }) => /^on/i.test(name) || (/href|src$/.test(name) && !value.startsWith("#"))),
    );
    // A picture of a network cannot be had, and without it there is nothing to draw.
    expect(svg === "" ? "nothing" : parsed.documentElement.localName, source).toBe(source.includes("img:") ? "nothing" : "svg");
    expect(bad.map(({ outerHTML }) => outerHTML), source).toEqual([]);
    expect(/url\(\s*["']?(?!#)|@import/.test(svg), source).toBe(false);
  }
  expect(document.querySelectorAll(".diagram-room, script").length).toBe(0);
});

it("it is drawn in the editor's colours, with the name that it gives itself", async () => {
  document.documentElement.style.setProperty("--vscode-foreground", "#123456");
  const drawn = await draw("graph TD\n  accTitle: How it flows\n  accDescr: From A to B\n  A --> B", lookNow());
  expect(drawn.kind === "drawn" ? drawn.label : drawn).toBe("How it flows. From A to B");
  expect(await svgOf("graph TD\n  A --> B")).toContain("#123456");
});

it("what is none, or too long, is said to be none, with its line where it is known", async () => {
  expect(await draw("graph TD\n  A --> B\n  C -->\n", lookNow())).toEqual({ kind: "failed", line: 3 });
  expect(await draw("no such diagram", lookNow())).toEqual({ kind: "failed" });
  expect(await draw(`graph TD\n${"  A --> B\n".repeat(3_000)}`, lookNow())).toEqual({ kind: "failed" });
});
