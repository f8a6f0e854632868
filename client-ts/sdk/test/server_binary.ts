/** The real server: where its binary is, and a fresh place to run it in. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { repository } from "./repository.js";

const program = process.platform === "win32" ? "breadboard-ls.exe" : "breadboard-ls";

/**
 * Path of the binary. Throws, rather than skips, where there is none: a smoke test that did not run is no green one.
 */
export function serverBinary(): string {
  const named = process.env["BB_SERVER"];
  const path = named ? resolve(named) : join(repository, "target", "debug", program);
  if (existsSync(path)) return path;
  throw new Error(`There is no server at ${path}; run \`cargo build\`, or name a built one with BB_SERVER.`);
}

/** A workspace with one file, a state directory, and how to take both away. */
export function freshPlace(): { workspace: string; stateDir: string; remove(): void } {
  const workspace = mkdtempSync(join(tmpdir(), "bb-sdk-workspace-"));
  const stateDir = mkdtempSync(join(tmpdir(), "bb-sdk-state-"));
  writeFileSync(join(workspace, "retry.rs"), "/// How often we try again.\npub const RETRY_LIMIT: u32 = 3;\n");
  const remove = () => [workspace, stateDir].forEach((path) => rmSync(path, { recursive: true, force: true }));
  return { workspace, stateDir, remove };
}
