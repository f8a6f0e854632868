/** What is shipped, read as an outsider would read it. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, expect, it } from "vitest";

beforeAll(() => void execFileSync("node", ["esbuild.mjs"], { stdio: "inherit" }), 120_000);
const read = (file: string) => readFileSync(file, "utf8");
/** Our own sources of the page. */
const sources = () =>
  readdirSync("src/webview", { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => [file, read(`src/webview/${file}`)] as const);

it("R000-02 R000-06: the page has no way to a network and no word of an engine's protocol", () => {
  const bundles = ["main", "create_spec", "math", "diagrams"].map((name) => read(`dist/webview/${name}.js`));
  const NETWORK =
    /\b(?:fetch|importScripts)\s*\(\s*[^\s)]|XMLHttpRequest|new (?:WebSocket|EventSource|(?:Shared)?Worker)\b|sendBeacon|RTCP/;
  for (const bundle of bundles) {
    expect(NETWORK.test(bundle)).toBe(false);
    expect(/Last-Event-ID|Authorization|\/v1\/sessions|Bearer /i.test(bundle)).toBe(false);
  }
  for (const [file, text] of sources()) expect(NETWORK.test(text), file).toBe(false);
});

it("R000-07: the page has no word for a token, and keeps nothing but its saved state", () => {
  for (const [file, text] of sources())
    expect(
      /setCredentials|SecretStorage|localStorage|sessionStorage|indexedDB|document\.cookie/i.test(text),
      file,
    ).toBe(false);
});

it("R000-64: nothing in the page is made from text at run time", () => {
  for (const [file, text] of sources())
    expect(/\beval\(|new Function|document\.write|srcdoc/.test(text), file).toBe(false);
  // The one place where HTML is set is the one that cleans it.
  expect(
    sources()
      .filter(([, text]) => /dangerouslySetInnerHTML|innerHTML/.test(text))
      .map(([file]) => file),
  ).toEqual(["blocks/prose.tsx"]);
  // And the one place where it is read is a document that is shown nowhere.
  expect(
    sources()
      .filter(([, text]) => /createContextualFragment|insertAdjacentHTML|outerHTML|DOMParser|setHTML/.test(text))
      .map(([file]) => file),
  ).toEqual(["markdown.ts"]);
});

it("R000-79: Cursor and older editors can run it: no API newer than the oldest one, none proposed, none of chat", () => {
  const manifest = JSON.parse(read("package.json"));
  // It is compiled against the API of the oldest editor that it says it runs in: `tsc` refuses what came later.
  const types = JSON.parse(read("../node_modules/@types/vscode/package.json"));
  expect([manifest.devDependencies["@types/vscode"], types.version]).toEqual(["1.91.0", "1.91.0"]);
  for (const point of ["chatParticipants", "languageModelTools", "languageModelChatProviders", "chatSessions"])
    expect(Object.keys(manifest.contributes), point).not.toContain(point);
  expect([manifest.enabledApiProposals, manifest.engines.vscode, manifest.extensionDependencies]).toEqual([
    undefined,
    "^1.91.0",
    undefined,
  ]);
  const host = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.startsWith("webview"))
    .map((file) => read(`src/${file}`))
    .join("\n");
  expect(/vscode\.(?:lm|chat)\b|retainContextWhenHidden/.test(host)).toBe(false);
});

it("every command of the manifest has a handler, and every handler is in the manifest", () => {
  const { contributes } = JSON.parse(read("package.json"));
  const handled = [
    ...read("src/extension.ts").matchAll(/"(breadboard\.[a-zA-Z]+)": (?:\(|stop|menu|pair|diffWithHead)/g),
  ].map(([, name]) => name);
  expect(handled.sort()).toEqual(contributes.commands.map(({ command }: { command: string }) => command).sort());
});

it("the packages in the bundles are named with licence and text, and one under an unknown licence is refused", async () => {
  const shipped = read("dist/THIRD-PARTY.txt");
  for (const line of [/^preact [\d.]+: MIT$/m, /^vscode-languageclient [\d.]+: MIT$/m, /^@vscode\/codicons [\d.]+: CC-BY-4\.0$/m])
    expect(shipped).toMatch(line);
  expect(shipped).not.toMatch(/^(?:vitest|esbuild|typescript|@breadboard-ls\/sdk) /m);
  expect(shipped).toContain("Permission is hereby granted");
  const folder = mkdtempSync(path.join(tmpdir(), "notice-"));
  try {
    const strange = `${folder}/node_modules/strange`.replaceAll("\\", "/");
    mkdirSync(strange, { recursive: true });
    writeFileSync(`${strange}/package.json`, '{"name":"strange","version":"1.0.0","license":"SSPL-1.0"}');
    const asked = JSON.stringify([`${strange}/index.js`]);
    const code = `import { notice } from "./notice.mjs"; await notice(${asked})`;
    const tried = spawnSync("node", ["--input-type=module", "-e", code], { encoding: "utf8" });
    expect(tried.status).toBe(1);
    expect(tried.stderr).toContain("strange 1.0.0 is under SSPL-1.0, which notice.mjs does not name");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
