import { expect, it } from "vitest";
import { Credentials, placeOf } from "../../src/host/credentials";
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
  await credentials.set("engine", "t0ken", "https://a.example", send);
  expect([...stored.keys()]).toEqual(["breadboard.token.engine"]);
  expect(await credentials.handOver("engine", "https://a.example", send)).toBe("sent");
  expect(sent).toEqual([
    ["engine", "t0ken"],
    ["engine", "t0ken"],
  ]);
});

it("a token is not sent to another address than it was given for", async () => {
  const { credentials, sent, send } = place();
  await credentials.set("engine", "t0ken", "https://a.example", async () => undefined);
  expect(await credentials.handOver("engine", "https://b.example", send)).toBe("other_place");
  expect(sent).toEqual([]);
});

it("a token that is forgotten is forgotten at the server too", async () => {
  const { credentials, sent, send, stored } = place();
  await credentials.set("model", "t0ken", "p", async () => undefined);
  await credentials.clear("model", send);
  expect([sent, stored.size, await credentials.handOver("model", "p", send)]).toEqual([[["model", null]], 0, "none"]);
});

it("the address is the origin, and the environment's is the stronger", () => {
  const settings = {
    engine: { kind: "breadboard", url: "http://127.0.0.1:9099/v1?x" },
    model: { name: "m", provider: "openai" },
  } as unknown as UserSettings;
  expect(placeOf("engine", settings, {})).toBe("http://127.0.0.1:9099");
  expect(placeOf("engine", settings, { BREADBOARD_API_URL: "https://other.example/x" })).toBe("https://other.example");
  expect(placeOf("model", settings, {})).toBe("provider:openai");
});
