// Bundles the host (CommonJS, for the editor's Node) and the pages (one script each, for a browser), and copies what
// they load.
import { cp, mkdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { build, context } from "esbuild";
import { writeNotice } from "./notice.mjs";

const production = process.argv.includes("--production");
const watch = process.argv.includes("--watch");
const shared = {
  bundle: true,
  minify: production,
  sourcemap: production ? false : "linked",
  legalComments: production ? "linked" : "none",
  logLevel: "warning",
  metafile: true,
};

// What diagrams are drawn without: a second way to lay them out, whose licence is none of ours; formulas in their labels, which
// would need fonts of their own; and readers of tables from a network, which nothing here calls.
const LEFT_OUT = /^(?:elkjs|katex|d3-fetch|d3-dsv)(?:\/|$)/;
const leftOut = {
  name: "left out of diagrams",
  setup(build) {
    build.onResolve({ filter: LEFT_OUT }, ({ path }) => ({ path, namespace: "left-out" }));
    build.onLoad({ filter: /.*/, namespace: "left-out" }, () => ({ contents: "export default {};", loader: "js" }));
  },
};

const host = {
  ...shared,
  entryPoints: { extension: "src/extension.ts" },
  outdir: "dist",
  outExtension: { ".js": ".cjs" },
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
};
const page = {
  ...shared,
  entryPoints: {
    main: "src/webview/main.tsx",
    create_spec: "src/webview/create_spec/main.tsx",
    // Loaded with the first formula.
    math: "src/webview/math/main.ts",
    // Loaded with the first diagram.
    diagrams: "src/webview/diagrams/main.ts",
  },
  outdir: "dist/webview",
  platform: "browser",
  target: "es2022",
  format: "iife",
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { "process.env.NODE_ENV": '"production"' },
  plugins: [leftOut],
};

await rm("dist", { recursive: true, force: true });
await mkdir("dist/webview", { recursive: true });
const icons = path.dirname(createRequire(import.meta.url).resolve("@vscode/codicons/dist/codicon.css"));
for (const file of ["codicon.css", "codicon.ttf"]) await cp(path.join(icons, file), path.join("dist/webview", file));
if (watch) for (const options of [host, page]) await (await context(options)).watch();
else {
  const built = await Promise.all([build(host), build(page)]);
  const copied = path.relative(".", path.join(icons, "codicon.css")).replaceAll("\\", "/");
  await writeNotice("dist/THIRD-PARTY.txt", built.map(({ metafile }) => metafile), [copied]);
}
