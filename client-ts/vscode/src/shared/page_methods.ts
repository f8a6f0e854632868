/**
 * What the page asks of the editor, and the editor of the page, beside the `bb.*` methods of the server.
 *
 * Owns names, shapes and their run-time checks; both sides import it, so neither can declare a message of its own. All
 * of it travels in the v1 envelope.
 */

import { wishFault } from "./setup";

/** State of the server process, as the page shows it. */
export type ServerState = "starting" | "running" | "waiting" | "stopped" | "failed";

/** What the page knows of its host. Holds no address and no token. */
export interface HostStatus {
  readonly server: ServerState;
  /** What happened and what to do, where there is something to say. */
  readonly sentence?: string;
  /** Counts the servers that were started: a new number means that everything must be asked anew. */
  readonly generation: number;
  readonly trusted: boolean;
  /** Names of the workspace folders. */
  readonly roots: readonly string[];
  /** Methods that the server announces. */
  readonly methods: readonly string[];
  /** The program that runs: what it calls itself, with its release, and where it was found. */
  readonly program?: { readonly name: string; readonly from: "setting" | "bundled" | "path" };
  /** Names of the agents in the settings of the user; how they are started is nobody's business here. */
  readonly agents: readonly string[];
  readonly sendWithModifier: boolean;
  /** Nobody has said yet who is to answer. */
  readonly unchosen?: boolean;
  /** What an earlier page left with `editor.remember`; in the answer to `editor.status` only. */
  readonly remembered?: string;
}

type Check = (value: unknown) => string | undefined;

const text: Check = (value) => (typeof value === "string" ? undefined : "must be a string");
const word: Check = (value) =>
  typeof value === "string" && value !== "" ? undefined : "must be a string that is not empty";
const flag: Check = (value) => (typeof value === "boolean" ? undefined : "must be true or false");
const whole: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : "must be a whole number";
const texts: Check = (value) =>
  Array.isArray(value) && value.every((one) => typeof one === "string") ? undefined : "must be a list of strings";
const scope: Check = (value) =>
  value === "engine" || value === "model" ? undefined : "must be `engine` or `model`";
/** What is chosen of a change; `none` takes it back. */
const choice: Check = (value) =>
  value === "accepted" || value === "rejected" || value === "none" ? undefined : "must be `accepted`, `rejected` or `none`";
const programOf: Check = (value) => {
  const { name, from } = Object(value) as Record<string, unknown>;
  return word(name) ?? (["setting", "bundled", "path"].includes(from as string) ? undefined : "must say where it was found");
};
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === null ? undefined : check(value);

/** Fields of the params, each with its check. */
type Shape = Readonly<Record<string, Check>>;

/** Page to editor. */
export const EDITOR_METHODS = {
  "editor.status": {},
  "editor.chooseApprovals": {},
  /** Offers whoever can go on with a session; `{ agent? }`, or null where nobody was picked. */
  "editor.pickAgent": { title: optional(text) },
  "editor.remember": { state: text },
  "editor.copy": { text },
  /** Symbols of the workspace by a part of their name. */
  "editor.findSymbols": { query: word },
  /** Mentions of files and folders by their addresses. */
  "editor.mention": { uris: texts },
  "editor.insert": { text },
  /** Shows what the code would change in a file, where it can be taken over. */
  "editor.applyCode": { text, path: optional(word) },
  "editor.openText": { title: word, text, language: optional(text) },
  "editor.openFile": { path: word, root: optional(text), line: optional(whole), column: optional(whole) },
  "editor.openLink": { uri: word },
  "editor.openTerminal": { command: word },
  "editor.showDiff": {
    sessionId: word,
    filePath: word,
    root: optional(text),
    beforeRef: optional(text),
    afterRef: optional(text),
  },
  "editor.closeDiff": { afterRef: word },
  /** Shows an edit that waits in the editor, at one of its changes where one is named. */
  "editor.review": { sessionId: word, patchId: word, hunkId: optional(text) },
  /** What was chosen of the changes of an edit so far. */
  "editor.hunkChoices": { sessionId: word, patchId: word },
  /** One file of a turn, or all of them, before it beside as they are. */
  "editor.turnDiff": { sessionId: word, turn: whole, filePath: word, root: optional(text) },
  "editor.turnDiffs": { sessionId: word, turn: whole },
  "editor.chooseHunk": { patchId: word, hunkId: word, choice },
  "editor.openArtifact": { sessionId: word, artifactPath: word },
  "editor.pickAttachments": { sessionId: word },
  "editor.setToken": { scope },
  /** What there is to choose from, who answers. */
  "editor.setupLook": {},
  /** Tries it; `anew` asks for its key though one is known. The key never comes to the page. */
  "editor.setupCheck": { wish: wishFault, anew: flag },
  /** Makes it the setting. */
  "editor.setupChoose": { wish: wishFault },
  "editor.manageTrust": {},
  "editor.restart": {},
  "editor.showLog": {},
  "editor.openSettings": {},
} as const satisfies Record<string, Shape>;

/** Editor to page. */
export const PAGE_METHODS = {
  "page.status": {
    server: word,
    generation: whole,
    trusted: flag,
    roots: texts,
    methods: texts,
    agents: texts,
    sendWithModifier: flag,
    sentence: optional(text),
    unchosen: optional(flag),
    program: optional(programOf),
  },
  "page.compose": { text },
  "page.newSession": {},
  "page.showSessions": {},
  "page.setup": {},
  "page.continueWith": {},
  "page.find": {},
  "page.export": {},
  "page.ask": { text: word },
  "page.showSession": { sessionId: word },
  "page.showAsk": { sessionId: word, requestId: optional(word) },
  "page.focus": {},
  "page.contextChanged": {},
  "page.hunkChosen": { patchId: word, hunkId: word, choice },
} as const satisfies Record<string, Shape>;

export type EditorMethod = keyof typeof EDITOR_METHODS;
export type PageMethod = keyof typeof PAGE_METHODS;

export function isEditorMethod(method: string): method is EditorMethod {
  return Object.hasOwn(EDITOR_METHODS, method);
}

export function isPageMethod(method: string): method is PageMethod {
  return Object.hasOwn(PAGE_METHODS, method);
}

/** What is wrong with the params of one of these methods, or `undefined`. Further fields are accepted. */
export function pageParamsFault(method: EditorMethod | PageMethod, params: unknown): string | undefined {
  const shape: Shape = isEditorMethod(method) ? EDITOR_METHODS[method] : PAGE_METHODS[method];
  const given = params ?? {};
  if (typeof given !== "object" || Array.isArray(given)) return "must be an object";
  for (const [name, check] of Object.entries(shape)) {
    const fault = check((given as Record<string, unknown>)[name]);
    if (fault !== undefined) return `\`${name}\` ${fault}`;
  }
  return undefined;
}
