// What of other people's packages is in the bundles: the list with each licence and its text, which goes along with them.
//
// Owns which licences may be in there. Never looks at what only builds or tests.
import { readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";

// The icons of Codicons are under the last one.
const ALLOWED = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "(MPL-2.0 OR Apache-2.0)",
  "CC-BY-4.0",
]);
// Packages that do not say their licence where others do, by the text that is with them.
const SAID_IN_TEXT = new Map([["khroma", "MIT"]]);
const LEGAL = /^(licen[cs]e|copying|notice|thirdparty)/i;

// The folders of the packages that these files belong to, in the order of their names.
function foldersOf(files) {
  const folders = new Set();
  for (const file of files) {
    const within = file.split("/");
    const at = within.lastIndexOf("node_modules");
    if (at < 0) continue;
    const parts = within[at + 1]?.startsWith("@") ? 2 : 1;
    folders.add(within.slice(0, at + 1 + parts).join("/"));
  }
  return [...folders].sort();
}

// The notice of what `files` come from: paths of bundled files, with slashes. A licence that nobody allowed is an error.
export async function notice(files) {
  const lines = ["This extension contains code of these packages, each under its own licence.", ""];
  const texts = new Map();
  for (const folder of foldersOf(files)) {
    const said = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const { name, version, license = SAID_IN_TEXT.get(name) } = said;
    if (!ALLOWED.has(license)) {
      throw new Error(`${name} ${version} is under ${license ?? "no licence"}, which notice.mjs does not name`);
    }
    const label = `${name} ${version}`;
    lines.push(`${label}: ${license}`);
    const legal = (await readdir(folder)).filter((file) => LEGAL.test(file)).sort();
    for (const file of legal) {
      const text = (await readFile(path.join(folder, file), "utf8")).trim();
      texts.set(text, [...(texts.get(text) ?? []), label]);
    }
  }
  for (const [text, labels] of texts) lines.push("", "-".repeat(78), labels.join(", "), "", text);
  return `${lines.join("\n")}\n`;
}

// Writes it beside the bundles that esbuild describes.
export async function writeNotice(file, metafiles, copied) {
  const bundled = metafiles.flatMap((metafile) =>
    Object.values(metafile.outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([input, { bytesInOutput }]) => (bytesInOutput > 0 ? [input] : [])),
    ),
  );
  await writeFile(file, await notice([...bundled, ...copied]));
}
