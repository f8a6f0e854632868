// Packages the extension: `npm run package` without a server, `npm run package:target linux-x64 <program> [notice]` with one for
// a platform, and with what is linked into it.
import { spawnSync } from "node:child_process";
import { chmod, copyFile, mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";

const TARGETS = [
  "linux-x64",
  "linux-arm64",
  "alpine-x64",
  "alpine-arm64",
  "darwin-x64",
  "darwin-arm64",
  "win32-x64",
  "win32-arm64",
];
const [flag, target, program, notice] = process.argv.slice(2);
const { name, version } = JSON.parse(await readFile("package.json", "utf8"));
const args = ["package", "--no-dependencies", "--allow-missing-repository"];
let out = `${name}-${version}.vsix`;

await rm("server", { recursive: true, force: true });
if (flag === "--target") {
  if (!TARGETS.includes(target) || program === undefined) {
    console.error(`usage: npm run package:target -- <${TARGETS.join("|")}> <path of the server program for it> [its notice]`);
    process.exit(2);
  }
  const file = path.join("server", target.startsWith("win32") ? "breadboard-ls.exe" : "breadboard-ls");
  await mkdir("server");
  await copyFile(program, file);
  await chmod(file, 0o755);
  if (notice !== undefined) await copyFile(notice, path.join("server", "THIRD-PARTY.txt"));
  out = `${name}-${target}-${version}.vsix`;
  args.push("--target", target);
}
const made = spawnSync("npx", ["vsce", ...args, "--out", out], {
  stdio: "inherit",
  shell: process.platform === "win32",
});
await rm("server", { recursive: true, force: true });
process.exit(made.status ?? 1);
