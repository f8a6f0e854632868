// @vitest-environment jsdom
/** What the style sheets make of what the pages draw, as far as a document without a window can tell. */
import { readFileSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { openForm } from "./create_spec/form_page";
import { openPage } from "./webview/page";

const drawn: HTMLStyleElement[] = [];
function drawWith(...files: string[]): void {
  const style = document.createElement("style");
  style.textContent = files.map((file) => readFileSync(`src/webview/${file}`, "utf8")).join("\n");
  document.head.append(style);
  drawn.push(style);
}
afterEach(() => drawn.splice(0).forEach((style) => style.remove()));
const whiteSpace = (element: Element) => getComputedStyle(element).whiteSpace;

it("the button beside a long sentence keeps its word whole, in the form of a spec", async () => {
  const page = await openForm();
  await page.hear("import-markdown:result", { content: "", warning: "The selected file is empty." });
  expect(whiteSpace(page.one("button", "Dismiss"))).not.toBe("nowrap");
  drawWith("style.css", "create_spec/create_spec.css");
  expect(whiteSpace(page.one("button", "Dismiss"))).toBe("nowrap");
});

it("the button beside a long sentence keeps its word whole, in a banner of the sidebar", async () => {
  const page = await openPage({
    answers: {
      "bb.tab.prompt": () => {
        throw { code: "untrusted_workspace", message: "This workspace is not trusted; trust it first." };
      },
    },
  });
  await page.key(await page.type("hello"), "Enter");
  drawWith("style.css");
  expect(whiteSpace(page.one(".banner button", "Dismiss"))).toBe("nowrap");
});
