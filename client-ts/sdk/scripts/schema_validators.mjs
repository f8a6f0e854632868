// Compiles JSON Schema nodes ahead of time, so that a strict Content Security Policy (no eval) is enough at run time.
//
// Owns how a schema becomes code: what a client sends is checked strictly; what it receives is open where a newer server of the same
// version may add, as `open_sets.mjs` says. Extra fields are accepted everywhere.

import { Ajv } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import { build } from "esbuild";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { openShapes, tagOf } from "./open_sets.mjs";

const here = dirname(fileURLToPath(import.meta.url));

function constants(node) {
  return node.oneOf?.every((choice) => "const" in choice) ? node.oneOf.map((choice) => choice.const) : undefined;
}

/** `node` with references into `base`, and unions in the form that compiles to the quickest code. */
function prepared(node, base) {
  if (Array.isArray(node)) return node.map((part) => prepared(part, base));
  if (node === null || typeof node !== "object") return node;
  const values = constants(node);
  if (values) return { enum: values };
  const copy = {};
  for (const [key, value] of Object.entries(node)) {
    // The whole range of a 64-bit number is no bound for a JavaScript number.
    if (key === "maximum" && value >= Number.MAX_SAFE_INTEGER) continue;
    if (["title", "description", "default", "format", "direction", "$schema", "$defs"].includes(key)) continue;
    if (key === "properties") {
      copy.properties = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, prepared(part, base)]));
    } else if (key === "$ref") {
      copy.$ref = value.replace("#", `${base}#`);
    } else if (key === "const") {
      copy.const = value;
    } else {
      copy[key] = prepared(value, base);
    }
  }
  const tag = copy.oneOf && tagOf(copy.oneOf);
  if (tag) {
    copy.type = "object";
    copy.required = [...new Set([...(copy.required ?? []), tag])];
    copy.discriminator = { propertyName: tag };
  }
  return copy;
}

/** `schema` with its closed set of constants or tags opened to other strings. */
function opened(schema) {
  if (schema.enum) return { type: "string" };
  const { oneOf, discriminator, ...base } = schema;
  const tag = discriminator.propertyName;
  const known = oneOf.map((choice) => choice.properties[tag].const);
  return {
    ...base,
    properties: { ...base.properties, [tag]: { type: "string" } },
    if: { properties: { [tag]: { enum: known } } },
    then: { type: "object", required: [tag], discriminator, oneOf },
  };
}

/** The code of all validators: `validators["<method> params"]`, `["<method> result"]`, `["<shape>"]`. */
export async function compileValidators(contract) {
  const { methods, shapes } = contract;
  const open = openShapes(contract);
  const ajv = new Ajv({
    code: { source: true, esm: true },
    strict: false,
    validateFormats: false,
    discriminator: true,
    inlineRefs: false,
  });
  const definitions = (base, change) => ({
    $id: base,
    $defs: Object.fromEntries([...shapes].map(([name, schema]) => [name, change(name, prepared(schema, base))])),
  });
  ajv.addSchema(definitions("strict", (_, schema) => schema));
  ajv.addSchema(definitions("open", (name, schema) => (open.has(name) ? opened(schema) : schema)));
  const names = {};
  const ids = new Map();
  const add = (name, schema) => {
    // Many methods share their params; one shape is compiled once.
    const text = JSON.stringify(schema);
    if (!ids.has(text)) {
      ids.set(text, `v${ids.size}`);
      ajv.addSchema({ ...schema, $id: ids.get(text) });
    }
    names[name] = ids.get(text);
  };
  const sent = (name, schema) => add(name, prepared(schema, "strict"));
  const received = (name, schema) => add(name, prepared(schema, "open"));
  for (const { method, params, result } of methods.requests) {
    sent(`${method} params`, params);
    received(`${method} result`, result);
  }
  for (const { method, params } of methods.clientNotifications) sent(`${method} params`, params);
  for (const { method, params, result } of methods.serverRequests) {
    received(`${method} params`, params);
    if (result) sent(`${method} result`, result);
  }
  for (const { method, params } of methods.serverNotifications) {
    const schema = prepared(params, "open");
    add(`${method} params`, schema.discriminator ? opened(schema) : schema);
  }
  for (const { method, params } of methods.settings) sent(method, params);
  for (const name of shapes.keys()) {
    add(name, { $ref: `open#/$defs/${name}` });
  }
  const exported = Object.fromEntries([...ids.values()].map((id) => [id, id]));
  const code = standalone
    .default(ajv, exported)
    .replace(/^"use strict";/, "")
    .replace(/export const (v\d+) ?=/g, "const $1 =")
    // Only the place and the words of a fault are used; the rest is half of the code.
    .replace(/schemaPath: ?"[^"]*",keyword: ?"[^"]*",params: ?\{[^{}]*\},/g, "");
  const table = Object.entries(names)
    .map(([name, id]) => `  ${JSON.stringify(name)}: ${id},\n`)
    .join("");
  const bundled = await build({
    stdin: { contents: `${code}\nexport const validators = {\n${table}};\n`, resolveDir: here, loader: "js" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    target: "es2022",
    treeShaking: true,
    minifyWhitespace: true,
    minifySyntax: true,
    charset: "utf8",
    logLevel: "silent",
  });
  return bundled.outputFiles[0].text;
}
