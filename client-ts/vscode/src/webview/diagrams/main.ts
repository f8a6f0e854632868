/**
 * Diagrams as pictures, loaded when the first one is on the page.
 *
 * Owns that a picture can do nothing: Mermaid draws under its strict rules, what it drew is cleaned, and it is handed over as the
 * address of an image, in which a browser runs no script and loads nothing. The styles in it are the image's own, so that the
 * page's policy stays as it is.
 */
import DOMPurify from "dompurify";
import mermaid from "mermaid";
import type { DrawDiagram, Drawn } from "./loader";
import type { Look } from "./look";

/** Longest source of a diagram, in characters: what is longer takes seconds, in which the page stands still. */
const LONGEST = 20_000;
/** Most lines between its boxes, for the same reason. */
const MOST_EDGES = 400;
/** Size of its letters, in pixels; `.diagram-room` has the same, since the texts are measured there. */
const LETTERS = 13;

let made = 0;
/** One is drawn at a time: the rules are Mermaid's own state. */
let last: Promise<unknown> = Promise.resolve();

const draw: DrawDiagram = (source, look) => {
  const drawn = last.then(() => drawOne(source, look));
  last = drawn;
  return drawn;
};

async function drawOne(source: string, look: Look): Promise<Drawn> {
  if (source.length > LONGEST) return { kind: "failed" };
  const room = document.createElement("div");
  room.className = "diagram-room";
  room.setAttribute("aria-hidden", "true");
  document.body.append(room);
  try {
    mermaid.initialize(rules(look));
    const { svg } = await mermaid.render(`diagram-${(made += 1)}`, source, room);
    return pictureOf(svg);
  } catch (error) {
    const line = /\bline (\d+)/i.exec(String((error as Error | undefined)?.message ?? error))?.[1];
    // A mistake at the end is counted behind it.
    return { kind: "failed", ...(line === undefined ? {} : { line: Math.min(Number(line), source.trimEnd().split("\n").length) }) };
  } finally {
    room.remove();
  }
}

function rules(look: Look): Parameters<typeof mermaid.initialize>[0] {
  const { dark, font, ground, text, line, box, border, group, note } = look;
  return {
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    class: { htmlLabels: false },
    maxTextSize: LONGEST,
    maxEdges: MOST_EDGES,
    deterministicIds: true,
    layout: "dagre",
    // Without shadows, which are a glow on a dark ground.
    look: "classic",
    logLevel: "fatal",
    // What no diagram changes by words of its own.
    secure: [
      "secure", "securityLevel", "startOnLoad", "maxTextSize", "suppressErrorRendering", "maxEdges", "htmlLabels", "flowchart.htmlLabels",
      "theme", "themeCSS", "themeVariables", "fontFamily", "altFontFamily", "darkMode", "layout", "look", "dompurifyConfig", "logLevel",
    ],
    theme: "base",
    fontFamily: font,
    fontSize: LETTERS,
    themeVariables: {
      darkMode: dark,
      fontFamily: font,
      fontSize: `${LETTERS}px`,
      background: ground,
      mainBkg: box,
      primaryColor: box,
      primaryTextColor: text,
      primaryBorderColor: border,
      secondaryColor: group,
      secondaryTextColor: text,
      tertiaryColor: group,
      tertiaryTextColor: text,
      lineColor: line,
      textColor: text,
      titleColor: text,
      nodeTextColor: text,
      nodeBorder: border,
      clusterBkg: group,
      clusterBorder: border,
      edgeLabelBackground: ground,
      noteBkgColor: note,
      noteTextColor: text,
      noteBorderColor: border,
      actorBkg: box,
      actorBorder: border,
      actorTextColor: text,
      actorLineColor: line,
      signalColor: line,
      signalTextColor: text,
      labelBoxBkgColor: box,
      labelBoxBorderColor: border,
      labelTextColor: text,
      loopTextColor: text,
    },
  };
}

const OUTSIDE = /url\(\s*["']?\s*[^#"'\s]|@import/i;
const FORBIDDEN = ["foreignObject", "script", "iframe", "a"];

/** The drawing as an image, of the size that it has. */
function pictureOf(svg: string): Drawn {
  const clean = DOMPurify.sanitize(svg, {
    USE_PROFILES: { svg: true, svgFilters: true },
    FORBID_TAGS: FORBIDDEN,
    RETURN_DOM_FRAGMENT: true,
  });
  const drawing = clean.querySelector("svg");
  if (drawing === null) return { kind: "failed" };
  const [, , width = 0, height = 0] = (drawing.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  if (!(width > 0 && height > 0)) return { kind: "failed" };
  const [wide, high] = [Math.ceil(width), Math.ceil(height)];
  drawing.setAttribute("width", String(wide));
  drawing.setAttribute("height", String(high));
  drawing.removeAttribute("style");
  for (const element of drawing.querySelectorAll("*")) cutOff(element);
  const label = [drawing.querySelector("title"), drawing.querySelector("desc")]
    .map((element) => element?.textContent?.trim() ?? "")
    .filter((text) => text !== "")
    .join(". ");
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(drawing))}`;
  return { kind: "drawn", address, width: wide, height: high, label };
}

/** Takes from an element what names an address outside of the drawing; markers and gradients are within it. */
function cutOff(element: Element): void {
  for (const { name, value } of [...element.attributes])
    if (/(?:href|src)$/i.test(name) ? !value.startsWith("#") : OUTSIDE.test(value)) element.removeAttribute(name);
  if (element.localName === "style" && OUTSIDE.test(element.textContent ?? "")) element.remove();
}

(globalThis as { breadboardDiagram?: DrawDiagram }).breadboardDiagram = draw;
