/**
 * Requests and notifications by method, typed and checked.
 *
 * Owns the one handler that a connection knows per method and shares it out. Keeps no state of sessions or tabs.
 */

import type { CancellationToken, Connection, Disposable } from "./connection.js";
import { BreadboardError } from "./errors.js";
import type { ClientNotifications, Requests, ServerNotifications, ServerRequests } from "./generated/types.js";
import { paramsFault, resultFault } from "./validation.js";

/** Params may be left out where `{}` would do. */
type ParamsOf<P> = {} extends P ? [params?: P, token?: CancellationToken] : [params: P, token?: CancellationToken];

/** Params of a request of the server. */
type ServerParams<M extends string> = M extends keyof ServerRequests
  ? ServerRequests[M] extends { params: infer P }
    ? P
    : unknown
  : unknown;

/** Something that the other side said and that breaks the protocol. It was ignored. */
export interface Violation {
  /** The method, or the envelope, that it came with. */
  readonly method: string;
  /** One sentence. */
  readonly message: string;
  /** What it was. Only for a log: it may hold anything. */
  readonly value?: unknown;
}

type Listener = (params: never) => void;

/** How a client is made. */
export interface ClientOptions {
  /** Told of each violation: a message that does not fit its schema, and a listener that threw. Default: nobody. */
  onViolation?(violation: Violation): void;
  /**
   * Whether the other side has checked its notifications against the same schemas before it sent them, as a webview's host
   * does. They are not checked here once more then, which counts in a stream of them. Default: no.
   */
  readonly notificationsAreChecked?: boolean;
}

/** The typed client of one connection. */
export class BreadboardClient implements Disposable {
  readonly #connection: Connection;
  readonly #options: ClientOptions;
  readonly #listeners = new Map<string, { listeners: Set<{ handler: Listener }>; registration: Disposable }>();
  readonly #registrations = new Set<Disposable>();
  #disposed = false;

  constructor(connection: Connection, options: ClientOptions = {}) {
    this.#connection = connection;
    this.#options = options;
  }

  /**
   * Sends a request. Params that do not fit are refused here with `invalid_params`; an answer that does not fit is
   * `invalid_answer`. Rejects with a `BreadboardError` always.
   */
  async request<M extends keyof Requests>(
    method: M,
    ...[params, token]: ParamsOf<Requests[M]["params"]>
  ): Promise<Requests[M]["result"]> {
    const sent = params ?? {};
    this.#check(method, sent);
    let result: unknown;
    try {
      // vscode-jsonrpc counts arguments: a token that is passed as `undefined` would make the params a list.
      result = await (token
        ? this.#connection.sendRequest(method, sent, token)
        : this.#connection.sendRequest(method, sent));
    } catch (cause) {
      throw BreadboardError.from(cause);
    }
    const fault = resultFault(method, result);
    if (fault) {
      const message = `The answer to ${method} does not fit its schema (${fault}); update the server or the SDK.`;
      this.#options.onViolation?.({ method, message, value: result });
      throw new BreadboardError("invalid_answer", message);
    }
    return result as Requests[M]["result"];
  }

  /** Sends a notification. */
  async notify<M extends keyof ClientNotifications>(method: M, params: ClientNotifications[M]): Promise<void> {
    this.#check(method, params);
    try {
      await this.#connection.sendNotification(method, params);
    } catch (cause) {
      throw BreadboardError.from(cause);
    }
  }

  /**
   * Hears a notification; any number of listeners a method, in the order in which they came. One that throws does not
   * keep it from the others.
   */
  onNotification<M extends keyof ServerNotifications>(
    method: M,
    handler: (params: ServerNotifications[M]) => void,
  ): Disposable {
    this.#alive();
    let shared = this.#listeners.get(method);
    if (!shared) {
      const listeners = new Set<{ handler: Listener }>();
      const registration = this.#connection.onNotification(method, (params) => this.#told(method, params, listeners));
      shared = { listeners, registration };
      this.#listeners.set(method, shared);
    }
    const entry = { handler: handler as Listener };
    const { listeners, registration } = shared;
    listeners.add(entry);
    return {
      dispose: () => {
        if (!listeners.delete(entry) || listeners.size > 0 || this.#listeners.get(method) !== shared) return;
        this.#listeners.delete(method);
        registration.dispose();
      },
    };
  }

  /**
   * Answers a request of the server (`bb/terminal/run` ...); one handler a method. What it throws goes back as the
   * error.
   * Typed and checked as far as the schemas describe the method.
   */
  onRequest<M extends string>(method: M, handler: (params: ServerParams<M>) => unknown): Disposable {
    this.#alive();
    if (!this.#connection.onRequest) {
      throw new BreadboardError("unsupported", `This connection takes no requests; answer ${method} elsewhere.`);
    }
    const registration = this.#connection.onRequest(method, (params) => {
      const fault = paramsFault(method, params);
      if (fault) throw new BreadboardError("invalid_params", `The params of ${method} do not fit: ${fault}.`);
      return handler(params as ServerParams<M>);
    });
    this.#registrations.add(registration);
    return {
      dispose: () => {
        if (this.#registrations.delete(registration)) registration.dispose();
      },
    };
  }

  /** Lets go of every handler. The connection stays its owner's. */
  dispose(): void {
    this.#disposed = true;
    for (const { registration } of this.#listeners.values()) registration.dispose();
    for (const registration of this.#registrations) registration.dispose();
    this.#listeners.clear();
    this.#registrations.clear();
  }

  #alive(): void {
    if (this.#disposed) throw new BreadboardError("disconnected", "This client was disposed; make a new one.");
  }

  #check(method: string, params: unknown): void {
    this.#alive();
    const fault = paramsFault(method, params);
    if (fault) throw new BreadboardError("invalid_params", `The params of ${method} do not fit: ${fault}.`);
  }

  #told(method: string, params: unknown, listeners: ReadonlySet<{ handler: Listener }>): void {
    const fault = this.#options.notificationsAreChecked === true ? undefined : paramsFault(method, params);
    if (fault) {
      const message = `${method} does not fit its schema and was ignored: ${fault}.`;
      this.#options.onViolation?.({ method, message, value: params });
      return;
    }
    for (const { handler } of [...listeners]) {
      try {
        handler(params as never);
      } catch (cause) {
        this.#options.onViolation?.({
          method,
          message: `A listener of ${method} threw: ${String(cause)}.`,
          value: cause,
        });
      }
    }
  }
}
