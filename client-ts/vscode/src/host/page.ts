/**
 * The pages of the webviews.
 *
 * Owns its content policy: nothing but our own script and style, named by a nonce from a CSPRNG. No inline handler, no
 * address of a network.
 */
import { randomBytes } from "node:crypto";

/** What the page is made of, as addresses that the webview may load. */
export interface PageParts {
  readonly title: string;
  /** The language that the editor is shown in, `vscode.env.language`. */
  readonly language: string;
  readonly script: string;
  readonly style: string;
  readonly codicons: string;
  /** `webview.cspSource`. */
  readonly cspSource: string;
  readonly nonce: string;
}

/** 128 bits that nobody can guess. */
export function newNonce(): string {
  return randomBytes(16).toString("base64url");
}

export function contentPolicy(parts: Pick<PageParts, "cspSource" | "nonce">): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${parts.nonce}'`,
    `style-src ${parts.cspSource} 'nonce-${parts.nonce}'`,
    `font-src ${parts.cspSource}`,
    "img-src data:",
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

export function page(parts: PageParts): string {
  return `<!DOCTYPE html>
<html lang="${pageLanguage(parts.language)}">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(contentPolicy(parts))}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(parts.title)}</title>
<link rel="stylesheet" href="${escaped(parts.codicons)}" id="vscode-codicon-stylesheet" nonce="${escaped(parts.nonce)}">
<link rel="stylesheet" href="${escaped(parts.style)}" nonce="${escaped(parts.nonce)}">
</head>
<body>
<div id="app" aria-busy="true"></div>
<script nonce="${escaped(parts.nonce)}" src="${escaped(parts.script)}"></script>
</body>
</html>`;
}

/** The languages that the pages are written in; of any other the editor shows English too. */
const LANGUAGES: ReadonlySet<string> = new Set(["en", "de"]);

/** The page's language for one of the editor's, such as `de` or `de-at`. */
export function pageLanguage(editors: string): string {
  const [language = ""] = editors.toLowerCase().split("-");
  return LANGUAGES.has(language) ? language : "en";
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
