/** Errors as the wire has them: a stable code, a sentence, details. */

import type { ErrorCode, Login, Retry } from "./generated/types.js";
import { shapeFault } from "./validation.js";

/**
 * Codes that the SDK gives itself: the connection is gone or the program could not be started, an answer does not fit
 * its schema, the two sides speak different versions.
 */
export type LocalErrorCode = "disconnected" | "invalid_answer" | "version_mismatch";

/** Any code; the open end keeps codes of newer servers. */
export type AnyErrorCode = ErrorCode | LocalErrorCode | (string & Record<never, never>);

/** JSON-RPC numbers that stand for a code by themselves, for errors without `data.code`. */
const BY_NUMBER = new Map<number, AnyErrorCode>([
  [-32700, "internal"],
  [-32600, "invalid_params"],
  [-32601, "unknown_method"],
  [-32602, "invalid_params"],
  [-32603, "internal"],
  [-32800, "cancelled"],
]);

/** What went wrong: `code` for programs, `message` (one sentence: what happened, what to do next) for people. */
export class BreadboardError extends Error {
  override readonly name = "BreadboardError";

  /** `details` is whatever the server adds: never needed to tell errors apart. */
  constructor(
    readonly code: AnyErrorCode,
    message: string,
    readonly details?: unknown,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }

  /**
   * The error of a refused request: `data.code` first, then the number; what is no JSON-RPC error is `disconnected`.
   */
  static from(cause: unknown): BreadboardError {
    if (cause instanceof BreadboardError) return cause;
    const error = cause as { code?: unknown; message?: unknown; data?: { code?: unknown; details?: unknown } | null };
    const message = typeof error?.message === "string" ? error.message : String(cause);
    const data = typeof error?.data === "object" && error.data !== null ? error.data : {};
    if (typeof data.code === "string") return new BreadboardError(data.code, message, data.details, { cause });
    const known = typeof error?.code === "number" ? BY_NUMBER.get(error.code) : undefined;
    return new BreadboardError(known ?? "disconnected", message, data.details, { cause });
  }
}

/** How one logs in, where the details of an error say so. */
export function loginOf(details: unknown): Login | undefined {
  return fitting<Login>("Login", details, "login");
}

/** Whether the same can be sent again, where the details of an error say so. */
export function retryOf(details: unknown): Retry | undefined {
  return fitting<Retry>("Retry", details, "retry");
}

function fitting<T>(shape: string, details: unknown, name: string): T | undefined {
  const value: unknown = Object(details)[name];
  return value === undefined || shapeFault(shape, value) !== undefined ? undefined : (value as T);
}
