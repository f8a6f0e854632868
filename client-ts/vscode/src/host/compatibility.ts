/**
 * Whether the server that answered is one that this extension can talk to.
 *
 * The SDK checks the version of the wire; here the answer becomes a sentence for the user of an editor.
 */
import { type Announcement, BreadboardError, readAnnouncement, WIRE_VERSION } from "@breadboard-ls/sdk";
import { l10n } from "vscode";
import type { FoundServer } from "./server_binary";

/** It cannot be used; `sentence` says what to do. */
export interface Unfit {
  readonly sentence: string;
}

/** Reads the answer to `initialize` of the program that was found. */
export function fitServer(initializeResult: unknown, { command, from }: Pick<FoundServer, "command" | "from">): Announcement | Unfit {
  try {
    return readAnnouncement(initializeResult);
  } catch (error) {
    const said =
      error instanceof BreadboardError ? (error.details as { server?: unknown } | undefined)?.server : undefined;
    if (said === undefined) {
      return {
        sentence:
          l10n.t("The program `{0}` does not speak the bb protocol; ", command) +
          l10n.t("install a current breadboard-ls, or name one in the setting breadboard.server.path."),
      };
    }
    const newer = typeof said === "number" && said > WIRE_VERSION;
    return {
      sentence:
        l10n.t("The server `{0}` speaks version {1} of the protocol ", command, String(said)) +
        l10n.t("and this extension version {0}; ", WIRE_VERSION) +
        (newer ? l10n.t("update the extension") : l10n.t("update the server")) +
        (from === "setting"
          ? l10n.t(", or clear the setting breadboard.server.path to use the server that comes with the extension.")
          : newer
            ? "."
            : l10n.t(", or name a newer one in the setting breadboard.server.path.")),
    };
  }
}
