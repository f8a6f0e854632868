import { expect, it } from "vitest";
import { fitServer } from "../../src/host/compatibility";

const answer = (breadboard: unknown) => ({ serverInfo: { name: "s" }, capabilities: { experimental: { breadboard } } });

it("R000-72: a server of another version is refused with what to do", () => {
  expect(fitServer(answer({ v: 1, methods: ["bb/init"], notifications: [] }), "/s")).toEqual({
    v: 1,
    methods: ["bb/init"],
    notifications: [],
  });
  expect(fitServer(answer({ v: 2 }), "/s")).toEqual({
    sentence: expect.stringMatching(/`\/s` speaks version 2 .* version 1; update the extension\.$/),
  });
  expect(fitServer(answer({ v: 0 }), "/s")).toEqual({ sentence: expect.stringMatching(/update the server/) });
  expect(fitServer({ capabilities: {} }, "/usr/bin/clangd")).toEqual({
    sentence: expect.stringMatching(/`\/usr\/bin\/clangd` does not speak the bb protocol; install/),
  });
});
