// A real Neovim with our plugin beside the editor of the story. Owns its process and the questions put to it; knows no chapter.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { eventually } from "./stage.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const PLUGIN = path.resolve(HERE, "../../../editors/nvim");

/**
 * Starts it in this folder, at the host with this address and with the token of this file. What it keeps lies in `place`, so that one
 * that is started there again is the same one.
 */
export async function startNeovim({ program, server, place, folder, host, tokenFile }) {
  await mkdir(place, { recursive: true });
  const socket = path.join(place, `nvim-${Date.now()}.sock`);
  const xdg = path.join(place, "xdg");
  const env = {
    ...process.env,
    HOME: place,
    XDG_CONFIG_HOME: xdg,
    XDG_STATE_HOME: xdg,
    XDG_DATA_HOME: xdg,
    XDG_CACHE_HOME: xdg,
    BB_SERVER: server,
    E2E_PLUGIN: PLUGIN,
    E2E_FOLDER: folder,
    E2E_STATE: path.join(place, "state"),
    E2E_HOST: host,
    E2E_TOKEN_FILE: tokenFile,
    NO_PROXY: "127.0.0.1",
    no_proxy: "127.0.0.1",
  };
  const args = ["--headless", "-u", "NONE", "-i", "NONE", "-n", "--listen", socket, "-S", path.join(HERE, "neovim.lua")];
  const child = spawn(program, args, { env, stdio: "ignore" });
  const ended = once(child, "exit");
  await eventually("Neovim listens", () => access(socket).then(() => true, () => undefined));

  /** What a function of the story gives there. */
  const call = async (name, ...words) => {
    const given = words.map((word) => `'${word.replaceAll("'", "''")}'`).join(", ");
    const wanted = `luaeval('Story.${name}(unpack(_A))', [${given}])`;
    const { stdout } = await promisify(execFile)(program, ["--server", socket, "--remote-expr", wanted], { env });
    return stdout.trim();
  };
  /** Waits until its chat shows this; gives all that it shows. */
  const sees = (text) =>
    eventually(`Neovim shows "${text}"`, async () => {
      const shown = await call("shown");
      return shown.includes(text) ? shown : undefined;
    });
  return {
    sees,
    shown: () => call("shown"),
    ask: (text) => call("ask", text),
    makeSession: async () => {
      if ((await call("make_session")) !== "true") throw new Error("Neovim has no new session");
    },
    choose: (title) => eventually(`Neovim lists "${title}"`, async () => ((await call("choose", title)) === "true" ? true : undefined)),
    waits: () => eventually("Neovim is asked", async () => ((await call("waiting")) === "1" ? true : undefined)),
    answer: (key) => call("answer", key),
    idle: () => eventually("Neovim is idle", async () => ((await call("status")) === "idle" ? true : undefined)),
    /** Ends it as a crash does. */
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await ended;
    },
  };
}
