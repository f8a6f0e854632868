import { expect, it } from "vitest";
import { Credentials, placeInWords, placeOf } from "../../src/host/credentials";
import type { UserSettings } from "../../src/host/settings";

function place() {
  const stored = new Map<string, string>();
  const sent: unknown[] = [];
  const credentials = new Credentials({
    get: async (key: string) => stored.get(key),
    store: async (key: string, value: string) => void stored.set(key, value),
    delete: async (key: string) => void stored.delete(key),
  });
  return {
    stored,
    sent,
    credentials,
    send: async (scope: string, token: string | null) => void sent.push([scope, token]),
  };
}

it("R002-07: a token is kept in the secret storage and given to each new server", async () => {
  const { credentials, sent, send, stored } = place();
  await credentials.keep("engine", "t0ken", "https://a.example");
  expect([...stored.keys()]).toEqual(["breadboard.token.engine"]);
  expect(await credentials.handOver("engine", "https://a.example", send)).toBe("sent");
  expect(await credentials.handOver("engine", "https://a.example", send)).toBe("sent");
  expect(sent).toEqual([
    ["engine", "t0ken"],
    ["engine", "t0ken"],
  ]);
});

it("a token is not sent to another address than it was given for", async () => {
  const { credentials, sent, send } = place();
  await credentials.keep("engine", "t0ken", "https://a.example");
  expect(await credentials.handOver("engine", "https://b.example", send)).toBe("other_place");
  expect(sent).toEqual([]);
});

it("a token that came before there was a place belongs to the first one, and to no other after it", async () => {
  const { credentials, sent, send } = place();
  await credentials.keep("model", "t0ken", undefined);
  const handed = [];
  for (const where of [undefined, "provider:openai", "https://b.example", undefined, "provider:openai"])
    handed.push(await credentials.handOver("model", where, send));
  expect([handed, sent]).toEqual([
    ["no_place", "sent_first", "other_place", "no_place", "sent"],
    [
      ["model", "t0ken"],
      ["model", "t0ken"],
    ],
  ]);
});

it("a server that does not take it binds it to nothing", async () => {
  const { credentials, send } = place();
  await credentials.keep("model", "t0ken", undefined);
  await expect(credentials.handOver("model", "provider:openai", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await credentials.handOver("model", "provider:gemini", send)).toBe("sent_first");
});

it("a token that is forgotten is forgotten at the server too", async () => {
  const { credentials, sent, send, stored } = place();
  await credentials.keep("model", "t0ken", "p");
  await credentials.clear("model", send);
  expect([sent, stored.size, await credentials.handOver("model", "p", send)]).toEqual([[["model", null]], 0, "none"]);
});

it("the address is the origin, and the environment's is the stronger", () => {
  const settings = { engine: { kind: "breadboard", url: "http://127.0.0.1:9099/v1?x" } } as unknown as UserSettings;
  expect(placeOf("engine", settings, {})).toBe("http://127.0.0.1:9099");
  expect(placeOf("engine", settings, { BREADBOARD_API_URL: "https://other.example/x" })).toBe("https://other.example");
});

it("the place of a model is its address, or its provider, also where only its name tells which; a person reads a name", () => {
  const rows: [object, string, string][] = [
    [{ name: "m", provider: "openai" }, "provider:openai", "OpenAI"],
    [{ name: "claude-x" }, "provider:anthropic", "Anthropic"],
    [{ name: "gemini-x" }, "provider:gemini", "Google Gemini"],
    [{ name: "gpt-x" }, "provider:openai", "OpenAI"],
    [{ name: "o3" }, "provider:openai", "OpenAI"],
    [{ name: "gpt-oss:20b" }, "provider:ollama", "Ollama on this machine"],
    [{ name: "qwen3" }, "provider:ollama", "Ollama on this machine"],
    [{ name: "m", provider: "acme" }, "provider:acme", "the provider acme"],
    [{ name: "claude-x", url: "http://127.0.0.1:8000/v1?x" }, "http://127.0.0.1:8000", "http://127.0.0.1:8000"],
  ];
  for (const [model, expected, words] of rows) {
    const found = placeOf("model", { model } as unknown as UserSettings, {});
    expect([found, placeInWords(found ?? "")]).toEqual([expected, words]);
  }
});

it("where nothing takes a token there is no place for one", () => {
  const model = { name: "m", provider: "openai" };
  const place = (scope: "engine" | "model", settings: object) => placeOf(scope, settings as UserSettings, {});
  expect([
    place("model", {}),
    place("model", { model, engine: { kind: "acp" } }),
    place("model", { model, engine: { kind: "breadboard" } }),
    place("engine", {}),
    place("engine", { engine: { kind: "acp" } }),
    place("engine", { engine: { kind: "breadboard" } }),
  ]).toEqual([undefined, undefined, undefined, undefined, undefined, "breadboard"]);
  expect(placeInWords("breadboard")).toBe("the BreadBoard engine");
});
