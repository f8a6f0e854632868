/** Checks values against the compiled schemas. Never changes a value: fields that no schema knows are kept. */

import { validators as compiled } from "./generated/validators.js";

interface Fault {
  instancePath: string;
  message?: string;
}

interface Validator {
  (value: unknown): boolean;
  errors?: Fault[] | null;
}

const validators: ReadonlyMap<string, Validator> = new Map(Object.entries(compiled as Record<string, Validator>));

function check(name: string, value: unknown): string | undefined {
  const validator = validators.get(name);
  if (!validator || validator(value)) return undefined;
  const fault = validator.errors?.[0];
  return `${fault?.instancePath || "the whole"} ${fault?.message ?? "does not fit"}`;
}

/** What is wrong with the params of `method`, or `undefined`; also where the schemas know no such method. */
export function paramsFault(method: string, params: unknown): string | undefined {
  return check(`${method} params`, params);
}

/** What is wrong with the result of the request `method`, or `undefined`. */
export function resultFault(method: string, result: unknown): string | undefined {
  return check(`${method} result`, result);
}

/** What is wrong with `value` as a shape of the schemas (`RpcReq`, `View` ...), or `undefined`. */
export function shapeFault(shape: string, value: unknown): string | undefined {
  if (!validators.has(shape)) throw new Error(`There is no schema ${shape}; run \`npm run generate\`.`);
  return check(shape, value);
}
