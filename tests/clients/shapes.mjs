// The shapes of `schemas/`, walked together with values that have them.
//
// Owns how a value is found to be of a shape. Changes nothing by itself.
import { readdirSync, readFileSync } from "node:fs";

const FOLDER = new URL("../../schemas/", import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, FOLDER), "utf8"));
const meta = read("meta.json");
const files = new Map(
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(".json"))
    .map((name) => [name, read(name)]),
);

/** The schema of a part of a method, `params` or `result`, with the file that its references lead into. */
export function shapeOf(method, part) {
  const at = meta.methods.find((one) => one.method === method)?.[part];
  if (at === undefined) return undefined;
  const [name, path] = at.split("#");
  const file = files.get(name);
  return { file, schema: path.split("/").slice(1).reduce((node, key) => node[key], file) };
}

const follow = (file, schema) => (schema?.$ref === undefined ? schema : file.$defs[schema.$ref.replace("#/$defs/", "")]);

/** What an object may have and must have, by all parts of its schema that fit it. `undefined` where its names are free. */
function fields(file, schema, value) {
  const properties = { ...schema.properties };
  const required = new Set(schema.required);
  for (const choice of [...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])]) {
    const one = follow(file, choice);
    const tags = Object.entries(one?.properties ?? {}).filter(([, { const: said }]) => said !== undefined);
    if (!tags.every(([name, { const: said }]) => value[name] === said)) continue;
    const inner = one?.properties === undefined ? undefined : fields(file, one, value);
    Object.assign(properties, inner?.properties);
    for (const name of inner?.required ?? []) required.add(name);
  }
  return Object.keys(properties).length === 0 ? undefined : { properties, required };
}

/** `value` with `change` made to each object in it whose fields the schema names: `change(object, required)`. */
export function changed({ file, schema }, value, change) {
  const at = follow(file, schema);
  if (at === undefined || value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const items = at.items ?? (at.anyOf ?? []).map((one) => follow(file, one)).find((one) => one?.items)?.items;
    return value.map((item) => changed({ file, schema: items }, item, change));
  }
  const known = fields(file, at, value);
  if (known === undefined) {
    const each = at.additionalProperties;
    if (typeof each !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, changed({ file, schema: each }, one, change)]));
  }
  const inner = Object.entries(value).map(([key, one]) => [
    key,
    known.properties[key] === undefined ? one : changed({ file, schema: known.properties[key] }, one, change),
  ]);
  return change(Object.fromEntries(inner), known.required);
}
