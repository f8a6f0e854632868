// Emits TypeScript types for JSON Schema nodes.
//
// Owns the mapping of one schema node to one type expression. Never reads a file and knows no method: what the schemas
// say is all there is. A keyword that it does not know is an error, so that no shape silently becomes `unknown`.

const ANNOTATIONS = new Set([
  "$schema",
  "$defs",
  "title",
  "description",
  "direction",
  "default",
  "format",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minLength",
  "maxLength",
  "pattern",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "deprecated",
  "examples",
]);
const SHAPES = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "const",
  "enum",
  "$ref",
  "oneOf",
  "anyOf",
  "allOf",
  "not",
]);

/** `text` as a doc comment, indented; empty when there is nothing to say. */
export function docComment(text, indent = "") {
  if (!text) return "";
  const lines = text
    .replaceAll("*/", "* /")
    .split("\n")
    .map((line) => line.trimEnd());
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} *${line ? ` ${line}` : ""}\n`).join("")}${indent} */\n`;
}

function propertyName(name) {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function array(item) {
  return /^[\w$.]+$/.test(item) ? `${item}[]` : `Array<${item}>`;
}

function union(parts) {
  const distinct = [...new Set(parts)];
  if (distinct.includes("unknown")) return "unknown";
  return distinct.join(" | ");
}

function nested(type) {
  return type.includes(" | ") && !/^[({].*[)}]$/s.test(type) ? `(${type})` : type;
}

function objectType(node, indent) {
  const inner = `${indent}  `;
  const required = new Set(node.required ?? []);
  const properties = Object.entries(node.properties ?? {});
  const lines = properties.map(([name, schema]) => {
    const mark = required.has(name) ? "" : "?";
    return `${docComment(schema.description, inner)}${inner}${propertyName(name)}${mark}: ${typeOf(schema, inner)};\n`;
  });
  for (const name of required) {
    const type = present(node).has(name) ? "NonNullable<unknown>" : "unknown";
    if (!node.properties || !(name in node.properties)) lines.push(`${inner}${propertyName(name)}: ${type};\n`);
  }
  const parts = [];
  if (lines.length > 0) parts.push(`{\n${lines.join("")}${indent}}`);
  const extra = node.additionalProperties;
  if (extra && extra !== true) parts.push(`{ [key: string]: ${typeOf(extra, indent)} }`);
  if (parts.length === 0) parts.push("{ [key: string]: unknown }");
  return parts.join(" & ");
}

function typeOfKind(kind, node, indent) {
  switch (kind) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return node.minimum !== undefined && node.minimum === node.maximum ? String(node.minimum) : "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return array(node.items ? typeOf(node.items, indent) : "unknown");
    case "object":
      return objectType(node, indent);
    default:
      throw new Error(`The schema type ${JSON.stringify(kind)} is unknown; teach scripts/schema_types.mjs about it.`);
  }
}

/** The fields that a `not: { properties: { field: { type: "null" } } }` keeps from being null. */
function present({ not }) {
  const [key, ...more] = Object.keys(not ?? {});
  const fields = Object.entries(not?.properties ?? {});
  const single = key === "properties" && more.length === 0 && fields.length === 1;
  const nulls = fields.filter(([, schema]) => JSON.stringify(schema) === '{"type":"null"}');
  return new Set(single ? nulls.map(([name]) => name) : []);
}

/** The fields that a `not: { required: [...] }` forbids. */
function forbidden(node) {
  const keys = Object.keys(node);
  if (keys.length !== 1 || keys[0] !== "required") {
    throw new Error(
      "Only `not: { required: [...] }`, or that one required field is not null, can be written as a type, " +
        `not ${JSON.stringify(node)}.`,
    );
  }
  return `{ ${node.required.map((name) => `${propertyName(name)}?: never`).join("; ")} }`;
}

/** The type expression of one schema node. `indent` is the indentation of the line that it stands on. */
export function typeOf(node, indent = "") {
  if (node === true) return "unknown";
  for (const key of Object.keys(node)) {
    if (!ANNOTATIONS.has(key) && !SHAPES.has(key) && !key.startsWith("x-")) {
      throw new Error(`The schema keyword "${key}" is unknown; teach scripts/schema_types.mjs about it.`);
    }
  }
  if (node.$ref !== undefined) {
    const match = /^#\/\$defs\/(\w+)$/.exec(node.$ref);
    if (!match) throw new Error(`The reference ${node.$ref} does not lead to a \`$defs\` of its file.`);
    return match[1];
  }
  if ("const" in node) return JSON.stringify(node.const);
  if (node.enum) return union(node.enum.map((value) => JSON.stringify(value)));
  const parts = [];
  const kinds = node.type === undefined ? [] : [node.type].flat();
  const choices = node.oneOf ?? node.anyOf;
  const bare = node.properties === undefined && node.additionalProperties === undefined && node.items === undefined;
  if (kinds.length > 0 && !(choices && bare)) {
    parts.push(union(kinds.map((kind) => typeOfKind(kind, node, indent))));
  } else if (kinds.length === 0 && (node.properties || node.required)) {
    parts.push(objectType(node, indent));
  }
  if (choices) parts.push(union(choices.map((choice) => nested(typeOf(choice, indent)))));
  for (const part of node.allOf ?? []) parts.push(typeOf(part, indent));
  // A field that is required says itself that it is not null.
  const said = [...present(node)].some((name) => node.required?.includes(name) && !node.properties);
  if (node.not && !said) parts.push(forbidden(node.not));
  if (parts.length === 0) return "unknown";
  return parts.length === 1 ? parts[0] : parts.map((part) => (part.includes(" | ") ? `(${part})` : part)).join(" & ");
}
