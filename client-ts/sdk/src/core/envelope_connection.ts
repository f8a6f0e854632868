/**
 * The webview's side of the envelope, as a connection: a `BreadboardClient` on it is the same client as the host's.
 *
 * Owns the ids of the requests under way. Knows no DOM: posting and hearing are given.
 */

import type { Violation } from "./client.js";
import type { CancellationToken, Connection, Disposable } from "./connection.js";
import { readEnvelope, request } from "./envelope.js";
import { BreadboardError } from "./errors.js";
import type { RpcReq } from "./generated/types.js";

/** How a webview speaks with its host. */
export interface EnvelopeConnectionOptions {
  /** Posts a message to the host (`acquireVsCodeApi().postMessage`). */
  post(message: RpcReq): void;
  /** Hears each message of the host (`event.data` of `message` events). */
  onMessage(handler: (message: unknown) => void): Disposable;
  /** Told of each protocol violation of the host. */
  onViolation?(violation: Violation): void;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: BreadboardError): void;
}

/** A connection to the host; give it back when the page goes. */
export function envelopeConnection(options: EnvelopeConnectionOptions): Connection & Disposable {
  const waiting = new Map<string, Waiting>();
  const handlers = new Map<string, (params: unknown) => void>();
  const violation = (message: string, value: unknown) => options.onViolation?.({ method: "envelope", message, value });
  let last = 0;
  let open = true;
  const registration = options.onMessage((message) => {
    const read = readEnvelope(message);
    if (!read.ok) return violation(read.fault, message);
    const envelope = read.envelope;
    if (envelope.kind === "evt") return handlers.get(envelope.topic)?.(envelope.payload);
    if (envelope.kind === "req")
      return violation("The host sent a request; it may send answers and events only.", message);
    const asked = waiting.get(envelope.id);
    if (!asked) return violation(`The host answered ${envelope.id}, which is not under way.`, message);
    waiting.delete(envelope.id);
    if (envelope.ok) asked.resolve(envelope.result);
    else {
      const { code, message: text, details } = envelope.error as { code: string; message: string; details?: unknown };
      asked.reject(new BreadboardError(code, text, details));
    }
  });
  return {
    sendRequest: (method: string, params: unknown, token?: CancellationToken) =>
      new Promise((resolve, reject) => {
        if (!open) return reject(gone());
        if (token?.isCancellationRequested) return reject(cancelled(method));
        last += 1;
        const id = String(last);
        const cancellation = token?.onCancellationRequested(() => {
          // An envelope cannot take a request back; its answer is not waited for, that is all.
          waiting.set(id, { resolve: () => undefined, reject: () => undefined });
          cancellation?.dispose();
          reject(cancelled(method));
        });
        waiting.set(id, {
          resolve: (result) => {
            cancellation?.dispose();
            resolve(result);
          },
          reject: (error) => {
            cancellation?.dispose();
            reject(error);
          },
        });
        options.post(request(id, method, params));
      }),
    sendNotification: (method: string) =>
      Promise.reject(
        new BreadboardError("unsupported", `An envelope carries no notification; the host sends ${method}.`),
      ),
    onNotification: (method: string, handler: (params: unknown) => void) => {
      handlers.set(method, handler);
      return {
        dispose: () => {
          if (handlers.get(method) === handler) handlers.delete(method);
        },
      };
    },
    dispose: () => {
      open = false;
      registration.dispose();
      for (const { reject } of waiting.values()) reject(gone());
      waiting.clear();
    },
  };
}

function gone(): BreadboardError {
  return new BreadboardError("disconnected", "The connection to the host was given back; open a new one.");
}

function cancelled(method: string): BreadboardError {
  return new BreadboardError("cancelled", `${method} was cancelled.`);
}
