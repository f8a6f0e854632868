/** What the server announces in `initialize`, and whether this SDK can speak with it. */

import { BreadboardError } from "./errors.js";
import { WIRE_VERSION } from "./generated/methods.js";

/** `capabilities.experimental.breadboard` of the answer to `initialize`. */
export interface Announcement {
  /** Version of the wire. */
  readonly v: number;
  /** What the server calls itself, with its release where it says one. */
  readonly server: string;
  /** Methods of this build. A client uses these and no more. */
  readonly methods: readonly string[];
  /** Notifications of this build. */
  readonly notifications: readonly string[];
}

/** Reads the announcement of an `InitializeResult`. Throws `version_mismatch` with what to do about it. */
export function readAnnouncement(initializeResult: unknown): Announcement {
  const result = initializeResult as {
    serverInfo?: { name?: unknown; version?: unknown };
    capabilities?: { experimental?: { breadboard?: { v?: unknown; methods?: unknown; notifications?: unknown } } };
  } | null;
  const { name, version } = result?.serverInfo ?? {};
  const server = typeof name === "string" ? `${name}${typeof version === "string" ? ` ${version}` : ""}` : "The server";
  const said = result?.capabilities?.experimental?.breadboard;
  if (typeof said !== "object" || said === null) {
    throw new BreadboardError(
      "version_mismatch",
      `${server} does not speak the bb protocol; check that the command starts breadboard-ls.`,
    );
  }
  if (said.v !== WIRE_VERSION) {
    const newer = typeof said.v === "number" && said.v > WIRE_VERSION;
    throw new BreadboardError(
      "version_mismatch",
      `${server} speaks version ${String(said.v)} of the bb protocol and this SDK version ${WIRE_VERSION}; ` +
        (newer ? "update the SDK (or what contains it)." : "update breadboard-ls."),
      { server: said.v, sdk: WIRE_VERSION },
    );
  }
  const strings = (list: unknown) => (Array.isArray(list) ? list.filter((item) => typeof item === "string") : []);
  return { v: WIRE_VERSION, server, methods: strings(said.methods), notifications: strings(said.notifications) };
}
