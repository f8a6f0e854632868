/**
 * Starts breadboard-ls as a child process and does the LSP handshake.
 *
 * Owns the child's life, from the first byte to its exit. Never reads what the server says beyond the handshake.
 */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type Message,
  type MessageConnection,
} from "vscode-jsonrpc/node.js";
import {
  BreadboardClient,
  BreadboardError,
  readAnnouncement,
  type Announcement,
  type ClientOptions,
  type InitializationOptions,
} from "../core/index.js";

/** Time in milliseconds that the server gets to end by itself before it is killed. */
const GRACE_MS = 3000;

/**
 * Time in milliseconds in which the pipes of an ended process must close; a child of its own may hold them for ever.
 */
const PIPES_MS = 250;

/** Bytes of stderr that are kept to be told when the server dies at its start. */
const STDERR_BYTES = 4096;

/** How the server is started. */
export interface StartOptions extends ClientOptions {
  /** Program: a path, or a name on `PATH`. Default `breadboard-ls`. */
  readonly command?: string;
  /** Arguments. Default none, which serves stdio. */
  readonly args?: readonly string[];
  /**
   * Environment of the server. Default: this process's. Tokens (`BREADBOARD_API_TOKEN`) go here, never into options.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Workspace folders, absolute paths. Default none. */
  readonly workspaceFolders?: readonly string[];
  /** `initialize.initializationOptions`. */
  readonly initializationOptions?: InitializationOptions;
  /** `ClientCapabilities`. What is announced must be answered: see `RunningServer.connection`. Default none. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** Takes what the server writes to stderr, its log. Default: nobody. */
  onLog?(text: string): void;
}

/** A server that answered the handshake. */
export interface RunningServer {
  /** The client. `bb/init` is still to be sent. */
  readonly client: BreadboardClient;
  /** The connection beneath it, for standard LSP. */
  readonly connection: MessageConnection;
  /** Id of the process. */
  readonly pid: number;
  /** What this build can do. */
  readonly announcement: Announcement;
  /** Resolves with the exit code when the process is gone; `null` when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Asks the server to end, and kills it when it does not. Resolves when it is gone. */
  stop(): Promise<void>;
}

/**
 * A failed write is told by the exit of the process, which rejects what waits. vscode-jsonrpc would raise it as an
 * unhandled rejection besides, and that ends the whole program.
 */
class ChildWriter extends StreamMessageWriter {
  override async write(message: Message): Promise<void> {
    await super.write(message).catch(() => undefined);
  }
}

/** Starts the server. Rejects with one sentence when it cannot be started, dies, or speaks another version. */
export async function startServer(options: StartOptions = {}): Promise<RunningServer> {
  const command = options.command ?? "breadboard-ls";
  const child = spawn(command, [...(options.args ?? [])], {
    env: { ...(options.env ?? process.env) },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const stderr = follow(child, options);
  const ending = ended(child);
  const exited = ending.then(({ code }) => code);
  const failed = ending.then(({ code, signal, cause }): never => {
    const why = stderr.tail.trim().split("\n").at(-1) ?? "";
    const text = cause
      ? `${command} could not be started (${cause.message}); check the path.`
      : `${command} ended with ${signal ?? `code ${code}`} before it answered${why ? `: ${why}` : ""}.`;
    throw new BreadboardError("disconnected", text);
  });
  failed.catch(() => undefined);
  // A write to a dead child is told by `exited`; without a handler it would end this process.
  child.stdin.on("error", () => undefined);
  const connection = createMessageConnection(new StreamMessageReader(child.stdout), new ChildWriter(child.stdin));
  connection.onError(() => undefined);
  connection.listen();
  // Requests under way are rejected then, and later ones refused.
  void exited.then(() => connection.dispose());
  const kill = async () => {
    connection.dispose();
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) child.kill("SIGKILL");
    await exited;
  };
  try {
    const result = await Promise.race([connection.sendRequest<unknown>("initialize", handshake(options)), failed]);
    const announcement = readAnnouncement(result);
    await connection.sendNotification("initialized", {});
    const client = new BreadboardClient(connection, options);
    const pid = child.pid ?? 0;
    return { client, connection, pid, announcement, exited, stop: () => stop(child, client, connection, exited, kill) };
  } catch (cause) {
    await kill();
    throw BreadboardError.from(cause);
  }
}

function handshake({ workspaceFolders = [], initializationOptions, capabilities = {} }: StartOptions): object {
  const folders = workspaceFolders.map((path) => ({ uri: pathToFileURL(path).href, name: basename(path) }));
  return {
    processId: process.pid,
    clientInfo: { name: "@breadboard-ls/sdk" },
    rootUri: folders[0]?.uri ?? null,
    workspaceFolders: folders.length > 0 ? folders : null,
    capabilities,
    ...(initializationOptions ? { initializationOptions } : {}),
  };
}

interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why there never was a process. */
  readonly cause?: Error;
}

/**
 * Resolves when the process is gone and what it wrote is read, or a little later when a child of its own holds the
 * pipes.
 */
function ended(child: ChildProcessWithoutNullStreams): Promise<Ending> {
  return new Promise((resolve) => {
    child.once("error", (cause) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, cause });
    });
    child.once("close", (code, signal) => resolve({ code, signal }));
    child.once("exit", (code, signal) => setTimeout(() => resolve({ code, signal }), PIPES_MS).unref());
  });
}

function follow(child: ChildProcessWithoutNullStreams, options: StartOptions): { readonly tail: string } {
  const kept = { tail: "" };
  child.stderr.setEncoding("utf8");
  child.stderr.on("data", (text: string) => {
    kept.tail = (kept.tail + text).slice(-STDERR_BYTES);
    options.onLog?.(text);
  });
  return kept;
}

async function stop(
  child: ChildProcessWithoutNullStreams,
  client: BreadboardClient,
  connection: MessageConnection,
  exited: Promise<number | null>,
  kill: () => Promise<void>,
): Promise<void> {
  client.dispose();
  if (child.exitCode === null && child.signalCode === null) {
    const polite = (async () => {
      await connection.sendRequest("shutdown");
      await connection.sendNotification("exit");
      await exited;
    })().catch(() => undefined);
    const given = new AbortController();
    await Promise.race([polite, sleep(GRACE_MS, undefined, { signal: given.signal }).catch(() => undefined)]);
    given.abort();
  }
  await kill();
}
