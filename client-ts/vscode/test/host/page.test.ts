import { expect, it } from "vitest";
import { contentPolicy, newNonce, page, pageLanguage } from "../../src/host/page";

const PARTS = {
  title: "BreadBoard",
  language: "en",
  script: "vscode-resource:/m.js",
  style: "vscode-resource:/m.css",
  codicons: "vscode-resource:/c.css",
  cspSource: "https://cdn.example",
  nonce: "n0nce",
};

it("R000-64: the policy begins with nothing, and lets only our own script and style in", () => {
  expect(contentPolicy(PARTS).split("; ")).toEqual([
    "default-src 'none'",
    "script-src 'nonce-n0nce'",
    "style-src https://cdn.example 'nonce-n0nce'",
    "font-src https://cdn.example",
    "img-src data:",
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ]);
  expect(contentPolicy(PARTS)).not.toMatch(/unsafe|\*|https?:(?!\/\/cdn)/);
});

it("R000-64: there is no script and no handler but the one with the nonce", () => {
  const html = page(PARTS);
  expect(html.match(/<script[^>]*>/g)).toEqual(['<script nonce="n0nce" src="vscode-resource:/m.js">']);
  expect(html).not.toMatch(/\son[a-z]+=|style="|javascript:/i);
});

it("a nonce is new each time, and of 128 bits", () => {
  const nonces = new Set(Array.from({ length: 500 }, newNonce));
  expect(nonces.size).toBe(500);
  expect([...nonces].every((nonce) => Buffer.from(nonce, "base64url").length === 16)).toBe(true);
});

it("the page is in the language of the editor where it is written in it, and in English otherwise", () => {
  expect(["en", "de", "de-AT", "DE", "fr", "qps-ploc", ""].map(pageLanguage)).toEqual(["en", "de", "de", "de", "en", "en", "en"]);
  expect(page({ ...PARTS, language: "de" })).toContain('<html lang="de">');
});
