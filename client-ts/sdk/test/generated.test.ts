import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { contract, folder, generate } from "../scripts/generate.mjs";
import { openShapes } from "../scripts/open_sets.mjs";
import { typeOf } from "../scripts/schema_types.mjs";
import {
  CLIENT_NOTIFICATIONS,
  paramsFault,
  REQUESTS,
  resultFault,
  SERVER_NOTIFICATIONS,
  shapeFault,
  VALUES,
  WIRE_VERSION,
} from "../src/core/index.js";
import { list, readJson, sdkFolder } from "./repository.js";
import { counterexamples, example, type Schema } from "./schema_examples.js";

interface Meta {
  v: number;
  methods: { method: string; direction: string; params: string; result?: string }[];
}

const meta = readJson("schemas/meta.json") as Meta;
const of = (direction: string) => meta.methods.filter((one) => one.direction === direction).map(({ method }) => method);

test("the generated files are what schemas/ says; after a change run `npm run generate`", async () => {
  const files = await generate();
  expect(readdirSync(folder).sort()).toEqual(Object.keys(files).sort());
  for (const [name, text] of Object.entries(files)) {
    expect(readFileSync(join(folder, name), "utf8") === text, `${name} is stale`).toBe(true);
  }
}, 60_000);

test("the tables of methods are those of schemas/meta.json", () => {
  expect([WIRE_VERSION, REQUESTS, CLIENT_NOTIFICATIONS, SERVER_NOTIFICATIONS]).toEqual([
    meta.v,
    of("request, editor to server"),
    of("notification, editor to server"),
    of("notification, server to editor"),
  ]);
});

describe("R000-70: of a newer server", () => {
  const open = openShapes(contract());

  test("a word that nobody knows yet fits every set of words that a server says", () => {
    const sets = Object.keys(VALUES).filter((name) => open.has(name));
    expect(sets.length).toBeGreaterThan(40);
    expect(sets.filter((name) => shapeFault(name, "of_tomorrow") !== undefined)).toEqual([]);
    expect(sets.filter((name) => shapeFault(name, 1) === undefined)).toEqual([]);
  });

  test("a kind that nobody knows yet fits every shape that is told apart by it", () => {
    const tag = { Block: { kind: "of_tomorrow", id: "b", seq: 1 }, Subject: { kind: "of_tomorrow" }, ContextMention: { type: "of_tomorrow" } };
    const told = [...open].filter((name) => !(name in VALUES));
    expect(told).toEqual(Object.keys(tag).sort());
    for (const [name, value] of Object.entries(tag)) expect(shapeFault(name, value), name).toBeUndefined();
    expect(paramsFault("bb/tab", { tabId: "t", epoch: "e", index: 1, kind: "of_tomorrow" })).toBeUndefined();
  });

  test("words by which a message is taken apart, and what a client sends, stay as they are", () => {
    for (const name of ["ChangeOp", "Lane", "EvtKind", "ReqKind", "ResKind"])
      expect(shapeFault(name, "of_tomorrow"), name).toBeDefined();
    const answer = { sessionId: "s", requestId: "r" };
    expect(paramsFault("bb/approvePermission", { ...answer, decision: "deny" })).toBeUndefined();
    expect(paramsFault("bb/approvePermission", { ...answer, decision: "of_tomorrow" })).toBeDefined();
  });
});

test("every shape of schemas/ has a type", () => {
  const { shapes } = contract();
  const defined = list("schemas", ".json")
    .filter((name) => name !== "meta.json")
    .flatMap((name) => Object.keys((readJson(`schemas/${name}`) as Schema).$defs ?? {}));
  const types = readFileSync(join(folder, "types.ts"), "utf8");
  const missing = [...new Set([...defined, ...shapes.keys()])].filter(
    (name) => !types.includes(`export type ${name} =`),
  );
  expect(missing).toEqual([]);
});

describe("R000-74: the validator of", () => {
  const parts = meta.methods
    .filter(({ direction }) => direction !== "settings")
    .flatMap(({ method, params, result }) => [
      { method, part: "params" as const, at: params },
      ...(result ? [{ method, part: "result" as const, at: result }] : []),
    ]);

  test.each(parts)("$method $part takes what fits and nothing else", ({ method, part, at }) => {
    const [file = "", path = ""] = at.split("#");
    const whole = readJson(`schemas/${file}`) as Schema;
    const schema = path
      .split("/")
      .slice(1)
      .reduce<Schema>((node, key) => (node as Record<string, Schema>)[key] ?? {}, whole);
    const fault = part === "params" ? paramsFault : resultFault;
    const good = example(schema, whole.$defs ?? {}) as object;
    expect(fault(method, good)).toBeUndefined();
    expect(fault(method, { ...good, aFieldOfTomorrow: { is: ["kept"] } })).toBeUndefined();
    const taken = counterexamples(schema, whole.$defs ?? {}).filter(([, value]) => fault(method, value) === undefined);
    expect(taken).toEqual([]);
  });
});

test("the validators need no eval and no other module", () => {
  // Values of a schema may be named as anything.
  const code = readFileSync(join(folder, "validators.ts"), "utf8").replace(/"(?:[^"\\]|\\.)*"/g, '""');
  expect(code.length).toBeGreaterThan(10_000);
  expect(code.match(/\beval\s*\(|new Function|\bFunction\s*\(|\brequire\s*\(|\bimport\b/g)).toBeNull();
});

test("the package has its licences in it, and bundles nobody else's code", () => {
  const { files } = JSON.parse(readFileSync(join(sdkFolder, "package.json"), "utf8")) as { files: string[] };
  for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) {
    expect(files).toContain(name);
    expect(readFileSync(join(sdkFolder, name), "utf8")).not.toBe("");
  }
  expect(readFileSync(join(folder, "validators.ts"), "utf8")).not.toMatch(/ucs2length|fast-deep-equal|node_modules/);
});

test("R000-64: everything runs where code from strings is forbidden", async () => {
  const script = `
    const { paramsFault, REQUESTS } = await import(process.argv[1]);
    let refused = false;
    try { new Function("") } catch { refused = true }
    console.log(JSON.stringify([refused, paramsFault("bb/stop", {}), REQUESTS.length]));
  `;
  const core = pathToFileURL(join(sdkFolder, "dist", "core", "index.js")).href;
  const args = ["--disallow-code-generation-from-strings", "--input-type=module", "-e", script, core];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toEqual([true, "the whole must have required property 'sessionId'", REQUESTS.length]);
});

test("the core imports nothing but itself", () => {
  const core = join(sdkFolder, "src", "core");
  const sources = readdirSync(core).filter((name) => name.endsWith(".ts"));
  const imports = sources.flatMap((name) =>
    [...readFileSync(join(core, name), "utf8").matchAll(/from "([^"]+)"/g)].map(([, from]) => from),
  );
  expect(imports.length).toBeGreaterThan(10);
  expect(imports.filter((from) => !from?.startsWith("./"))).toEqual([]);
});

describe("the generator", () => {
  test.each([
    ["an optional text", { type: ["string", "null"] }, "string | null"],
    ["a list", { type: "array", items: { anyOf: [{ $ref: "#/$defs/A" }, { type: "null" }] } }, "Array<A | null>"],
    ["a map", { type: "object", additionalProperties: { type: "integer" } }, "{ [key: string]: number }"],
    [
      "constants",
      {
        oneOf: [
          { const: "a", type: "string" },
          { const: "b", type: "string" },
        ],
      },
      '"a" | "b"',
    ],
    ["anything", { description: "More." }, "unknown"],
    ["one number", { type: "integer", minimum: 1, maximum: 1 }, "1"],
    [
      "either of two fields, not null",
      {
        type: "object",
        properties: { a: { type: ["string", "null"] }, b: { type: ["string", "null"] } },
        anyOf: [
          { required: ["a"], not: { properties: { a: { type: "null" } } } },
          { required: ["b"], not: { properties: { b: { type: "null" } } } },
        ],
      },
      "({\n  a?: string | null;\n  b?: string | null;\n}) & ({\n  a: NonNullable<unknown>;\n} | {\n  b: NonNullable<unknown>;\n})",
    ],
    ["an empty object", { type: "object", properties: {} }, "{ [key: string]: unknown }"],
  ])("writes %s", (_, schema, type) => {
    expect(typeOf(schema)).toBe(type);
  });

  test("refuses a `not` that no type can say", () => {
    expect(() => typeOf({ not: { properties: { a: { type: "null" }, b: { type: "null" } } } })).toThrow("Only `not:");
    expect(() => typeOf({ not: { properties: { a: { type: "string" } } }, required: ["a"] })).toThrow("Only `not:");
  });

  test("refuses a keyword that it does not know, instead of writing `unknown`", () => {
    expect(() => typeOf({ type: "object", patternProperties: {} })).toThrow(
      'The schema keyword "patternProperties" is unknown',
    );
  });
});
