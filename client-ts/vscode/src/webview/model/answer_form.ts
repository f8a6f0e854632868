/**
 * The fields that a question asks for, read from its JSON Schema, and the answer made of what was filled in.
 *
 * Owns which schemas can be filled in here: a flat object of texts, numbers, yes or no, and choices. Draws nothing and
 * sends nothing.
 */

import { t } from "../messages";

export interface Choice {
  readonly value: string | number | boolean;
  readonly label: string;
}

export type FieldKind =
  | { readonly type: "text" }
  | { readonly type: "number"; readonly integer: boolean; readonly least?: number; readonly most?: number }
  | { readonly type: "flag" }
  | { readonly type: "choice"; readonly choices: readonly Choice[] }
  /** Nothing that can be filled in here. */
  | { readonly type: "other" };

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly required: boolean;
  readonly kind: FieldKind;
  /** What stands in it at first, as its control holds it. */
  readonly first: string;
  readonly shortest?: number;
  readonly longest?: number;
}

/** What the controls hold, by name: text as it was typed, `true` or `false` of a flag, the place of a choice. */
export type Filled = ReadonlyMap<string, string>;

/** What is wrong with a field, by name. */
export type Faults = ReadonlyMap<string, string>;

export type FormAnswer =
  | { readonly ok: true; readonly content: Record<string, string | number | boolean> }
  | { readonly ok: false; readonly faults: Faults };

/** The fields of a schema, in its order. */
export function fieldsOf(schema: unknown): readonly Field[] {
  const properties = record(record(schema)?.["properties"]);
  if (properties === undefined) return [];
  const required = record(schema)?.["required"];
  return Object.entries(properties).map(([name, value]) => {
    const property = record(value) ?? {};
    const kind = kindOf(property);
    const hint = text(property["description"]);
    const shortest = count(property["minLength"]);
    const longest = count(property["maxLength"]);
    return {
      name,
      label: text(property["title"]) ?? name,
      ...(hint === undefined ? {} : { hint }),
      required: Array.isArray(required) && required.includes(name),
      kind,
      first: firstOf(kind, property["default"]),
      ...(shortest === undefined ? {} : { shortest }),
      ...(longest === undefined ? {} : { longest }),
    };
  });
}

/** The content of an answer, or what is wrong with each field. An empty field that need not be filled in is left out. */
export function answerOf(fields: readonly Field[], filled: Filled): FormAnswer {
  const content: [string, string | number | boolean][] = [];
  const faults = new Map<string, string>();
  for (const field of fields) {
    const given = filled.get(field.name) ?? field.first;
    const { kind } = field;
    if (kind.type === "flag") {
      content.push([field.name, given === "true"]);
      continue;
    }
    if (kind.type === "other") {
      if (field.required) faults.set(field.name, t("This cannot be filled in here."));
      continue;
    }
    if (given === "") {
      if (field.required) faults.set(field.name, t("Fill this in."));
      continue;
    }
    const fault = faultOf(field, given);
    if (fault !== undefined) faults.set(field.name, fault);
    else if (kind.type === "number") content.push([field.name, Number(given)]);
    else if (kind.type === "choice") content.push([field.name, kind.choices[Number(given)]?.value ?? given]);
    else content.push([field.name, given]);
  }
  return faults.size === 0 ? { ok: true, content: Object.fromEntries(content) } : { ok: false, faults };
}

function faultOf({ kind, shortest, longest }: Field, given: string): string | undefined {
  if (kind.type === "number") {
    const number = Number(given);
    if (given.trim() === "" || !Number.isFinite(number)) return t("This must be a number.");
    if (kind.integer && !Number.isSafeInteger(number)) return t("This must be a whole number.");
    if (kind.least !== undefined && number < kind.least) return t("This must be at least {0}.", kind.least);
    if (kind.most !== undefined && number > kind.most) return t("This must be at most {0}.", kind.most);
  }
  if (kind.type === "text") {
    const length = [...given].length;
    if (shortest !== undefined && length < shortest) return t("This must have at least {0} characters.", shortest);
    if (longest !== undefined && length > longest) return t("This must have at most {0} characters.", longest);
  }
  return undefined;
}

function kindOf(property: Readonly<Record<string, unknown>>): FieldKind {
  const choices = choicesOf(property);
  if (choices !== undefined) return { type: "choice", choices };
  switch (property["type"]) {
    case "string":
      return { type: "text" };
    case "boolean":
      return { type: "flag" };
    case "number":
    case "integer": {
      const { minimum: least, maximum: most } = property;
      return {
        type: "number",
        integer: property["type"] === "integer",
        ...(typeof least === "number" ? { least } : {}),
        ...(typeof most === "number" ? { most } : {}),
      };
    }
    default:
      return { type: "other" };
  }
}

/** An `enum`, its labels in `enumNames`, or a `oneOf` of constants with titles. */
function choicesOf(property: Readonly<Record<string, unknown>>): readonly Choice[] | undefined {
  const values = property["enum"];
  if (Array.isArray(values)) {
    const names: unknown = property["enumNames"];
    return values
      .map((value: unknown, at) => ({
        value,
        label: (Array.isArray(names) ? text(names[at]) : undefined) ?? String(value),
      }))
      .filter(isChoice);
  }
  const constants = property["oneOf"] ?? property["anyOf"];
  if (!Array.isArray(constants) || !constants.every((one) => record(one) !== undefined && "const" in (one as object)))
    return undefined;
  return (constants as Record<string, unknown>[])
    .map((one) => ({ value: one["const"], label: text(one["title"]) ?? String(one["const"]) }))
    .filter(isChoice);
}

function isChoice(choice: { value: unknown; label: string }): choice is Choice {
  return ["string", "number", "boolean"].includes(typeof choice.value);
}

function firstOf(kind: FieldKind, given: unknown): string {
  if (kind.type === "flag") return String(given === true);
  if (kind.type === "choice") {
    const at = kind.choices.findIndex(({ value }) => value === given);
    return at < 0 ? "" : String(at);
  }
  return typeof given === "string" || typeof given === "number" ? String(given) : "";
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
