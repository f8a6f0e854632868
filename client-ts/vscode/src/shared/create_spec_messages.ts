/**
 * The messages between the form of a new spec and its host (seed 004), bare as the seed has them.
 *
 * Owns names, shapes and run-time checks of both directions; both sides import it, and neither declares a message of
 * its own. Payloads that the server makes or takes have the types that are generated from its schemas. Knows no editor
 * and no page.
 */
import type { Requests } from "@breadboard-ls/sdk";

type Payload<M extends keyof Requests, Part extends "params" | "result"> = Requests[M][Part];

/** What `create-spec/ready` is answered with. */
export type Init = Payload<"bb/createSpec/ready", "result">;
/** What is submitted. */
export type Submission = Pick<Payload<"bb/createSpec/submit", "params">, "description" | "imageUris">;
/** What an import came to. */
export type ImportResult = Payload<"bb/createSpec/importMarkdown", "result">;
/** What attaching came to. */
export type AttachResult = Payload<"bb/createSpec/attachImages", "result">;
/** One image of the form. */
export type SpecImage = Extract<AttachResult, { images: unknown }>["images"][number];

/** Form to host: payload by type; `undefined` where there is none. */
export interface FormPayloads {
  "create-spec/ready": undefined;
  "create-spec/submit": Submission;
  "create-spec/autosave": { description: string };
  "create-spec/close-attempt": { hasDirtyChanges: boolean };
  "create-spec/import-markdown:request": undefined;
  "create-spec/attach-images:request": { currentCount: number };
}

/** Host to form: payload by type. */
export interface HostPayloads {
  "create-spec/init": Init;
  "create-spec/submit:success": undefined;
  "create-spec/submit:error": { message: string };
  "create-spec/confirm-close": { shouldClose: false };
  "create-spec/focus": undefined;
  "create-spec/import-markdown:result": ImportResult;
  "create-spec/attach-images:result": AttachResult;
  /** Ours, beside the seed's: a picker was closed with nothing picked, so nothing is coming. */
  "create-spec/picker-closed": undefined;
}

type MessageOf<P> = {
  [T in keyof P & string]: P[T] extends undefined ? { type: T; payload?: undefined } : { type: T; payload: P[T] };
}[keyof P & string];

/** A message of the form. */
export type FormMessage = MessageOf<FormPayloads>;
/** A message of the host. */
export type HostMessage = MessageOf<HostPayloads>;

/** Most images of one spec. */
export const MOST_IMAGES = 5;
/** How long after the last change the draft is kept, in milliseconds. */
export const AUTOSAVE_MS = 600;
/** Endings that the picker of images offers. What an image is, the server reads from its bytes. */
export const IMAGE_ENDINGS = ["png", "jpg", "jpeg", "gif", "webp", "svg"] as const;

type Check = (value: unknown) => string | undefined;

const text: Check = (value) => (typeof value === "string" ? undefined : "must be a string");
const word: Check = (value) =>
  typeof value === "string" && value.trim() !== "" ? undefined : "must be a string that is not blank";
const flag: Check = (value) => (typeof value === "boolean" ? undefined : "must be true or false");
const no: Check = (value) => (value === false ? undefined : "must be false");
const time: Check = (value) => (Number.isSafeInteger(value) ? undefined : "must be milliseconds since the Unix epoch");
const count: Check = (value) =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST_IMAGES
    ? undefined
    : `must be a whole number from 0 to ${MOST_IMAGES}`;
const fileUri: Check = (value) =>
  typeof value === "string" && /^file:\/\/\S+$/.test(value) ? undefined : "must be a `file://` URI";
const dataUrl: Check = (value) =>
  typeof value === "string" && /^data:image\/[\w.+-]+;base64,[A-Za-z0-9+/]+=*$/.test(value)
    ? undefined
    : "must be `data:image/...;base64,...`";
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value);
const listOf =
  (check: Check, most: number): Check =>
  (value) => {
    if (!Array.isArray(value)) return "must be a list";
    if (value.length > most) return `must have at most ${most} entries`;
    return value.map(check).find((fault) => fault !== undefined);
  };
const shape =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return "must be an object";
    for (const [name, check] of Object.entries(fields)) {
      const fault = check((value as Record<string, unknown>)[name]);
      if (fault !== undefined) return `\`${name}\` ${fault}`;
    }
    return undefined;
  };
/** Exactly one of two shapes, told apart by the field `error`. */
const orError =
  (good: Check): Check =>
  (value) =>
    typeof value === "object" && value !== null && "error" in value ? shape({ error: word })(value) : good(value);
const nothing: Check = (value) => (value === undefined ? undefined : "must not be there");

const FORM: { readonly [T in keyof FormPayloads]: Check } = {
  "create-spec/ready": nothing,
  "create-spec/submit": shape({ description: text, imageUris: listOf(text, Number.MAX_SAFE_INTEGER) }),
  "create-spec/autosave": shape({ description: text }),
  "create-spec/close-attempt": shape({ hasDirtyChanges: flag }),
  "create-spec/import-markdown:request": nothing,
  "create-spec/attach-images:request": shape({ currentCount: count }),
};

const HOST: { readonly [T in keyof HostPayloads]: Check } = {
  "create-spec/init": shape({
    draft: optional(shape({ formData: shape({ description: text }), lastUpdated: time })),
    shouldFocusPrimaryField: flag,
  }),
  "create-spec/submit:success": nothing,
  "create-spec/submit:error": shape({ message: word }),
  "create-spec/confirm-close": shape({ shouldClose: no }),
  "create-spec/focus": nothing,
  "create-spec/import-markdown:result": orError(shape({ content: text, warning: optional(word) })),
  "create-spec/attach-images:result": orError(
    shape({
      images: listOf(shape({ id: word, uri: fileUri, name: word, dataUrl }), MOST_IMAGES),
      capped: optional(flag),
    }),
  ),
  "create-spec/picker-closed": nothing,
};

/** The types of the form's messages. */
export const FORM_TYPES = Object.keys(FORM) as readonly (keyof FormPayloads)[];
/** The types of the host's messages. */
export const HOST_TYPES = Object.keys(HOST) as readonly (keyof HostPayloads)[];

/** What is wrong with a value as a message of the form, or `undefined`. Further fields are accepted. */
export function formFault(value: unknown): string | undefined {
  return fault(FORM, value);
}

/** What is wrong with a value as a message of the host, or `undefined`. Further fields are accepted. */
export function hostFault(value: unknown): string | undefined {
  return fault(HOST, value);
}

/**
 * Why this cannot be submitted, as a sentence for the user, or `undefined`. The form asks before it submits, the host
 * before it passes it on.
 */
export function submissionFault({ description, imageUris }: Submission): string | undefined {
  if (description.trim() === "") return "Describe the spec first.";
  if (imageUris.length > MOST_IMAGES) return `A spec has at most ${MOST_IMAGES} images; remove some.`;
  if (imageUris.some((uri) => fileUri(uri) !== undefined)) return "An image is not a file on this disk; remove it.";
  return undefined;
}

function fault(of: Readonly<Record<string, Check>>, value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "it is not an object";
  const { type, payload } = value as Record<string, unknown>;
  if (typeof type !== "string" || !Object.hasOwn(of, type)) return "there is no such type";
  const wrong = of[type]?.(payload);
  return wrong === undefined ? undefined : `the payload of \`${type}\` ${wrong}`;
}
