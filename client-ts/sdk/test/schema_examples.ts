/** Values that fit a schema of the repository, and values that just do not. */

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  not?: Schema;
  minimum?: number;
}

type Definitions = Record<string, Schema>;

/** The least value that fits. */
export function example(schema: Schema, definitions: Definitions): unknown {
  if (schema.$ref) return example(definitions[schema.$ref.replace("#/$defs/", "")] ?? {}, definitions);
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [choice] = schema.oneOf ?? schema.anyOf ?? [];
  const chosen = choice ? example(choice, definitions) : undefined;
  if (choice && !schema.properties) return chosen;
  switch ([schema.type].flat()[0]) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return schema.minimum ?? 0;
    case "boolean":
      return true;
    case "array":
      return [];
    case "object": {
      const required = [...(schema.required ?? []), ...(choice?.required ?? [])].filter((name) => schema.properties?.[name]);
      const own = required.map((name) => [name, example(schema.properties?.[name] ?? {}, definitions)] as const);
      return { ...Object.fromEntries(own), ...(chosen as object | undefined) };
    }
    default:
      return {};
  }
}

/**
 * Values that each break one rule of an object's schema: a required field is missing, or is of a kind that it never
 * is, or none of the fields is there of which one must be.
 */
export function counterexamples(schema: Schema, definitions: Definitions): [string, unknown][] {
  const whole = example(schema, definitions) as Record<string, unknown>;
  const wrong: [string, unknown][] = [
    ["a list", []],
    ["null", null],
    ["a word", "word"],
  ];
  for (const name of schema.required ?? []) {
    const { [name]: _, ...rest } = whole;
    wrong.push([`no ${name}`, rest]);
    const anything = Object.keys(schema.properties?.[name] ?? {}).every((key) => key === "description");
    if (!anything) wrong.push([`${name} as a list of lists`, { ...whole, [name]: [[[]]] }]);
  }
  const either = (schema.anyOf ?? []).filter((choice) => choice.required && !choice.type && !choice.properties);
  if (either.length > 0) {
    const names = either.flatMap((choice) => choice.required ?? []);
    const rest = Object.fromEntries(Object.entries(whole).filter(([name]) => !names.includes(name)));
    wrong.push([`none of ${names.join(", ")}`, rest]);
    for (const { not } of either) {
      for (const name of Object.keys(not?.properties ?? {})) wrong.push([`${name} is null`, { ...rest, [name]: null }]);
    }
  }
  return wrong;
}
