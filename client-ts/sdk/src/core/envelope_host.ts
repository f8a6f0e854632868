/**
 * The host's side of the envelope: a webview's requests go to the server, the server's notifications to the webview.
 *
 * Owns what one webview may ask and hear. Never keeps what it passes on.
 */

import type { BreadboardClient, Violation } from "./client.js";
import type { Disposable } from "./connection.js";
import { failed, notification, readEnvelope, succeeded, TOPICS, wireMethod } from "./envelope.js";
import { BreadboardError } from "./errors.js";
import type { Requests, RpcEvt, RpcReq, RpcRes, Subscribe } from "./generated/types.js";
import { paramsFault, resultFault } from "./validation.js";

/** The topics that a webview hears only when it asks for them in `bb.init`, and the word to ask by (ruling 23). */
const ASKED_FOR: Readonly<Record<string, keyof Subscribe>> = { "bb/view": "view", "bb/tab": "tabs" };

/** Requests that no webview may make: tokens never pass one, and an envelope carries no other. */
const HOST_ONLY: ReadonlySet<string> = new Set(["bb/setCredentials", "bb/rpc"]);

/**
 * Requests of one webview that may be under way. A user's hand makes a few; more is a runaway script, which is told
 * `overloaded`.
 */
const MAX_PENDING = 256;

/** How a host speaks with its webview. */
export interface EnvelopeHostOptions {
  /** Posts a message to the webview. */
  post(message: RpcRes | RpcEvt): void;
  /** Told of each protocol violation, to be logged. */
  onViolation(violation: Violation): void;
  /**
   * Sees a request, checked, before the server does, and may answer it with a promise; `undefined` passes it on. A host
   * with more than one webview answers `bb/init` here, since `subscribe` speaks for the whole connection.
   */
  intercept?(method: keyof Requests, params: unknown): Promise<unknown> | undefined;
}

/** Serves one webview. */
export class EnvelopeHost implements Disposable {
  readonly #client: BreadboardClient;
  readonly #options: EnvelopeHostOptions;
  readonly #registrations: Disposable[];
  readonly #pending = new Set<string>();
  #asked = new Set<string>();
  #disposed = false;

  constructor(client: BreadboardClient, options: EnvelopeHostOptions) {
    this.#client = client;
    this.#options = options;
    this.#registrations = TOPICS.map((topic) =>
      client.onNotification(topic, (params) => {
        if (!(topic in ASKED_FOR) || this.#asked.has(topic)) options.post(notification(topic, params));
      }),
    );
  }

  /** Takes one message of the webview. Whatever it is, nothing is thrown. */
  receive(message: unknown): void {
    if (this.#disposed) return;
    const read = readEnvelope(message);
    if (!read.ok) {
      this.#options.onViolation({ method: "envelope", message: read.fault, value: message });
      const { kind, id } = (message ?? {}) as { kind?: unknown; id?: unknown };
      if (kind === "req" && typeof id === "string" && !this.#pending.has(id)) {
        this.#options.post(failed(id, { code: "invalid_params", message: read.fault }));
      }
      return;
    }
    if (read.envelope.kind !== "req") {
      const text = `A webview sent an envelope of kind ${read.envelope.kind}; it may send requests only.`;
      this.#options.onViolation({ method: "envelope", message: text, value: message });
      return;
    }
    void this.#serve(read.envelope);
  }

  /** Stops serving. Answers under way are not posted any more. */
  dispose(): void {
    this.#disposed = true;
    for (const registration of this.#registrations) registration.dispose();
  }

  async #serve({ id, method, params }: RpcReq): Promise<void> {
    if (this.#pending.has(id)) {
      const text = `A webview used the id ${id} again before its answer; the second request was ignored.`;
      this.#options.onViolation({ method, message: text });
      return;
    }
    if (this.#pending.size >= MAX_PENDING) {
      this.#options.post(
        failed(id, { code: "overloaded", message: "Too many requests are under way; wait for some." }),
      );
      return;
    }
    this.#pending.add(id);
    const answer = await this.#ask(method, params ?? {}).then(
      (result) => succeeded(id, result),
      (cause: unknown) => failed(id, BreadboardError.from(cause)),
    );
    this.#pending.delete(id);
    if (!this.#disposed) this.#options.post(answer);
  }

  async #ask(method: string, params: unknown): Promise<unknown> {
    const known = wireMethod(method);
    if (!known || HOST_ONLY.has(known)) {
      const text = `There is no method ${method} for a webview; check its spelling and the versions of both sides.`;
      this.#options.onViolation({ method, message: text });
      throw new BreadboardError("unknown_method", text);
    }
    const wrong = paramsFault(known, params);
    if (wrong) throw new BreadboardError("invalid_params", `The params of ${method} do not fit: ${wrong}.`);
    const answered = this.#options.intercept?.(known, params);
    if (answered) {
      const result = await answered;
      const fault = resultFault(known, result);
      if (fault) throw new BreadboardError("internal", `The host's own answer to ${method} does not fit: ${fault}.`);
      return result;
    }
    const subscribe = known === "bb/init" ? (params as Requests["bb/init"]["params"]).subscribe : undefined;
    const before = this.#asked;
    if (known === "bb/init") {
      // Before the request: what follows its answer may overtake it.
      this.#asked = new Set(
        Object.keys(ASKED_FOR).filter((topic) => subscribe?.[ASKED_FOR[topic] ?? "events"] === true),
      );
    }
    try {
      return await this.#client.request(known, params as never);
    } catch (cause) {
      if (known === "bb/init") this.#asked = before;
      throw cause;
    }
  }
}
