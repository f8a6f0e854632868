// The simulator of the server as an engine of a chapter. Owns how it is started and stopped.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** The simulated engine, and where it listens: its first line says it. */
export async function simulator(server, args) {
  const child = spawn(server, ["simulate", "breadboard", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/\S+/.exec(line)?.[0];
    if (url !== undefined) return { url, stop: () => child.kill() };
  }
  throw new Error("the simulator ended before it said where it listens");
}
