import { expect, it } from "vitest";
import { fitServer } from "../../src/host/compatibility";

const answer = (breadboard: unknown) => ({ serverInfo: { name: "s" }, capabilities: { experimental: { breadboard } } });

it("R000-72: a server of another version is refused with what to do", () => {
  expect(fitServer(answer({ v: 1, methods: ["bb/init"], notifications: [] }), { command: "/s", from: "path" })).toEqual({
    v: 1,
    server: "s",
    methods: ["bb/init"],
    notifications: [],
  });
  expect(fitServer(answer({ v: 2 }), { command: "/s", from: "path" })).toEqual({
    sentence: expect.stringMatching(/`\/s` speaks version 2 .* version 1; update the extension\.$/),
  });
  expect(fitServer(answer({ v: 0 }), { command: "/s", from: "path" })).toEqual({ sentence: expect.stringMatching(/update the server, or name a newer one/) });
  for (const [v, what] of [[2, "extension"], [0, "server"]] as const)
    expect(fitServer(answer({ v }), { command: "/s", from: "setting" })).toEqual({
      sentence: expect.stringMatching(new RegExp(`update the ${what}, or clear the setting breadboard\\.server\\.path`)),
    });
  expect(fitServer({ capabilities: {} }, { command: "/usr/bin/clangd", from: "setting" })).toEqual({
    sentence: expect.stringMatching(/`\/usr\/bin\/clangd` does not speak the bb protocol; install/),
  });
});
