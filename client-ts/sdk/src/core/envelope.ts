/**
 * The v1 envelope between a host and its webview: shapes, reading, names.
 *
 * Owns what an envelope is. Never handles one: that is `envelope_connection`, and the host.
 */

import type { AnyErrorCode } from "./errors.js";
import { REQUESTS, SERVER_NOTIFICATIONS, WIRE_VERSION } from "./generated/methods.js";
import type { Requests, RpcEvt, RpcReq, RpcRes, ServerNotifications } from "./generated/types.js";
import { shapeFault } from "./validation.js";

/** Any message between a host and its webview. */
export type Envelope = RpcReq | RpcRes | RpcEvt;

/** What a message turned out to be: an envelope, or a protocol violation in one sentence. */
export type ReadEnvelope = { ok: true; envelope: Envelope } | { ok: false; fault: string };

const SHAPES = { req: "RpcReq", res: "RpcRes", evt: "RpcEvt" } as const;

/** Reads a message of the other side. What is not exactly one of the three shapes of this version is a violation. */
export function readEnvelope(message: unknown): ReadEnvelope {
  const fault = (text: string) => ({ ok: false, fault: text }) as const;
  if (typeof message !== "object" || message === null) return fault("A message is not an object; send an envelope.");
  const { v, kind } = message as { v?: unknown; kind?: unknown };
  if (v !== WIRE_VERSION) return fault(`An envelope says v ${String(v)}; this side speaks v ${WIRE_VERSION}.`);
  if (kind !== "req" && kind !== "res" && kind !== "evt")
    return fault(`An envelope is of no known kind: ${String(kind)}.`);
  const wrong = shapeFault(SHAPES[kind], message);
  return wrong ? fault(`An envelope is no ${SHAPES[kind]}: ${wrong}.`) : { ok: true, envelope: message as Envelope };
}

/** `bb.a.b` as the wire calls it, or `undefined` where this version has no such request. */
export function wireMethod(method: string): keyof Requests | undefined {
  return REQUESTS.find((known) => envelopeMethod(known) === method);
}

/** `bb/a/b` as an envelope calls it. */
export function envelopeMethod(method: string): string {
  return method.replaceAll("/", ".");
}

/** A request. */
export function request(id: string, method: string, params?: unknown): RpcReq {
  return {
    v: WIRE_VERSION,
    kind: "req",
    id,
    method: envelopeMethod(method),
    ...(params === undefined ? {} : { params }),
  };
}

/** An answer that worked. */
export function succeeded(id: string, result: unknown): RpcRes {
  return { v: WIRE_VERSION, kind: "res", id, ok: true, result };
}

/** An answer that says why not. */
export function failed(id: string, error: { code: AnyErrorCode; message: string; details?: unknown }): RpcRes {
  const { code, message, details } = error;
  return {
    v: WIRE_VERSION,
    kind: "res",
    id,
    ok: false,
    error: { code, message, ...(details === undefined ? {} : { details }) },
  };
}

/** A notification. */
export function notification<M extends RpcEvt["topic"]>(topic: M, payload: ServerNotifications[M]): RpcEvt {
  return { v: WIRE_VERSION, kind: "evt", topic, payload };
}

/** The topics: notifications of the server that the schema of `RpcEvt` lets through. */
export const TOPICS: ReadonlyArray<RpcEvt["topic"]> = SERVER_NOTIFICATIONS.filter(
  (topic) => shapeFault("RpcEvt", { v: WIRE_VERSION, kind: "evt", topic, payload: {} }) === undefined,
) as RpcEvt["topic"][];
