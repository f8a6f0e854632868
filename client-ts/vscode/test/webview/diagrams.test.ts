// @vitest-environment jsdom
/** Diagrams: loaded with the first one, drawn when they are finished and anew in another theme; the source stays one press away. */
import { beforeEach, expect, it } from "vitest";
import { drawDiagrams, type DrawDiagram, type Drawn, toggleSource } from "../../src/webview/diagrams/loader";
import type { Look } from "../../src/webview/diagrams/look";
import { toHtml, toHtmlOnce } from "../../src/webview/markdown";

const drawn: [string, Look][] = [];
const answers = new Map<string, Drawn>();
const scripts = () => [...document.querySelectorAll<HTMLScriptElement>("script[src*='diagrams.js']")];
const settled = () => new Promise((resolve) => setTimeout(resolve));

/** What the page has of an answer with this in it. */
async function shown(text: string): Promise<HTMLElement> {
  const box = document.createElement("div");
  box.innerHTML = toHtml(text);
  document.body.replaceChildren(box);
  const done = drawDiagrams(box);
  await settled();
  (globalThis as { breadboardDiagram?: DrawDiagram }).breadboardDiagram = async (source, look) => {
    drawn.push([source, look]);
    return answers.get(source) ?? { kind: "failed" };
  };
  for (const script of scripts()) script.onload?.(new Event("load"));
  await done;
  return box;
}
const picture: Drawn = { kind: "drawn", address: "data:image/svg+xml,x", width: 80, height: 40, label: "" };

beforeEach(() => {
  drawn.length = 0;
  if (document.querySelector("script[src*='main.js']") === null) {
    const ours = document.createElement("script");
    ours.src = "https://page.example/main.js";
    ours.nonce = "n1";
    document.head.append(ours);
  }
});

it("nothing is loaded for an answer without a diagram, nor for one that grows", async () => {
  await shown("```rust\nlet x = 1;\n```");
  const growing = document.createElement("div");
  growing.innerHTML = toHtmlOnce("```mermaid\ngraph TD\n  A--");
  await drawDiagrams(growing);
  expect([scripts().length, growing.querySelectorAll(".diagram").length, growing.querySelector("pre")?.textContent]).toEqual([
    0, 0, "graph TD\n  A--",
  ]);
});

it("a finished one is a picture, its source one press away, by a script under the page's own nonce", async () => {
  const source = "graph TD\n  A-->B\n";
  answers.set(source, picture);
  const box = await shown(`Before\n\n\`\`\`mermaid\n${source}\`\`\`\n`);
  expect([scripts().length, scripts()[0]?.nonce]).toEqual([1, "n1"]);
  const place = box.querySelector(".diagram") as HTMLElement;
  const image = place.querySelector("img");
  expect([image?.getAttribute("src"), image?.alt, image?.width, place.className]).toEqual([
    "data:image/svg+xml,x", "A diagram; its source has its words.", 80, "code diagram is-drawn",
  ]);
  expect(drawn.map(([text]) => text)).toEqual([source]);
  const button = place.querySelector("[data-action=source]") as HTMLElement;
  expect(button.getAttribute("aria-label")).toBe("Show the source");
  toggleSource(place, button);
  expect([place.classList.contains("shows-source"), button.getAttribute("aria-pressed")]).toEqual([true, "true"]);
  toggleSource(place, button);
  expect([place.classList.contains("shows-source"), button.getAttribute("aria-pressed")]).toEqual([false, "false"]);
});

it("another theme draws it anew, and the same one again has it at once", async () => {
  const source = "graph LR\n  C-->D\n";
  answers.set(source, picture);
  document.body.className = "vscode-dark";
  const box = await shown(`\`\`\`mermaid\n${source}\`\`\`\n`);
  expect(drawn.map(([, look]) => look.dark)).toEqual([true]);
  document.body.className = "vscode-light";
  await settled();
  await settled();
  expect(drawn.map(([, look]) => look.dark)).toEqual([true, false]);
  document.body.className = "vscode-dark";
  await settled();
  await settled();
  expect([drawn.length, box.querySelectorAll("img").length]).toEqual([2, 1]);
});

it("one that cannot be drawn keeps its source under one sentence", async () => {
  answers.set("graph TD\n  A--->>\n", { kind: "failed", line: 2 });
  const box = await shown("```mermaid\ngraph TD\n  A--->>\n```\n");
  const place = box.querySelector(".diagram") as HTMLElement;
  expect([place.className, place.querySelector("p")?.textContent, place.querySelector("pre")?.textContent]).toEqual([
    "code diagram",
    "This diagram cannot be drawn: line 2 of its source has a mistake.",
    "graph TD\n  A--->>\n",
  ]);
});
