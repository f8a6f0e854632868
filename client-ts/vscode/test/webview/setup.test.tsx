// @vitest-environment jsdom
/** The first choice: shown until somebody chose, tried before it is kept, and asked for later. */
import { expect, it } from "vitest";
import { examplesFor } from "../../src/webview/setup/welcome";
import { METHODS, openPage } from "./page";

const LOOK = {
  agents: [
    { name: "opencode", there: true, install: "npm i opencode", login: "with `opencode auth login`" },
    { name: "goose", there: false, install: "get goose" },
  ],
  providers: [
    { provider: "anthropic", label: "Anthropic", needsKey: true },
    { provider: "openai", label: "OpenAI, or anything compatible", needsKey: true, key: { variable: "OPENAI_API_KEY" } },
    { provider: "ollama", label: "Ollama", needsKey: false },
  ],
  now: "search only",
};
type Wish = { wish: { kind: string; provider?: string; url?: string; name?: string }; anew: boolean };

function story(found: (params: Wish) => object, unchosen = true) {
  return {
    sessions: [],
    status: { unchosen },
    answers: {
      "editor.setupLook": () => LOOK,
      "editor.setupCheck": (params: Wish) => (params.wish.provider === "ollama" ? { ok: false, problem: "no" } : found(params)),
      "editor.setupChoose": () => ({ counts: "now" }),
    },
  };
}

it("on first open one thing is asked, with what is on this machine first", async () => {
  const page = await openPage(story(() => ({ ok: true })));
  expect(page.one(".setup h2").textContent).toBe("Who is to answer?");
  expect(page.all(".setup h3").map(({ textContent }) => textContent)).toEqual(["On this machine", "With a key", "Elsewhere"]);
  expect(page.all(".setup button").map((button) => button.getAttribute("aria-label") ?? button.textContent)).toEqual([
    "Try opencode",
    "See the models of OpenAI, or anything compatible",
    "Enter the key of Anthropic",
    "Try it",
    "Try it",
    "Install goose in a terminal",
    "Only search, without a model",
  ]);
  expect(page.root.innerHTML).not.toMatch(/bb\/|setCredentials|breadboard\./);
  await page.click(".setup button", "Only search");
  expect(page.asked("editor.setupChoose")).toEqual([{ wish: { kind: "search" } }]);
});

it("a provider is tried, its models are offered, and the one that is picked becomes the choice", async () => {
  const models = ["text-embedding-3", "claude-sonnet-5", "claude-haiku-5"];
  const page = await openPage(story(() => ({ ok: true, models })));
  await page.click(".setup button", /^Enter the key of Anthropic/);
  const select = page.one(".setup select[aria-label='Which model']") as HTMLSelectElement;
  expect([select.value, select.options.length]).toEqual(["claude-sonnet-5", 3]);
  await page.click(".setup button", "Use it");
  expect(page.story("editor.setupChoose")).toEqual([
    ["editor.setupChoose", { wish: { kind: "model", provider: "anthropic", name: "claude-sonnet-5" } }],
  ]);
});

it("what does not work says why, can be given another key, and can be chosen all the same", async () => {
  const page = await openPage(story(({ anew }) => (anew ? { ok: true, models: ["m"] } : { ok: false, problem: "It wants a key." })));
  const address = page.one(".setup input[aria-label='Address of the model']") as HTMLInputElement;
  address.value = "http://box:1/v1";
  address.dispatchEvent(new Event("input", { bubbles: true }));
  await page.frame();
  await page.key(address, "Enter");
  expect(page.one(".setup [role=alert]").textContent).toBe("It wants a key.");
  expect(page.all(".setup button", "Choose it all the same").length).toBe(1);
  await page.click(".setup button", "Enter a key");
  expect(page.asked("editor.setupCheck").slice(-2)).toEqual([
    { wish: { kind: "model", provider: "openai", url: "http://box:1/v1" }, anew: false },
    { wish: { kind: "model", provider: "openai", url: "http://box:1/v1" }, anew: true },
  ]);
  await page.click(".setup button", "Use it");
  expect(page.asked("editor.setupChoose")).toEqual([
    { wish: { kind: "model", provider: "openai", url: "http://box:1/v1", name: "m" } },
  ]);
});

it("an agent that does not start says how one logs in", async () => {
  const page = await openPage(story(() => ({ ok: false, problem: "It wants a login." })));
  await page.click(".setup button", /^Try opencode/);
  expect(page.one(".setup-outcome").textContent).toBe(
    "It wants a login.Log in with opencode auth login.Choose it all the same",
  );
});

it("after the choice the page welcomes, and the choice is asked for again from the menu of models", async () => {
  const page = await openPage({ ...story(() => ({ ok: true }), false), engine: { capabilities: ["models"], model: "ollama/q" } });
  expect(page.all(".setup").length).toBe(0);
  page.deliver({ v: 1, kind: "req", id: "h1", method: "page.setup", params: {} });
  await page.frame();
  expect(page.all(".setup > .hint")[0]?.textContent).toBe("Now: search only.");
  await page.click(".setup button", "Leave it as it is");
  expect(page.all(".setup").length).toBe(0);
});

it("questions of the first page are about files that there are", async () => {
  expect(examplesFor(["src/main.rs", "src/", "src/deep/main.rs", "tests/", "tests/a.rs"], "src/upload.rs")).toEqual([
    "Explain @src/main.rs and what it starts.",
    "What does @src/upload.rs do, and who uses it?",
    "How are the tests in @tests/ run, and what do they leave out?",
  ]);
  expect(examplesFor([], undefined)[0]).toBe("Explain the main entry point of this project.");
  const page = await openPage({
    sessions: [],
    status: { methods: [...METHODS, "bb/findFiles"] },
    answers: { "bb.findFiles": ({ query }) => ({ paths: query === "index" ? ["web/index.ts"] : [] }) },
  });
  expect(page.all(".welcome li button").map(({ textContent }) => textContent)[0]).toBe("Explain @web/index.ts and what it starts.");
});
