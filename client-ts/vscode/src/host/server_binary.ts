/**
 * Where the server program is.
 *
 * Owns the order of the places: the setting, the folder that comes with the extension, the `PATH`. Starts nothing, and
 * never looks into the workspace: a repository must not be able to choose a program.
 */
import * as path from "node:path";
import { l10n } from "vscode";

/** A program that can be started. */
export interface FoundServer {
  readonly kind: "found";
  readonly command: string;
  readonly from: "setting" | "bundled" | "path";
}

/** None; `sentence` says what to do. */
export interface MissingServer {
  readonly kind: "missing";
  readonly sentence: string;
}

/** What the search looks at. Absolute paths only. */
export interface Places {
  /** `breadboard.server.path`, as the user wrote it. */
  readonly setting: string;
  /** Folder of the installed extension. */
  readonly extensionPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** Whether a file is there and may be run. */
  isProgram(file: string): boolean;
}

const NAME = "breadboard-ls";

export function findServer(places: Places): FoundServer | MissingServer {
  const { platform, env } = places;
  const of = platform === "win32" ? path.win32 : path.posix;
  const file = platform === "win32" ? `${NAME}.exe` : NAME;
  const setting = places.setting.trim();
  if (setting !== "") {
    const home = env["HOME"] ?? env["USERPROFILE"] ?? "";
    const command = setting.startsWith("~/") && home !== "" ? of.join(home, setting.slice(2)) : setting;
    if (!of.isAbsolute(command)) {
      return missing(
        l10n.t("The setting breadboard.server.path is `{0}`, which is not an absolute path; ", setting) +
          l10n.t("write the whole path of the program."),
      );
    }
    return places.isProgram(command)
      ? { kind: "found", command, from: "setting" }
      : missing(
          l10n.t("The setting breadboard.server.path names `{0}`, which is not there or cannot be run; ", setting) +
            l10n.t("correct it or clear it to use the one that comes with the extension."),
        );
  }
  const bundled = of.join(places.extensionPath, "server", file);
  if (places.isProgram(bundled)) return { kind: "found", command: bundled, from: "bundled" };
  for (const folder of (env["PATH"] ?? env["Path"] ?? "").split(of.delimiter)) {
    // A relative folder in PATH would be looked up in whatever folder is current, which may be the repository.
    if (!of.isAbsolute(folder)) continue;
    const candidate = of.join(folder, file);
    if (places.isProgram(candidate)) return { kind: "found", command: candidate, from: "path" };
  }
  return missing(
    l10n.t("The program {0} was not found; install it with `cargo install {1}`, ", NAME, NAME) +
      l10n.t("or name it in the setting breadboard.server.path."),
  );
}

function missing(sentence: string): MissingServer {
  return { kind: "missing", sentence };
}
