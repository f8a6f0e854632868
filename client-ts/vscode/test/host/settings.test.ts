import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type Configuration, initializationOptions, needingRestart, readHarmless, readNotify, readUserSettings } from "../../src/host/settings";

/** A configuration in which a workspace says something about everything. */
function configuration(user: Record<string, unknown>, hostile: Record<string, unknown>): Configuration {
  return {
    inspect: (key: string) => ({
      key,
      globalValue: user[key],
      workspaceValue: hostile[key],
      workspaceFolderValue: hostile[key],
    }),
    get: (key: string) => hostile[key] ?? user[key],
  } as unknown as Configuration;
}

const HOSTILE = {
  "server.path": "/repo/evil",
  engine: { kind: "acp", command: "/repo/evil" },
  agents: { evil: { command: "/repo/evil" } },
  mcpServers: { evil: { command: "/repo/evil" } },
  model: { name: "evil", url: "http://evil" },
  embeddings: { name: "evil", url: "http://evil" },
  reranker: { name: "evil", url: "http://evil" },
  budget: { steps: 0, tokens: 0 },
  stateDir: "/repo",
  approvals: { mode: "edits", patterns: [{ pattern: "sh *", answer: "always" }] },
  commands: { runner: "server_runner" },
  "delivery.maxLatencyMs": 40,
};

it("a repository cannot silence an ask", () => {
  const said = (user: Record<string, unknown>) =>
    readNotify(configuration(user, { "notify.asks": false, "notify.failures": false, "notify.ends": true }));
  expect([said({}), said({ "notify.asks": false, "notify.ends": true }), said({ "notify.asks": "x" })]).toEqual([
    { asks: true, failures: true, ends: false },
    { asks: false, failures: true, ends: true },
    { asks: true, failures: true, ends: false },
  ]);
});

it("a repository chooses no program, engine, agent, model or folder", () => {
  const read = configuration({ "server.path": "/mine", model: { name: "qwen3", provider: "ollama" } }, HOSTILE);
  const settings = readUserSettings(read);
  expect(settings).toEqual({
    serverPath: "/mine",
    engine: undefined,
    agents: undefined,
    mcpServers: undefined,
    model: { name: "qwen3", provider: "ollama" },
    embeddings: undefined,
    reranker: undefined,
    budget: undefined,
    stateDir: undefined,
    approvals: undefined,
    commands: undefined,
  });
  expect(initializationOptions(settings, readHarmless(read), false)).toEqual({
    model: { name: "qwen3", provider: "ollama" },
    delivery: { maxLatencyMs: 40 },
    workspaceTrusted: false,
  });
});

it("what is known of a model and how far a turn goes are passed on", () => {
  const model = { name: "qwen3", effort: "high", contextWindow: 64000 };
  const embeddings = { name: "nomic-embed-text", provider: "ollama" };
  const reranker = { name: "qwen3", provider: "ollama", seconds: 20 };
  const settings = readUserSettings(configuration({ model, embeddings, reranker, budget: { steps: 10 } }, HOSTILE));
  expect(initializationOptions(settings, {}, true)).toEqual({
    model,
    embeddings,
    reranker,
    budget: { steps: 10 },
    workspaceTrusted: true,
  });
});

it("what is done without asking goes to the server, and a change of mode or runner needs no restart", () => {
  const of = (approvals: object, commands: object) => readUserSettings(configuration({ approvals, commands }, HOSTILE));
  const settings = of({ mode: "reads" }, { runner: "server_runner" });
  expect(initializationOptions(settings, {}, true)).toEqual({
    approvals: { mode: "reads" },
    commands: { runner: "server_runner" },
    workspaceTrusted: true,
  });
  expect(needingRestart(settings)).toEqual(needingRestart(of({ mode: "ask" }, {})));
  expect(needingRestart(settings)).not.toEqual(needingRestart(of({ patterns: [] }, {})));
});

it("the embedded default is left to the server, so that its environment counts", () => {
  const settings = readUserSettings(configuration({ engine: { kind: "embedded" } }, {}));
  expect(initializationOptions(settings, {}, true)).toEqual({ workspaceTrusted: true });
});

it("the manifest says the same: what chooses something is of machine scope, and no setting is a token", () => {
  const manifest = JSON.parse(readFileSync("package.json", "utf8"));
  const { properties } = manifest.contributes.configuration;
  const choosing = [
    "breadboard.server.path",
    "breadboard.engine",
    "breadboard.agents",
    "breadboard.mcpServers",
    "breadboard.model",
    "breadboard.embeddings",
    "breadboard.reranker",
    "breadboard.budget",
    "breadboard.stateDir",
    "breadboard.approvals",
    "breadboard.commands",
  ];
  expect(choosing.map((key) => properties[key].scope)).toEqual(choosing.map(() => "machine"));
  expect(manifest.capabilities.untrustedWorkspaces).toMatchObject({
    supported: "limited",
    restrictedConfigurations: choosing,
  });
  expect(Object.keys(properties).filter((key) => /token|key|secret|password/i.test(key))).toEqual([]);
});
