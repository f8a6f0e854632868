/** A connection whose other side is the test. */

import type { CancellationToken, Connection, Disposable } from "../src/core/index.js";

/** A request that was sent. */
export interface Sent {
  readonly method: string;
  readonly params: unknown;
  answer(result: unknown): void;
  refuse(error: unknown): void;
}

export class FakeConnection implements Connection {
  readonly sent: Sent[] = [];
  /** How many arguments each request was sent with. */
  readonly arity: number[] = [];
  readonly notified: { method: string; params: unknown }[] = [];
  readonly #handlers = new Map<string, (params: unknown) => void>();
  #scripts = new Map<string, (params: never) => unknown>();

  /** Answers each request of `method` at once. */
  script(method: string, answer: (params: never) => unknown): this {
    this.#scripts.set(method, answer);
    return this;
  }

  /** The server says something. */
  say(method: string, params: unknown): void {
    this.#handlers.get(method)?.(params);
  }

  /** Methods that somebody hears. */
  get heard(): string[] {
    return [...this.#handlers.keys()].sort();
  }

  /** The requests of one method. */
  of(method: string): Sent[] {
    return this.sent.filter((sent) => sent.method === method);
  }

  sendRequest(...args: [method: string, params: unknown, token?: CancellationToken]): Promise<unknown> {
    const [method, params] = args;
    this.arity.push(args.length);
    return new Promise((resolve, reject) => {
      this.sent.push({ method, params, answer: resolve, refuse: reject });
      const script = this.#scripts.get(method);
      if (!script) return;
      try {
        resolve(script(params as never));
      } catch (cause) {
        reject(cause);
      }
    });
  }

  sendNotification(method: string, params: unknown): Promise<void> {
    this.notified.push({ method, params });
    return Promise.resolve();
  }

  onNotification(method: string, handler: (params: unknown) => void): Disposable {
    this.#handlers.set(method, handler);
    return { dispose: () => void this.#handlers.delete(method) };
  }
}

/** Lets what is promised happen. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}
