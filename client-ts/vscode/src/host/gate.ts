/**
 * The gate between page and server: every message in the v1 envelope, checked both ways.
 *
 * Owns which messages pass. What breaks the protocol reaches no handler and stands in the log as a violation. `bb.*`
 * goes to the server with `bb/rpc`; `editor.*` goes to the editor. Knows no VS Code.
 */
import { envelope, paramsFault, REQUESTS, resultFault, shapeFault, WIRE_VERSION } from "@breadboard-ls/sdk";
import { type EditorMethod, isEditorMethod, type PageMethod, pageParamsFault } from "../shared/page_methods";
import { eventsOf, joined, type Told, type Topic } from "./batch";
import { l10n } from "vscode";

/**
 * Least time between two posts of news, in milliseconds. News after a quiet spell is posted at once; what follows waits
 * for its turn, together. Twenty times a second reads as a flow, and each post costs the same whether it brings one
 * piece or hundreds: it crosses two processes and three frames, is checked on both sides and is drawn.
 */
export const BATCH_MS = 50;
/**
 * The same after a post that told of more than `FLOOD` events, a thousand a second: nobody reads along any more, and
 * drawing half as often leaves the editor, and whoever types in it, twice the room.
 */
export const FLOOD_MS = 2 * BATCH_MS;
export const FLOOD = 50;
/**
 * The least time of the server, which is told so: what would wait here need not come in twelve pieces. The first few after a
 * quiet spell come at once from there too.
 */
export const SERVER_BATCH_MS = BATCH_MS / 2;
/** Most news that wait: past it they are posted at once, so that a stopped timer cannot make them pile up. */
export const MOST_WAITING = 512;

/** Most requests of a page that are under way: a hand makes a few, and more is a script that runs away. */
export const MOST_PENDING = 256;

/** An error as the envelope says it. */
export interface EnvelopeError {
  readonly code: string;
  readonly message: string;
  readonly details?: unknown;
}

/** What the gate needs. */
export interface GatePorts {
  /** `webview.postMessage`. */
  post(message: unknown): void;
  /** Sends one envelope with `bb/rpc`; rejects when there is no server. */
  rpc(request: unknown): Promise<unknown>;
  /** Does an `editor.*` request; throws an `EnvelopeError`. */
  editor(method: EditorMethod, params: Record<string, unknown>): Promise<unknown>;
  /** Whether the server announced the method (`bb/...`). */
  announced(method: string): boolean;
  /** Says a violation of the protocol. */
  violation(sentence: string): void;
  /** Waits; gives back what stops the waiting. */
  later(ms: number, then: () => void): () => void;
}

interface Request {
  readonly id: string;
  readonly method: string;
  readonly params?: unknown;
}

/** Topics that only a page gets which asked for them (`subscribe` of `bb.init`). */
const ON_REQUEST: ReadonlyMap<Topic, string> = new Map([
  ["bb/view", "view"],
  ["bb/tab" as Topic, "tabs"],
]);
const TOPICS: ReadonlySet<string> = new Set(envelope.TOPICS);
/**
 * Methods that the page has no business with: two hold a token, one is the envelope itself, and those of a spec take
 * files from anywhere, which a user has to have picked.
 */
const NOT_FOR_A_PAGE: ReadonlySet<string> = new Set([
  "bb/setCredentials",
  "bb/models/check",
  "bb/rpc",
  // What these start is the user's word, which the host asks for.
  "bb/mcp/set",
  "bb/mcp/allow",
  ...REQUESTS.filter((method) => method.startsWith("bb/createSpec/")),
]);

export class Gate {
  private waiting: Told[] = [];
  private stopWaiting: (() => void) | undefined;
  private asked = new Set<string>();
  /** The tabs that the page has opened, or brought back. */
  private tabs = new Set<string>();
  private open = false;
  private nextId = 0;
  private pending = 0;
  private readonly unanswered = new Map<string, (ok: boolean) => void>();

  constructor(private readonly ports: GatePorts) {}

  /**
   * The page is there and can be seen, or is not. What is told to a page that is not there is dropped: it is made anew
   * when it is shown, and then asks for a snapshot.
   */
  setOpen(open: boolean): void {
    this.open = open;
    if (open) return;
    this.asked.clear();
    this.drop();
    for (const settle of this.unanswered.values()) settle(false);
    this.unanswered.clear();
  }

  /**
   * The tabs that the page had, which are no longer its own: a page that goes cannot say so itself, so its host tells
   * the server (`bb/tab/detach`).
   */
  takeTabs(): string[] {
    const tabs = [...this.tabs];
    this.tabs.clear();
    return tabs;
  }

  /** One message of the page. */
  async receive(message: unknown): Promise<void> {
    const kind = field(message, "kind");
    if (kind === "req") {
      this.pending += 1;
      return this.request(message).finally(() => (this.pending -= 1));
    }
    if (kind === "res") return this.answer(message);
    this.ports.violation(
      `A message of the page is neither a request nor an answer: ${shapeFault("RpcReq", message) ?? "no such kind"}.`,
    );
  }

  /** News of the server, or of the host in its name. */
  tell(told: Told): void {
    if (!this.open) return;
    const need = ON_REQUEST.get(told.topic);
    if (need !== undefined && !this.asked.has(need)) return;
    const fault = TOPICS.has(told.topic) ? paramsFault(told.topic, told.payload) : "no page hears of it";
    if (fault !== undefined) {
      this.ports.violation(`\`${told.topic}\` does not fit its schema and was not posted: ${fault}.`);
      return;
    }
    this.waiting.push(told);
    if (this.stopWaiting === undefined || this.waiting.length >= MOST_WAITING) this.flush();
  }

  /** Asks the page. Answers whether it took it; false also when it is not there. */
  ask(method: PageMethod, params: Record<string, unknown>): Promise<boolean> {
    if (!this.open) return Promise.resolve(false);
    const fault = pageParamsFault(method, params);
    if (fault !== undefined) {
      this.ports.violation(`The params of \`${method}\` do not fit and were not posted: ${fault}.`);
      return Promise.resolve(false);
    }
    this.flush();
    const id = `host-${(this.nextId += 1)}`;
    return new Promise((resolve) => {
      this.unanswered.set(id, resolve);
      this.post("RpcReq", envelope.request(id, method, params));
    });
  }

  private async request(message: unknown): Promise<void> {
    const fault = shapeFault("RpcReq", message);
    if (fault !== undefined) {
      this.ports.violation(`A request of the page does not fit the envelope: ${fault}.`);
      return;
    }
    const { id, method, params } = message as Request;
    if (this.pending > MOST_PENDING) {
      this.refuse(id, { code: "overloaded", message: l10n.t("Too many requests are under way; wait for some.") });
      return;
    }
    if (isEditorMethod(method)) return this.editorRequest(id, method, params);
    const wire = envelope.wireMethod(method);
    if (wire === undefined || NOT_FOR_A_PAGE.has(wire)) {
      this.ports.violation(`The page asks for \`${method}\`, which does not exist.`);
      this.refuse(id, { code: "unknown_method", message: l10n.t("There is no method `{0}`; update the extension.", method) });
      return;
    }
    const wrong = paramsFault(wire, params ?? {});
    if (wrong !== undefined) {
      this.ports.violation(`The params of \`${method}\` do not fit: ${wrong}.`);
      this.refuse(id, { code: "invalid_params", message: `The params of \`${method}\` do not fit: ${wrong}.` });
      return;
    }
    if (!this.ports.announced(wire)) {
      this.refuse(id, {
        code: "unsupported",
        message: l10n.t("The server does not offer this; update it, or restart it if it does not run."),
      });
      return;
    }
    if (wire === "bb/init") this.subscribe(params);
    this.noteTabs(wire, params);
    let response: unknown;
    try {
      response = await this.ports.rpc(
        wire === "bb/init" ? { ...(message as object), params: this.subscription(params) } : message,
      );
    } catch (error) {
      this.refuse(id, readError(error, "engine_unreachable", l10n.t("The server does not answer; restart it.")));
      return;
    }
    this.respond(id, method, wire, response);
  }

  /** Passes the answer of the server on, when it is one. */
  private respond(id: string, method: string, wire: string, response: unknown): void {
    const ok = field(response, "ok");
    const fault =
      shapeFault("RpcRes", response) ??
      (field(response, "id") === id ? undefined : "it has another id") ??
      (ok === true ? resultFault(wire, field(response, "result")) : undefined) ??
      (ok === false && field(response, "error") === undefined ? "it has no error" : undefined);
    if (fault !== undefined) {
      this.ports.violation(`The answer to \`${method}\` does not fit and was not posted: ${fault}.`);
      this.refuse(id, {
        code: "internal",
        message: l10n.t("The answer of the server is none that this extension understands; update whichever of them is older."),
      });
      return;
    }
    // What happened before the answer is told before it.
    this.flush();
    this.post("RpcRes", response as object);
  }

  private async editorRequest(id: string, method: EditorMethod, params: unknown): Promise<void> {
    const fault = pageParamsFault(method, params);
    if (fault !== undefined) {
      this.ports.violation(`The params of \`${method}\` do not fit: ${fault}.`);
      this.refuse(id, { code: "invalid_params", message: `The params of \`${method}\` do not fit: ${fault}.` });
      return;
    }
    try {
      const result = await this.ports.editor(method, (params ?? {}) as Record<string, unknown>);
      this.post("RpcRes", envelope.succeeded(id, result ?? {}));
    } catch (error) {
      this.refuse(id, readError(error, "internal", l10n.t("That did not work; the log has more.")));
    }
  }

  private answer(message: unknown): void {
    const fault = shapeFault("RpcRes", message);
    const id = field(message, "id");
    const settle = typeof id === "string" ? this.unanswered.get(id) : undefined;
    if (fault !== undefined || settle === undefined) {
      this.ports.violation(`An answer of the page does not fit: ${fault ?? "nothing was asked under its id"}.`);
      return;
    }
    this.unanswered.delete(id as string);
    settle(field(message, "ok") === true);
  }

  /**
   * Noted when it is asked for, since the page may be gone before the answer comes; detaching one too many is nothing.
   */
  private noteTabs(wire: string, params: unknown): void {
    const tabId = field(params, "tabId") as string;
    if (wire === "bb/tab/open") this.tabs.add(tabId);
    if (wire === "bb/tab/close") this.tabs.delete(tabId);
    if (wire === "bb/tab/attach")
      for (const tab of field(params, "tabs") as unknown[]) this.tabs.add(field(tab, "tabId") as string);
    if (wire === "bb/tab/detach") for (const gone of field(params, "tabIds") as string[]) this.tabs.delete(gone);
  }

  private subscribe(params: unknown): void {
    const wanted = field(params, "subscribe");
    this.asked = new Set([...ON_REQUEST.values()].filter((need) => field(wanted, need) === true));
  }

  /** A page gets of the additive topics what it asked for and no more, whatever the server's default is. */
  private subscription(params: unknown): Record<string, unknown> {
    const given = (typeof params === "object" && params !== null ? params : {}) as Record<string, unknown>;
    const wanted = (field(given, "subscribe") ?? {}) as Record<string, unknown>;
    const latency = this.asked.has("view") ? { maxLatencyMs: SERVER_BATCH_MS } : {};
    return {
      ...given,
      subscribe: { ...wanted, view: this.asked.has("view"), tabs: this.asked.has("tabs"), ...latency },
    };
  }

  /** Posts what waits; what comes soon after it waits in turn. */
  private flush(): void {
    const told = this.waiting;
    if (told.length === 0) return;
    this.waiting = [];
    this.stopWaiting?.();
    this.stopWaiting = this.ports.later(eventsOf(told) > FLOOD ? FLOOD_MS : BATCH_MS, () => {
      this.stopWaiting = undefined;
      this.flush();
    });
    // Its params were checked when it was told, and the rest of the envelope is ours.
    for (const { topic, payload } of joined(told)) this.ports.post({ v: WIRE_VERSION, kind: "evt", topic, payload });
  }

  private drop(): void {
    this.stopWaiting?.();
    this.stopWaiting = undefined;
    this.waiting = [];
  }

  private refuse(id: string, error: EnvelopeError): void {
    this.flush();
    // Whoever shows it need not look for other words.
    this.post("RpcRes", envelope.failed(id, { ...error, details: { by: "editor" } }));
  }

  private post(shape: "RpcReq" | "RpcRes", message: object): void {
    if (!this.open) return;
    const fault = shapeFault(shape, message);
    if (fault !== undefined)
      this.ports.violation(`A message for the page does not fit the envelope and was not posted: ${fault}.`);
    else this.ports.post(message);
  }
}

/** The error of a request, in the words of the envelope. */
export function readError(error: unknown, code: string, message: string): EnvelopeError {
  const own = field(error, "code");
  const sentence = field(error, "message");
  return {
    code: typeof own === "string" ? own : code,
    message: typeof sentence === "string" && sentence !== "" ? sentence : message,
  };
}

function field(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? (of as Record<string, unknown>)[name] : undefined;
}
