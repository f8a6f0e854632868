/** Every line of seeds 000, 001, 003 and 004 that is this client's has a test here that names it. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

/**
 * The lines of 000 that the server's own list leaves to the clients, those of 001 that a page which draws the view has a
 * part in, the panes of 003 and both sides of 004's form. tests/requirements.rs reads these names too.
 */
const CLIENTS = [
  ...[2, 6, 7, 57, 58, 64, 65, 67, 72, 79].map((line) => `R000-${String(line).padStart(2, "0")}`),
  // Routing and deduplication by `bb/tab` (5, 10, 12, 44) are those of the SDK's tabs, which this page does not hear.
  ...[3, 6, 11, 13, 18, 25, 26, 29, 30, 35, 36, 42, 45, 52, 53, 54, 57, 58, 59, 60, 61, 63, 67, 68].map(
    (line) => `R001-${String(line).padStart(2, "0")}`,
  ),
  ...Array.from({ length: 28 }, (_, at) => `R003-${String(at + 9).padStart(2, "0")}`),
  // What is read from a file (20, 28, 58, 59) and the number itself (63) are the server's.
  ...Array.from({ length: 64 }, (_, at) => at + 1)
    .filter((line) => ![20, 28, 58, 59, 63].includes(line))
    .map((line) => `R004-${String(line).padStart(2, "0")}`),
  ...[37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 49, 50, 51, 52, 54, 55, 58, 59, 60].map((line) => `R003-${line}`),
];

it("no line of the clients is without a test", () => {
  const names = readdirSync("test", { recursive: true, encoding: "utf8" })
    .filter((file) => /\.test\.tsx?$/.test(file))
    .flatMap((file) =>
      [...readFileSync(`test/${file}`, "utf8").matchAll(/\bit\("([^"]+)"/g)].map(([, name]) => name ?? ""),
    );
  const named = new Set(names.flatMap((name) => name.match(/R\d{3}-\d{2}/g) ?? []));
  expect(CLIENTS.filter((line) => !named.has(line))).toEqual([]);
});
