// @vitest-environment jsdom
/** What a page says of a server that lacks some of what it does, and that it offers none of that. */
import { readdirSync, readFileSync } from "node:fs";
import { REQUESTS } from "@breadboard-ls/sdk";
import type { Block } from "@breadboard-ls/sdk";
import { expect, it } from "vitest";
import { FEATURES, missingIn } from "../../src/webview/panes/older_server";
import { FIRST } from "../../../../tests/clients/first_methods.mjs";
import { openPage } from "./page";

const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));

it("R000-70: whatever this extension asks of a server, the first ones had it or a person is told what is missing", () => {
  const known = new Set<string>(REQUESTS);
  const used = new Set(
    files
      .filter((file) => !file.endsWith("older_server.tsx"))
      .flatMap((file) => [...readFileSync(`src/${file}`, "utf8").matchAll(/"(bb\/[\w/]+)"/g)].map(([, method]) => method as string))
      .filter((method) => known.has(method)),
  );
  expect(used.size).toBeGreaterThan(40);
  expect([...used].filter((method) => !FIRST.has(method) && FEATURES[method] === undefined), "say what it is to a person").toEqual([]);
  expect(Object.keys(FEATURES).filter((method) => FIRST.has(method) || !used.has(method)), "needs no words").toEqual([]);
});

const program = { name: "breadboard-ls 0.0.9", from: "setting" } as const;

it("R000-70: an older server is named, with what does not work and what to do, until somebody has read it", async () => {
  const page = await openPage({ status: { methods: [...FIRST], program } });
  const banner = page.one(".banner.warning", "older than this extension");
  expect(banner.textContent).toContain("The server breadboard-ls 0.0.9 is older than this extension");
  expect(banner.textContent).toContain("clear the setting breadboard.server.path");
  expect([...banner.querySelectorAll("li")].map(({ textContent }) => textContent)).toEqual(missingIn([...FIRST]));
  await page.click(".banner button", /^Dismiss$/);
  expect(page.all(".banner")).toEqual([]);
});

it("another way on where the program was found otherwise, and nothing where nothing is missing or no server runs", async () => {
  const found = await openPage({ status: { methods: [...FIRST], program: { ...program, from: "path" } } });
  expect(found.one(".banner").textContent).toContain("name a newer one in the setting");
  for (const status of [{ methods: [...REQUESTS], program }, { methods: [], server: "starting" as const, program }])
    expect((await openPage({ status })).all(".banner", "older than")).toEqual([]);
});

it("R000-70: what a turn changed is not offered to be shown or taken back where the server cannot", async () => {
  const block = { id: "c", kind: "changes", seq: 9, turn: 1, promptSeq: 4, text: "1 file changed.", files: [{ filePath: "a", change: "modify", added: 1, removed: 1, by: "engine", state: "as_left", review: "open" }] };
  const page = await openPage({ lanes: { chat: [block as unknown as Block] }, status: { methods: [...FIRST] } });
  expect(page.one(".turn-changes").textContent).toContain("This server does not tell what a turn changed; update it.");
  expect(page.all(".turn-changes button")).toEqual([]);
});
