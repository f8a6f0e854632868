/**
 * Pairing with a desktop host: its address and the code in its terminal, traded for its token.
 *
 * Owns the order: the token is kept for the host before the host is chosen, so that the server which starts for it has it. The code
 * goes to the server's program over its input, the token comes back over its output, and neither stands in a command line, a
 * setting or a log. What chooses a host is the user's own setting; no folder is asked.
 */
import { spawn } from "node:child_process";
import type { EngineSetting } from "./settings";
import { l10n } from "vscode";

/** Where a host is that nobody named. */
export const DEFAULT_HOST = "http://127.0.0.1:3199";

/** What the pairing needs of the editor. */
export interface PairingPorts {
  /** The engine as the user has set it. */
  engine(): EngineSetting | undefined;
  /** Asks for a line; absent where the user gave up. */
  ask(question: { readonly title: string; readonly prompt: string; readonly value?: string }): Promise<string | undefined>;
  /** The server's program. */
  program(): string;
  /** Keeps the token for this place. */
  keep(token: string, place: string): Promise<void>;
  /** Sets the user's engine; the server starts anew where that changes something. */
  choose(engine: EngineSetting): Promise<void>;
  /** Gives a token to the server that runs. */
  handOver(token: string): Promise<void>;
}

/** Runs the program with this on its input; what it printed, or an error in one sentence. */
export type Trade = (program: string, args: readonly string[], input: string) => Promise<string>;

/** Pairs; the sentence that says what came of it, absent where the user gave up. */
export async function pairWithHost(ports: PairingPorts, trade: Trade = run): Promise<string | undefined> {
  const before = ports.engine();
  const known = before?.kind === "desktop" ? before.url : undefined;
  const url = (
    await ports.ask({
      title: l10n.t("Pair with a Host"),
      prompt: l10n.t("Address of the host, as `breadboard-ls engine` says it at its start."),
      value: known ?? DEFAULT_HOST,
    })
  )?.trim();
  if (url === undefined || url === "") return undefined;
  const place = originOf(url);
  if (place === undefined) throw new Error(l10n.t("`{0}` is no address of a host; give one like {1}.", url, DEFAULT_HOST));
  const code = (
    await ports.ask({ title: l10n.t("Pair with a Host"), prompt: l10n.t("The pairing code in the terminal of {0}.", place) })
  )?.trim();
  if (code === undefined || code === "") return undefined;
  const caFile = before?.kind === "desktop" ? before["caFile"] : undefined;
  const authorities = typeof caFile === "string" && caFile !== "" ? [`--ca-file=${caFile}`] : [];
  const token = (await trade(ports.program(), ["pair", ...authorities, "--", url], `${code}\n`)).trim();
  if (token === "") throw new Error(l10n.t("The host at {0} gave no token; try again.", place));
  await ports.keep(token, place);
  if (known === url) {
    await ports.handOver(token);
    return l10n.t("Paired with the host at {0}.", place);
  }
  await ports.choose({ kind: "desktop", url, ...(authorities.length > 0 ? { caFile } : {}) });
  return l10n.t("Paired with the host at {0}; it runs the turns once the server was restarted.", place);
}

/** How long the host may take. */
const PATIENCE_MS = 30_000;

/** Most characters of what the program says; a token and a sentence are short. */
const SAID = 4_096;

function run(program: string, args: readonly string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], timeout: PATIENCE_MS });
    let [printed, said] = ["", ""];
    child.stdout.on("data", (piece: Buffer) => (printed = (printed + piece.toString()).slice(0, SAID)));
    child.stderr.on("data", (piece: Buffer) => (said = (said + piece.toString()).slice(0, SAID)));
    child.on("error", (error) => reject(new Error(l10n.t("The server's program could not be started: {0}.", error.message))));
    child.on("close", (code) => {
      if (code === 0) resolve(printed);
      else reject(new Error(said.replace(/^breadboard-ls: /, "").trim() || l10n.t("The host did not answer in time; try again.")));
    });
    // Its end is told by `close`.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}

function originOf(url: string): string | undefined {
  try {
    const { protocol, host } = new URL(url);
    return protocol === "http:" || protocol === "https:" ? `${protocol}//${host}` : undefined;
  } catch {
    return undefined;
  }
}
