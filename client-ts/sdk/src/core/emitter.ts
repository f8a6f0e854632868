/** Listeners of one kind of event. */

import type { Disposable } from "./connection.js";

/** Tells listeners, in the order in which they came. */
export class Emitter<T> {
  readonly #listeners = new Set<{ readonly call: (event: T) => void }>();

  /** Adds a listener; the same function twice is called twice. */
  on(listener: (event: T) => void): Disposable {
    const entry = { call: listener };
    this.#listeners.add(entry);
    return { dispose: () => void this.#listeners.delete(entry) };
  }

  /** Calls all listeners; the first thing thrown is thrown on, after all have been called. */
  emit(event: T): void {
    const thrown: unknown[] = [];
    for (const entry of [...this.#listeners]) {
      if (!this.#listeners.has(entry)) continue;
      try {
        entry.call(event);
      } catch (cause) {
        thrown.push(cause);
      }
    }
    if (thrown.length > 0) throw thrown[0];
  }

  /** Forgets all listeners. */
  clear(): void {
    this.#listeners.clear();
  }
}
