// A host of the server for a chapter. Owns how it is started and stopped.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** A host, where it listens, and its pairing code: it says both on its standard error. */
export async function startHost(server, args) {
  const child = spawn(server, ["engine", "--listen=127.0.0.1:0", "--pair", ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" },
  });
  let url;
  for await (const line of createInterface({ input: child.stderr })) {
    url ??= /Listening on (\S+);/.exec(line)?.[1];
    const code = /Pairing code: (\S+)/.exec(line)?.[1];
    if (url !== undefined && code !== undefined) {
      child.stderr.resume();
      return { url, code, stop: () => child.kill() };
    }
  }
  throw new Error("the host ended before it said where it listens");
}
