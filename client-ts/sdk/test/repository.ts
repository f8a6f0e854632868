/** Where the repository is, seen from the tests. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const sdkFolder = join(dirname(fileURLToPath(import.meta.url)), "..");
export const repository = join(sdkFolder, "..", "..");

export function readText(path: string): string {
  return readFileSync(join(repository, path), "utf8");
}

export function readJson(path: string): unknown {
  return JSON.parse(readText(path));
}

export function list(folder: string, end: string): string[] {
  return readdirSync(join(repository, folder))
    .filter((name) => name.endsWith(end))
    .sort();
}
