/** Who answers: what is offered, tried and kept, and where a key goes. */
import { expect, it } from "vitest";
import { SetupDesk, type SetupPorts } from "../../src/host/setup_desk";
import type { UserSettings } from "../../src/host/settings";

const PROVIDERS = [
  { provider: "anthropic", label: "Anthropic", needsKey: true, keyVariable: "ANTHROPIC_API_KEY", defaultUrl: "https://a/" },
  { provider: "openai", label: "OpenAI, or anything compatible", needsKey: true, keyVariable: "OPENAI_API_KEY", keyIsSet: true },
  { provider: "ollama", label: "Ollama", needsKey: false },
];
const AGENTS = [
  { name: "opencode", program: "opencode", path: "/bin/opencode", install: "npm i opencode", login: "with `opencode auth login`" },
  { name: "goose", program: "goose", path: null, install: "get goose", login: null },
  { name: "mine", program: "./mine", path: null, install: null, login: null },
];

function desk(world: Partial<SetupPorts> & { settings?: () => UserSettings; key?: string; doctor?: object; checks?: object[] } = {}) {
  const done: unknown[][] = [];
  const stored = new Map<string, string>();
  const settings: { value: Record<string, unknown> } = { value: { serverPath: "" } };
  const checks = [...(world.checks ?? [{ ok: true, models: ["m"] }])];
  const ports: SetupPorts = {
    ask: async (method, params) => {
      if (method === "bb/models/providers") return { providers: PROVIDERS };
      done.push([method, params]);
      return checks.length > 1 ? checks.shift() : checks[0];
    },
    settings: () => settings.value as unknown as UserSettings,
    run: async (args, env) => {
      if (args[0] === "agents") return JSON.stringify(AGENTS);
      done.push(["run", args.join(" "), env]);
      return JSON.stringify(world.doctor ?? { checks: [] });
    },
    askKey: async (title) => {
      done.push(["askKey", title]);
      return world.key;
    },
    storedToken: async (_scope, place) => stored.get(place),
    keepToken: async (scope, token, place) => {
      done.push(["keep", scope, token, place]);
      stored.set(place, token);
    },
    update: async (key, value) => {
      done.push(["update", key, value]);
      settings.value = { ...settings.value, [key]: value };
    },
    takeModel: async () => (settings.value["engine"] === undefined && settings.value["model"] !== undefined),
    restart: async () => void done.push(["restart"]),
    running: () => false,
    trusted: () => true,
    folder: () => "/ws",
    chose: async () => void done.push(["chose"]),
    changed: () => undefined,
    ...world,
  };
  return { desk: new SetupDesk(ports), done, stored, settings };
}

it("what is on this machine is told: agents, keys of the environment, stored keys, and who answers now", async () => {
  const { desk: it, stored, settings } = desk();
  stored.set("provider:anthropic", "sk");
  settings.value = { ...settings.value, agents: { mine: { command: "./mine" } } };
  expect(await it.look()).toEqual({
    agents: [
      { name: "opencode", there: true, install: "npm i opencode", login: "with `opencode auth login`" },
      { name: "goose", there: false, install: "get goose" },
      { name: "mine", there: true },
    ],
    providers: [
      { provider: "anthropic", label: "Anthropic", needsKey: true, url: "https://a/", key: "stored" },
      { provider: "openai", label: "OpenAI, or anything compatible", needsKey: true, key: { variable: "OPENAI_API_KEY" } },
      { provider: "ollama", label: "Ollama", needsKey: false },
    ],
    now: "search only",
  });
});

it("a key is asked for by the editor, tried, and kept only with the choice, for its provider alone", async () => {
  const { desk: it, done } = desk({ key: " sk-typed " });
  const wish = { kind: "model", provider: "anthropic" } as const;
  expect(await it.check(wish, false)).toEqual({ ok: true, models: ["m"] });
  // Looked at again, it is not asked for again.
  await it.check(wish, false);
  expect(done).toEqual([
    ["askKey", "Key of Anthropic"],
    ["bb/models/check", { provider: "anthropic", token: "sk-typed" }],
    ["bb/models/check", { provider: "anthropic", token: "sk-typed" }],
  ]);
  done.length = 0;
  expect(await it.choose({ ...wish, name: "m" })).toEqual({ counts: "now" });
  expect(done).toEqual([
    ["keep", "model", "sk-typed", "provider:anthropic"],
    ["update", "model", { provider: "anthropic", name: "m" }],
  ]);
});

it("a key that does not open the door is asked for again, and one that is not given tries nothing", async () => {
  const refused = { ok: false, problem: "The model does not take our key." };
  const { desk: it, done } = desk({ key: "sk-wrong", checks: [refused, { ok: true, models: ["m"] }] });
  const wish = { kind: "model", provider: "anthropic" } as const;
  expect(await it.check(wish, false)).toEqual(refused);
  await it.check(wish, false);
  expect(done.filter(([what]) => what === "askKey").length).toBe(2);
  const none = desk();
  expect(await none.desk.check(wish, false)).toEqual({ ok: false, cancelled: true });
  expect(none.done).toEqual([["askKey", "Key of Anthropic"]]);
});

it("a key of the environment is not asked for, and an address of one's own is tried without one first", async () => {
  const { desk: it, done } = desk();
  await it.check({ kind: "model", provider: "openai" }, false);
  await it.check({ kind: "model", provider: "openai", url: "http://box:1/v1" }, false);
  expect(done).toEqual([
    ["bb/models/check", { provider: "openai" }],
    ["bb/models/check", { provider: "openai", url: "http://box:1/v1" }],
  ]);
});

it("an agent is tried by starting it, only in a folder that is trusted, and its failure is a sentence", async () => {
  const doctor = {
    checks: [
      { id: "path", mark: "fail", found: "something else" },
      { id: "session", mark: "fail", found: "it wants a login", do: "log in with `x`" },
    ],
  };
  const wish = { kind: "agent", name: "opencode" } as const;
  const { desk: it, done } = desk({ doctor });
  expect(await it.check(wish, false)).toEqual({ ok: false, problem: "it wants a login. Log in with `x`." });
  expect(done).toEqual([["run", "doctor --json --workspace /ws --agent opencode --trust", {}]]);
  const untrusted = desk({ trusted: () => false });
  expect((await untrusted.desk.check(wish, false)).ok).toBe(false);
  expect(untrusted.done).toEqual([]);
  expect(await it.choose(wish)).toEqual({ counts: "restarted" });
  expect(done.slice(1)).toEqual([["update", "engine", { kind: "acp", name: "opencode" }], ["restart"]]);
});

it("BreadBoard is tried at its address, with a token that is given to the program by its environment only", async () => {
  const { desk: it, done } = desk({ key: "bb-token" });
  const wish = { kind: "breadboard", url: "http://127.0.0.1:9099" } as const;
  expect(await it.check(wish, true)).toEqual({ ok: true });
  expect(done.slice(1)).toEqual([
    ["run", "doctor --json --workspace /ws --engine breadboard --engine-url http://127.0.0.1:9099", { BREADBOARD_API_TOKEN: "bb-token" }],
  ]);
  done.length = 0;
  await it.choose(wish);
  expect(done).toEqual([
    ["keep", "engine", "bb-token", "http://127.0.0.1:9099"],
    ["update", "engine", { kind: "breadboard", url: "http://127.0.0.1:9099" }],
    ["restart"],
  ]);
});

it("back from an engine to a model or to search: the setting of the engine goes; while a turn runs nothing is restarted", async () => {
  const from = desk({ running: () => true });
  from.settings.value = { ...from.settings.value, engine: { kind: "acp", name: "x" } };
  expect(await from.desk.choose({ kind: "search" })).toEqual({ counts: "later" });
  expect(from.done).toEqual([["chose"], ["update", "engine", undefined]]);
});
