import { describe, expect, it } from "vitest";
import { type PairingPorts, type Trade, pairWithHost } from "../../src/host/pairing";
import type { EngineSetting } from "../../src/host/settings";

/** An editor in which a person types these lines; what is done is noted in its order. */
function editor(lines: (string | undefined)[], engine?: EngineSetting): { ports: PairingPorts; done: unknown[][] } {
  const done: unknown[][] = [];
  const note =
    (name: string) =>
    async (...args: unknown[]): Promise<void> => {
      done.push([name, ...args]);
    };
  const ports: PairingPorts = {
    engine: () => engine,
    ask: async () => lines.shift(),
    program: () => "/opt/breadboard-ls",
    keep: note("keep"),
    choose: note("choose"),
    handOver: note("handOver"),
  };
  return { ports, done };
}

const gives =
  (token: string, seen: unknown[] = []): Trade =>
  async (...args) => {
    seen.push(args);
    return `${token}\n`;
  };

describe("pairing with a host", () => {
  it("keeps the token for the host before the host is chosen, and gives the code on the input alone", async () => {
    const { ports, done } = editor([" https://box:3199/ ", " ABCD-EFGH "]);
    const seen: unknown[] = [];
    const said = await pairWithHost(ports, gives("the-token", seen));
    expect(seen).toEqual([["/opt/breadboard-ls", ["pair", "--", "https://box:3199/"], "ABCD-EFGH\n"]]);
    expect(done).toEqual([
      ["keep", "the-token", "https://box:3199"],
      ["choose", { kind: "desktop", url: "https://box:3199/" }],
    ]);
    expect(said).toBe("Paired with the host at https://box:3199; it runs the turns once the server was restarted.");
  });

  it("restarts nothing where the host is chosen already", async () => {
    const engine = { kind: "desktop", url: "http://127.0.0.1:3199", caFile: "/ca.pem" };
    const { ports, done } = editor(["http://127.0.0.1:3199", "ABCD-EFGH"], engine);
    const seen: unknown[] = [];
    await pairWithHost(ports, gives("another", seen));
    expect(seen).toEqual([
      ["/opt/breadboard-ls", ["pair", "--ca-file=/ca.pem", "--", "http://127.0.0.1:3199"], "ABCD-EFGH\n"],
    ]);
    expect(done).toEqual([
      ["keep", "another", "http://127.0.0.1:3199"],
      ["handOver", "another"],
    ]);
  });

  it("does nothing where the user gives up, the address is none, or the host refuses", async () => {
    for (const lines of [[undefined], [""], ["http://a", undefined], ["http://a", " "]]) {
      const { ports, done } = editor(lines);
      expect(await pairWithHost(ports, gives("token"))).toBeUndefined();
      expect(done).toEqual([]);
    }
    const wrong = editor(["file:///etc/passwd", "ABCD-EFGH"]);
    await expect(pairWithHost(wrong.ports, gives("token"))).rejects.toThrow("is no address of a host");
    const refused = editor(["http://a", "ABCD-EFGH"]);
    const refusing: Trade = () => Promise.reject(new Error("The host at http://a does not take this code."));
    await expect(pairWithHost(refused.ports, refusing)).rejects.toThrow("does not take this code");
    expect([...wrong.done, ...refused.done]).toEqual([]);
  });

  it("says in the program's own sentence why it failed", async () => {
    const { ports } = editor(["http://a", "x"]);
    const failing = { ...ports, program: () => process.execPath };
    // Node takes `pair` for a script that is not there.
    await expect(pairWithHost(failing)).rejects.toThrow("pair");
    const nobody = editor(["http://a", "x"]);
    await expect(pairWithHost({ ...nobody.ports, program: () => "/nowhere/breadboard-ls" })).rejects.toThrow(
      "could not be started",
    );
  });
});
