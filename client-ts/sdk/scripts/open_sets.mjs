// Which sets of words a newer server of the same version may add to: PROTOCOL.md, "Versions".
//
// Owns that rule for the generated types and validators. A set is open where a server says a word of it, except for the words by which
// a message is taken apart: a client that does not know one of those could not go on. What a client sends stays as the schemas say it.

/** The words by which a message is taken apart. */
const CLOSED = new Set(["ChangeOp", "Lane", "ReqKind", "ResKind", "EvtKind", "Topic"]);

/** The values of a schema that is a closed set of texts. */
export function valuesOf({ oneOf, enum: values }) {
  const texts = values ?? (oneOf?.every((choice) => "const" in choice) ? oneOf.map((choice) => choice.const) : []);
  return texts.length > 1 && texts.every((text) => typeof text === "string") ? texts : undefined;
}

/** The field by which the choices of `oneOf` are told apart, if each has one with a constant of its own. */
export function tagOf(choices) {
  const [first] = choices;
  return Object.keys(first.properties ?? {}).find((name) =>
    choices.every((choice) => choice.required?.includes(name) && choice.properties?.[name]?.const !== undefined),
  );
}

/** The names of the shapes that a server says and may add to: sets of words, and shapes that are told apart by a word. */
export function openShapes({ methods, shapes }) {
  const said = new Set();
  const walk = (node) => {
    if (node === null || typeof node !== "object") return;
    const name = typeof node.$ref === "string" ? node.$ref.replace("#/$defs/", "") : undefined;
    if (name !== undefined && !said.has(name)) {
      said.add(name);
      walk(shapes.get(name));
    }
    for (const part of Object.values(node)) walk(part);
  };
  for (const { result } of methods.requests) walk(result);
  for (const { params } of [...methods.serverRequests, ...methods.serverNotifications]) walk(params);
  const grows = (schema) => valuesOf(schema) !== undefined || (schema.oneOf !== undefined && tagOf(schema.oneOf) !== undefined);
  return new Set([...said].filter((name) => !CLOSED.has(name) && grows(shapes.get(name))).sort());
}
