// A host of the server for a chapter. Owns how it is started and stopped, and how VS Code is paired with it.
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

/** Pairs the editor of the story with a host by its code, as its user does; it counts after a restart of the server. */
export async function pairWith({ page, command, picture }, host) {
  const asked = page.locator(".quick-input-widget");
  const answer = async (text, value) => {
    await asked.getByText(text).waitFor();
    const input = asked.locator("input");
    await input.fill(value);
    await input.press("Enter");
  };
  await command("BreadBoard: Pair with a Host");
  await answer("Address of the host", host.url);
  await asked.getByText("pairing code in the terminal").waitFor();
  await picture("pairing-code");
  await answer("pairing code in the terminal", host.code);
  await page.locator(".notification-toast", { hasText: "Paired with the host" }).waitFor();
}
