import { describe, expect, it } from "vitest";
import { findServer, type Places } from "../../src/host/server_binary";

const places = (programs: string[], more: Partial<Places> = {}): Places => ({
  setting: "",
  extensionPath: "/ext",
  env: { PATH: "/usr/bin:/opt/bin", HOME: "/home/u" },
  platform: "linux",
  isProgram: (file) => programs.includes(file),
  ...more,
});

describe("where the server is", () => {
  it("looks at the setting, then at the bundled one, then at the PATH", () => {
    const all = ["/x/breadboard-ls", "/ext/server/breadboard-ls", "/opt/bin/breadboard-ls"];
    expect(findServer(places(all, { setting: "/x/breadboard-ls" }))).toEqual({
      kind: "found",
      command: "/x/breadboard-ls",
      from: "setting",
    });
    expect(findServer(places(all))).toEqual({ kind: "found", command: "/ext/server/breadboard-ls", from: "bundled" });
    expect(findServer(places(["/opt/bin/breadboard-ls"]))).toEqual({
      kind: "found",
      command: "/opt/bin/breadboard-ls",
      from: "path",
    });
  });

  it("says what to do when there is none, and when the setting is wrong, and never takes another then", () => {
    expect(findServer(places([]))).toEqual({
      kind: "missing",
      sentence: expect.stringContaining("cargo install breadboard-ls"),
    });
    const wrong = findServer(places(["/ext/server/breadboard-ls"], { setting: "/gone" }));
    expect(wrong).toEqual({
      kind: "missing",
      sentence: expect.stringMatching(/`\/gone`, which is not there or cannot be run; correct it or clear it/),
    });
    expect(findServer(places(["bin/ls"], { setting: "bin/ls" }))).toEqual({
      kind: "missing",
      sentence: expect.stringContaining("not an absolute path"),
    });
  });

  it("takes nothing from a relative folder of the PATH: the current folder may be a repository", () => {
    expect(findServer(places(["breadboard-ls", "./breadboard-ls"], { env: { PATH: ".::bin" } })).kind).toBe("missing");
  });

  it("knows Windows", () => {
    const found = findServer(
      places(["C:\\bin\\breadboard-ls.exe"], { platform: "win32", env: { Path: "C:\\bin" }, extensionPath: "C:\\ext" }),
    );
    expect(found).toEqual({ kind: "found", command: "C:\\bin\\breadboard-ls.exe", from: "path" });
  });
});
