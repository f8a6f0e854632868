/** The one module of messages that both sides have (ruling 26). */
import { readdirSync, readFileSync } from "node:fs";
import { paramsFault, resultFault } from "@breadboard-ls/sdk";
import { expect, it } from "vitest";
import {
  FORM_TYPES,
  formFault,
  HOST_TYPES,
  hostFault,
  IMAGE_ENDINGS,
  submissionFault,
} from "../../src/shared/create_spec_messages";

const read = (file: string) => readFileSync(`src/${file}`, "utf8");
const IMAGE = { id: "1", uri: "file:///a.png", name: "a.png", dataUrl: "data:image/png;base64,AA==" };

/** One of each, as seed 004 writes it. */
const FORM = [
  { type: "create-spec/ready" },
  { type: "create-spec/submit", payload: { description: "text", imageUris: ["file:///a.png"] } },
  { type: "create-spec/autosave", payload: { description: "" } },
  { type: "create-spec/close-attempt", payload: { hasDirtyChanges: true } },
  { type: "create-spec/import-markdown:request" },
  { type: "create-spec/attach-images:request", payload: { currentCount: 5 } },
];
const DRAFT = { formData: { description: "text" }, lastUpdated: 1_000 };
const HOST = [
  { type: "create-spec/init", payload: { draft: DRAFT, shouldFocusPrimaryField: true } },
  { type: "create-spec/init", payload: { shouldFocusPrimaryField: false } },
  { type: "create-spec/submit:success" },
  { type: "create-spec/submit:error", payload: { message: "No." } },
  { type: "create-spec/confirm-close", payload: { shouldClose: false } },
  { type: "create-spec/focus" },
  { type: "create-spec/import-markdown:result", payload: { content: "" } },
  { type: "create-spec/import-markdown:result", payload: { content: "", warning: "The selected file is empty." } },
  { type: "create-spec/import-markdown:result", payload: { error: "File exceeds the 512 KB limit." } },
  { type: "create-spec/attach-images:result", payload: { images: [IMAGE] } },
  { type: "create-spec/attach-images:result", payload: { images: [], capped: true } },
  { type: "create-spec/attach-images:result", payload: { error: "No." } },
  { type: "create-spec/picker-closed" },
];

it("R004-01 R004-02 R004-03: both sides import the one module, and neither declares a message of its own", () => {
  const users = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && file !== "shared/create_spec_messages.ts")
    .filter((file) => read(file).includes("create_spec_messages"));
  expect(users.filter((file) => file.startsWith("host/")).length).toBeGreaterThan(0);
  expect(users.filter((file) => file.startsWith("webview/")).length).toBeGreaterThan(0);
  const known = new Set<string>([...FORM_TYPES, ...HOST_TYPES]);
  for (const file of readdirSync("src", { recursive: true, encoding: "utf8" })) {
    if (!/\.tsx?$/.test(file) || file === "shared/create_spec_messages.ts") continue;
    const text = read(file);
    for (const [, named = ""] of text.matchAll(/["'`](create-spec\/[^"'`]*)["'`]/g))
      expect(known.has(named), `${named} in ${file}`).toBe(true);
    // A type of a message is written down nowhere else: every name above is a value that the compiler knows.
    expect(/(?:type|interface)\s+\w*(?:Message|Payloads?)\b[^;]*create-spec\//.test(text), file).toBe(false);
    expect(/type:\s*["']create-spec\/[^"']*["']\s*;/.test(text), file).toBe(false);
  }
});

it("R004-06 R004-12 R004-14 R004-23: what the form may say is what the seed writes, and nothing less", () => {
  expect(FORM.map(formFault)).toEqual(FORM.map(() => undefined));
  expect(new Set(FORM.map(({ type }) => type))).toEqual(new Set(FORM_TYPES));
  for (const wrong of [
    null,
    "create-spec/ready",
    { type: "create-spec/cancel" },
    { type: "toString" },
    { type: "create-spec/submit" },
    { type: "create-spec/submit", payload: { description: "x" } },
    { type: "create-spec/submit", payload: { description: 1, imageUris: [] } },
    { type: "create-spec/submit", payload: { description: "x", imageUris: [1] } },
    { type: "create-spec/autosave", payload: {} },
    { type: "create-spec/close-attempt", payload: { hasDirtyChanges: "yes" } },
    ...[-1, 6, 1.5, Number.NaN, "1", undefined].map((currentCount) => ({
      type: "create-spec/attach-images:request",
      payload: { currentCount },
    })),
  ])
    expect(formFault(wrong), JSON.stringify(wrong)).toBeDefined();
});

it("R004-31 R004-36 R004-37 R004-40 R004-41 R004-46 R004-48 R004-49 R004-50: what the host may say is what the seed writes", () => {
  expect(HOST.map(hostFault)).toEqual(HOST.map(() => undefined));
  expect(new Set(HOST.map(({ type }) => type))).toEqual(new Set(HOST_TYPES));
  const images = (image: object) => ({ type: "create-spec/attach-images:result", payload: { images: [image] } });
  for (const wrong of [
    { type: "create-spec/init", payload: {} },
    { type: "create-spec/init", payload: { draft: { formData: {} }, shouldFocusPrimaryField: true } },
    { type: "create-spec/init", payload: { draft: { ...DRAFT, lastUpdated: "now" }, shouldFocusPrimaryField: true } },
    { type: "create-spec/confirm-close", payload: { shouldClose: true } },
    { type: "create-spec/submit:error", payload: { message: "" } },
    { type: "create-spec/import-markdown:result", payload: {} },
    { type: "create-spec/import-markdown:result", payload: { error: 1 } },
    { type: "create-spec/attach-images:result", payload: { images: Array(6).fill(IMAGE) } },
    images({ ...IMAGE, uri: "https://example.com/a.png" }),
    images({ ...IMAGE, dataUrl: "https://example.com/a.png" }),
    images({ ...IMAGE, dataUrl: "data:text/html;base64,AA==" }),
    images({ ...IMAGE, dataUrl: "data:image/svg+xml,<svg/>" }),
    images({ ...IMAGE, name: "" }),
  ])
    expect(hostFault(wrong), JSON.stringify(wrong)).toBeDefined();
});

it("R004-03: what the form and the host say is also what the server's schemas say", () => {
  const payloads = (type: string) => [...FORM, ...HOST].filter((one) => one.type === type).map((one) => one.payload);
  for (const [type, fault] of [
    ["create-spec/submit", (payload: unknown) => paramsFault("bb/createSpec/submit", payload)],
    ["create-spec/autosave", (payload: unknown) => paramsFault("bb/createSpec/autosave", payload)],
    ["create-spec/close-attempt", (payload: unknown) => paramsFault("bb/createSpec/closeAttempt", payload)],
    ["create-spec/init", (payload: unknown) => resultFault("bb/createSpec/ready", payload)],
    ["create-spec/confirm-close", (payload: unknown) => resultFault("bb/createSpec/closeAttempt", payload)],
    ["create-spec/import-markdown:result", (payload: unknown) => resultFault("bb/createSpec/importMarkdown", payload)],
    ["create-spec/attach-images:result", (payload: unknown) => resultFault("bb/createSpec/attachImages", payload)],
  ] as const) {
    expect(payloads(type).length).toBeGreaterThan(0);
    for (const payload of payloads(type)) expect(fault(payload), `${type} ${JSON.stringify(payload)}`).toBeUndefined();
  }
});

it("R004-08 R004-09 R004-10 R004-54 R004-55: both sides judge a submission alike", () => {
  const judged = (description: string, imageUris: string[]) => submissionFault({ description, imageUris });
  expect([judged("x", []), judged(" x ", Array(5).fill("file:///a.png"))]).toEqual([undefined, undefined]);
  expect([
    judged(" \n\t", ["file:///a.png"]),
    judged("x", Array(6).fill("file:///a.png")),
    judged("x", ["/a.png"]),
    judged("x", ["https://example.com/a.png"]),
  ]).toEqual([
    "Describe the spec first.",
    "A spec has at most 5 images; remove some.",
    "An image is not a file on this disk; remove it.",
    "An image is not a file on this disk; remove it.",
  ]);
  expect(IMAGE_ENDINGS).toEqual(["png", "jpg", "jpeg", "gif", "webp", "svg"]);
});
