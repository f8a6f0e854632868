/**
 * Whether the server that answered is one that this extension can talk to.
 *
 * The SDK checks the version of the wire; here the answer becomes a sentence for the user of an editor.
 */
import { type Announcement, BreadboardError, readAnnouncement, WIRE_VERSION } from "@breadboard-ls/sdk";

/** It cannot be used; `sentence` says what to do. */
export interface Unfit {
  readonly sentence: string;
}

/** Reads the answer to `initialize` of the program `command`. */
export function fitServer(initializeResult: unknown, command: string): Announcement | Unfit {
  try {
    return readAnnouncement(initializeResult);
  } catch (error) {
    const said =
      error instanceof BreadboardError ? (error.details as { server?: unknown } | undefined)?.server : undefined;
    if (said === undefined) {
      return {
        sentence:
          `The program \`${command}\` does not speak the bb protocol; ` +
          "install a current breadboard-ls, or name one in the setting breadboard.server.path.",
      };
    }
    const newer = typeof said === "number" && said > WIRE_VERSION;
    return {
      sentence:
        `The server \`${command}\` speaks version ${String(said)} of the protocol ` +
        `and this extension version ${WIRE_VERSION}; ` +
        (newer
          ? "update the extension."
          : "update the server, or name a newer one in the setting breadboard.server.path."),
    };
  }
}
