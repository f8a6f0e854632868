// @vitest-environment jsdom
/** Agents on the page: how a session of one begins, what it offers, how it ends. */
import type { Block, Login, LoginMethod } from "@breadboard-ls/sdk";
import { describe, expect, it } from "vitest";
import { openPage, refuse, uuid } from "./page";

const STATUS = { methods: ["bb/agent/restart", "bb/session/info"], agents: ["gemini", "opencode"] };
const AGENT = { name: "gemini", title: "Gemini", generation: 1, status: "running" };
const SESSIONS = [{ sessionId: "s1", title: "First", status: "idle", agent: "gemini" }];

/** A page with a session of an agent in front. */
const ofAgent = (info: object = {}, answers: Record<string, (params: any) => unknown> = {}) =>
  openPage({
    status: STATUS,
    sessions: SESSIONS,
    engine: { kind: "breadboard", capabilities: ["commands", "models"] },
    answers: { "bb.session.info": () => ({ agent: AGENT, ...info }), ...answers },
  });
type Page = Awaited<ReturnType<typeof openPage>>;
const items = (page: Page) => page.all(".menu [role=menuitem]").map((item) => item.textContent);
const focused = () => document.activeElement?.textContent;

describe("a new session", () => {
  it("is a click away, and with agents a menu that the keyboard moves in", async () => {
    const page = await openPage({ status: STATUS });
    const button = page.one(".strip button", /^New session/);
    expect([button.getAttribute("aria-haspopup"), button.getAttribute("aria-expanded")]).toEqual(["menu", "false"]);
    await page.key(button, "ArrowDown");
    expect([items(page), focused(), button.getAttribute("aria-expanded")]).toEqual([
      ["New session", "gemini", "opencode"],
      "New session",
      "true",
    ]);
    const menu = page.one("[role=menu]");
    const visited = [];
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "Home", "End"]) {
      await page.key(menu, key);
      visited.push(focused());
    }
    expect(visited).toEqual(["gemini", "opencode", "New session", "opencode", "New session", "opencode"]);
    await page.key(menu, "Escape");
    expect([items(page), document.activeElement]).toEqual([[], button]);
    expect(page.asked("bb.createSession")).toEqual([]);
  });

  it("of the engine of the settings, or of an agent by its name", async () => {
    let made = 0;
    const page = await openPage({
      status: STATUS,
      answers: { "bb.createSession": () => ({ sessionId: `n${(made += 1)}` }) },
    });
    await page.click(".strip button", /^New session/);
    await page.click("[role=menuitem]", "New session");
    await page.click(".strip button[aria-haspopup]");
    await page.click("[role=menuitem]", "opencode");
    expect(page.asked("bb.createSession")).toEqual([{}, { agent: "opencode" }]);
    expect(page.asked("bb.tab.open").slice(1)).toEqual([
      { tabId: uuid(2), sessionId: "n1" },
      { tabId: uuid(3), sessionId: "n2" },
    ]);
    expect([items(page), document.activeElement]).toEqual([[], page.one(".composer textarea")]);
  });

  it("R001-13 R001-35: has its tab while the agent starts; a refusal stands there, with Retry and Close", async () => {
    let reject: (why: object) => void = () => undefined;
    const starting = new Promise((_resolve, refused) => (reject = refused));
    const refusals: (() => unknown)[] = [
      () => starting,
      refuse("engine_rejected", "Still not logged in; log in first."),
    ];
    const page = await openPage({
      status: STATUS,
      answers: { "bb.createSession": () => (refusals.shift() ?? (() => ({ sessionId: "n1" })))() },
    });
    await page.click(".strip button", /^New session/);
    await page.click("[role=menuitem]", "gemini");
    const shown = () => [
      page.one(".strip .tab.active [role=tab]").getAttribute("aria-label"),
      page.one("#pane").textContent?.trim(),
    ];
    expect(shown()).toEqual(["Starting gemini…", "Starting gemini…"]);
    await page.type("what I wanted to ask");
    reject({ code: "not_found", message: "The program `gemini` was not found; install it." });
    await page.frame();
    expect(shown()).toEqual([
      "gemini, could not be started",
      "gemini could not be started. The program gemini was not found; install it.RetryClose",
    ]);
    expect(page.one("#pane [role=alert]").textContent).toContain("was not found");
    await page.click("#pane button", "Retry");
    expect(page.one("#pane [role=alert]").textContent).toContain("Still not logged in");
    await page.click("#pane button", "Retry");
    expect(page.all("#pane [role=alert]")).toEqual([]);
    expect(page.asked("bb.createSession")).toEqual([{ agent: "gemini" }, { agent: "gemini" }, { agent: "gemini" }]);
    expect((page.one(".composer textarea") as HTMLTextAreaElement).value).toBe("what I wanted to ask");
  });

  it("that was refused can be given up, and what was typed for it is not lost", async () => {
    const page = await openPage({
      status: STATUS,
      sessions: [],
      answers: { "bb.createSession": refuse("untrusted_workspace", "This workspace is not trusted; trust it first.") },
    });
    await page.key(await page.type("do it"), "Enter");
    expect(page.asked("bb.tab.prompt")).toEqual([]);
    await page.click("#pane button", "Close");
    expect([page.all(".strip .tab").length, page.asked("bb.tab.close")]).toEqual([0, []]);
    expect((page.one(".composer textarea") as HTMLTextAreaElement).value).toBe("do it");
  });
});

describe("an agent that ended", () => {
  const gone = (page: Page) =>
    page.tell("bb/connection", {
      status: "error",
      sessionId: "s1",
      lastError: "The agent `gemini` ended with exit code 3; send a prompt to start it anew.",
    });

  it("R001-57 R001-58: its tab says so, and it can be started again from there", async () => {
    let status = "running";
    const page = await ofAgent(
      {},
      {
        "bb.session.info": () => ({ agent: { ...AGENT, status } }),
        "bb.agent.restart": () => {
          status = "running";
          return { generation: 2 };
        },
      },
    );
    status = "exited";
    await gone(page);
    expect(page.one(".strip [role=tab]").getAttribute("aria-label")).toBe("First, its agent ended");
    expect(page.one(".strip .tab .codicon-error")).toBeTruthy();
    const banner = page.one(".banner.error");
    expect([banner.getAttribute("role"), banner.textContent]).toEqual([
      "alert",
      "The agent gemini ended with exit code 3; send a prompt to start it anew. Restart",
    ]);
    await page.click(".banner button", "Restart");
    expect(page.asked("bb.agent.restart")).toEqual([{ agent: "gemini" }]);
    expect([page.all(".banner").length, page.one(".strip [role=tab]").getAttribute("aria-label")]).toEqual([
      0,
      "First",
    ]);
  });

  it("R001-60: what it was at can be continued by a press, which opens its session again", async () => {
    let status = "running";
    const lost = "The agent `gemini` ended with exit code 3; send a prompt to start it anew.";
    const chat = [
      { id: "u1", seq: 1, turn: 1, kind: "user", text: "build" },
      { id: "n1", seq: 2, turn: 1, kind: "notice", level: "error", text: lost },
    ] as Block[];
    const page = await openPage({
      status: STATUS,
      sessions: SESSIONS,
      engine: { kind: "breadboard", capabilities: ["commands", "models"] },
      lanes: { chat },
      answers: { "bb.session.info": () => ({ agent: { ...AGENT, status } }) },
    });
    expect(page.all(".row .notice button").map(({ textContent }) => textContent)).toEqual(["Retry"]);
    status = "exited";
    await gone(page);
    expect(page.all(".row .notice button").map(({ textContent }) => textContent)).toEqual(["Continue", "Retry"]);
    await page.click(".row .notice button", "Continue");
    expect(page.asked("bb.tab.prompt")).toEqual([
      { tabId: uuid(1), messageId: uuid(2), text: "Continue where you stopped." },
    ]);
  });

  it("R001-60: a turn that the server's end cut can be continued, and only at an agent", async () => {
    const cut = {
      chat: [
        { id: "u1", seq: 1, turn: 1, kind: "user", text: "build" },
        { id: "e1", seq: 2, turn: 1, kind: "turn-end", outcome: "cut", text: "The server ended while this turn ran." },
      ] as Block[],
    };
    const buttons = (page: Page) => page.all(".row .notice button").map(({ textContent }) => textContent);
    const info = { "bb.session.info": () => ({ agent: AGENT }) };
    const page = await openPage({ status: STATUS, sessions: SESSIONS, lanes: cut, answers: info });
    expect(buttons(page)).toEqual(["Continue", "Send it again"]);
    expect(buttons(await openPage({ lanes: cut }))).toEqual(["Send it again"]);
  });

  it("R001-57: also a tab at the back, when only its agent ended", async () => {
    let exited = "";
    const page = await openPage({
      status: STATUS,
      sessions: [...SESSIONS, { sessionId: "s2", title: "Second", status: "idle" }],
      saved: { open: ["s1", "s2"], active: "s2" },
      answers: {
        "bb.session.info": ({ sessionId }) =>
          sessionId === "s1" ? { agent: { ...AGENT, status: exited === "s1" ? "exited" : "running" } } : {},
      },
    });
    exited = "s1";
    await gone(page);
    expect([
      page.all(".strip [role=tab]").map((tab) => tab.getAttribute("aria-label")),
      page.all(".banner").length,
    ]).toEqual([["First, its agent ended", "Second"], 0]);
  });

  it("R001-58: one that does not start again says why", async () => {
    const page = await ofAgent(
      { agent: { ...AGENT, status: "exited" } },
      { "bb.agent.restart": refuse("not_found", "The program `gemini` was not found; install it.") },
    );
    expect(page.one(".banner.error").textContent).toContain("The agent gemini ended; restart it, or send a prompt.");
    await page.click(".banner button", "Restart");
    expect(page.all(".banner.error").map((banner) => banner.textContent)).toEqual([
      "The agent gemini ended; restart it, or send a prompt. Restart",
      "The program gemini was not found; install it. Dismiss",
    ]);
  });
});

describe("what an agent offers", () => {
  it("its commands are completed after / and sent as the text of the prompt", async () => {
    const commands = [
      { name: "tour", description: "Shows what a turn may contain.", hint: "where to" },
      { name: "init", description: "" },
    ];
    let known: object[] = [];
    const page = await ofAgent({}, { "bb.session.info": () => ({ agent: AGENT, commands: known }) });
    // Told after the session was opened, as agents do.
    known = commands;
    const area = await page.type("/");
    expect(page.all("[role=option]").map((option) => option.textContent?.trim())).toEqual([
      "/tour where to – Shows what a turn may contain.",
      "/init",
    ]);
    await page.type("/to");
    await page.key(area, "Enter");
    expect(area.value).toBe("/tour ");
    await page.type("/tour the wire");
    await page.key(area, "Enter");
    expect([page.asked("bb.tab.prompt").map(({ text }) => text), page.asked("bb.command")]).toEqual([
      ["/tour the wire"],
      [],
    ]);
    // The commands of the engine of the settings are another's.
    await page.type("/check");
    expect(page.all("[role=option]")).toEqual([]);
  });

  const modes = {
    currentModeId: "ask",
    availableModes: [
      { id: "ask", name: "Ask" },
      { id: "code", name: "Code" },
    ],
  };
  const option = (id: string, category: string, type: string, currentValue: unknown, options: object[] = []) => ({
    id,
    name: id,
    category,
    type,
    currentValue,
    options,
  });
  const choices = [
    { value: "small", name: "Small" },
    { value: "large", name: "Large", group: "Big ones" },
  ];
  const select = (page: Page, label: string) => page.one(`select[aria-label="${label}"]`) as HTMLSelectElement;
  const choose = async (page: Page, label: string, value: string): Promise<void> => {
    select(page, label).value = value;
    select(page, label).dispatchEvent(new Event("change", { bubbles: true }));
    await page.frame();
  };

  it("mode, model and options are chosen at the agent, and shown as it took them", async () => {
    let info = {
      modes,
      models: { currentModelId: "old", availableModels: [{ modelId: "old", name: "Old" }] },
      configOptions: [
        option("Model", "model", "select", "small", choices),
        option("Careful", "other", "boolean", true),
        option("Odd", "other", "dial", 3),
      ],
    };
    const page = await ofAgent(
      {},
      {
        "bb.session.info": () => ({ agent: AGENT, ...info }),
        "bb.command": ({ sessionId, command, args }) => {
          if (command === "set_mode") info = { ...info, modes: { ...modes, currentModeId: args.modeId } };
          return { sessionId, status: "accepted" };
        },
      },
    );
    // The model once, though it is named twice; nothing of the engine of the settings.
    expect(
      page
        .all(".composer-bar select, .composer-bar input")
        .map((one) => one.getAttribute("aria-label") ?? one.parentElement?.textContent),
    ).toEqual(["Mode", "Model", "Careful"]);
    await choose(page, "Mode", "code");
    await choose(page, "Model", "large");
    page.one(".composer-bar input").click();
    await page.frame();
    expect(page.asked("bb.command")).toEqual([
      { sessionId: "s1", command: "set_mode", args: { modeId: "code" } },
      { sessionId: "s1", command: "set_config_option", args: { configId: "Model", value: "large" } },
      { sessionId: "s1", command: "set_config_option", args: { configId: "Careful", value: false } },
    ]);
    // The agent took the mode only.
    expect([select(page, "Mode").value, select(page, "Model").value]).toEqual(["code", "small"]);
  });

  it("the modes of the built-in agent are offered beside its models", async () => {
    let modes = {
      currentModeId: "agent",
      availableModes: [
        { id: "plan", name: "Plan", description: "Looks at the code and plans; changes and runs nothing." },
        { id: "agent", name: "Agent" },
      ],
    };
    const page = await openPage({
      status: STATUS,
      engine: { kind: "embedded", capabilities: ["models"] },
      answers: {
        "bb.session.info": () => ({ modes }),
        "bb.command": ({ sessionId, args }) => {
          modes = { ...modes, currentModeId: args.modeId };
          return { sessionId, status: "accepted" };
        },
      },
    });
    const labels = page.all(".composer-bar select").map((one) => one.getAttribute("aria-label"));
    await choose(page, "Mode", "plan");
    expect([labels, page.asked("bb.command"), select(page, "Mode").value, select(page, "Mode").title]).toEqual([
      ["Mode", "Model"],
      [{ sessionId: "s1", command: "set_mode", args: { modeId: "plan" } }],
      "plan",
      "Mode: Plan. Looks at the code and plans; changes and runs nothing.",
    ]);
  });

  it("models in the older way are shown and not offered, since nothing sets them", async () => {
    const page = await ofAgent({ models: { currentModelId: "m", availableModels: [{ modelId: "m", name: "Em" }] } });
    expect([select(page, "Model").disabled, select(page, "Model").selectedOptions[0]?.textContent]).toEqual([
      true,
      "Em",
    ]);
  });

  it("what it used stands in one line, closer as a tooltip, and follows what it says in the run lane", async () => {
    let usage: object = { used: 53_211, size: 200_000, cost: { amount: 0.0045, currency: "USD" } };
    const page = await ofAgent({}, { "bb.session.info": () => ({ agent: AGENT, usage }) });
    const line = () => [page.one(".usage").textContent, page.one(".usage").title];
    expect(line()).toEqual([
      "Context: 53k of 200k tokens (27 %) · 0.0045 USD",
      "Context: 53211 of 200000 tokens; cost so far: 0.0045 USD",
    ]);
    // As an agent adds them up.
    let seq = 10;
    for (const [amount, told] of [
      [0.006400000000000001, "0.0064"],
      [0.1 + 0.2, "0.3"],
      [12.34567, "12.3457"],
      [0.0000123, "0.000012"],
      [0, "0"],
    ] as const) {
      usage = { used: 1, size: 2, cost: { amount, currency: "USD" } };
      seq += 1;
      await page.put(seq, "run", { id: "usage-1", seq, kind: "notice", level: "info", text: `Cost ${amount}.` });
      expect(line()[1]).toBe(`Context: 1 of 2 tokens; cost so far: ${told} USD`);
    }
    usage = { used: 1_234, size: 0 };
    await page.put(16, "run", { id: "usage-1", seq: 16, kind: "notice", level: "info", text: "Context: 1234 tokens." });
    expect(line()).toEqual(["Context: 1.2k tokens", "Context: 1234 tokens"]);
  });

  it("nothing of it is shown for a session that no agent holds", async () => {
    const page = await openPage({ status: STATUS, engine: { capabilities: ["models"], model: "m" } });
    expect([
      page.asked("bb.session.info"),
      page.all(".usage").length,
      page.all(".composer-bar select").map((one) => one.getAttribute("aria-label")),
    ]).toEqual([[{ sessionId: "s1" }], 0, ["Model"]]);
  });
});

describe("an agent that wants a login first", () => {
  const notice = (level: "warning" | "error", text: string, login?: Login): Block =>
    ({ id: "n1", seq: 2, turn: 1, kind: "notice", level, text, login }) as Block;
  const user: Block = { id: "u1", seq: 1, turn: 1, kind: "user", text: "go" };
  const METHODS: LoginMethod[] = [
    { id: "api-key", name: "API key", description: "from OPENAI_API_KEY", by: "agent" },
    { id: "web", name: " ", by: "agent" },
    { id: "shell", name: "Subscription", by: "terminal", description: "run `codex login`", command: "codex login" },
  ];
  const WAYS =
    "The agent `agent` wants a login first; choose “API key”: from OPENAI_API_KEY, or “web”, or “Subscription” in a " +
    "terminal: run `codex login`.";
  const KNOWN =
    "The agent `codex` wants a login first; log in with `codex login` in a shell, or set OPENAI_API_KEY in the environment.";
  const buttons = (page: Page, within: string) => page.all(`${within} button`).map(({ textContent }) => textContent);

  it("D10: has a button for each of its ways, and says when it was taken", async () => {
    let reject: ((why: object) => void) | undefined;
    let accept: (answer: object) => void = () => undefined;
    const page = await openPage({
      status: STATUS,
      sessions: SESSIONS,
      lanes: { chat: [user, notice("error", WAYS, { methods: METHODS })] },
      answers: {
        "bb.session.info": () => ({ agent: AGENT }),
        "bb.command": () => new Promise((resolve, refused) => ([accept, reject] = [resolve, refused])),
      },
    });
    expect(page.one(".row .notice > div > span").textContent).toBe(
      "The agent agent wants a login first; choose “API key”: from OPENAI_API_KEY, or “web”, or “Subscription” in a " +
        "terminal: run codex login.",
    );
    const all = ["Log in: API key", "Log in: web", "Open a terminal with codex login", "Retry"];
    expect(buttons(page, ".row .notice")).toEqual(all);
    const said = () => page.all(".row .notice [role=status]").map(({ textContent }) => textContent);

    await page.click(".row .notice button", "API key");
    await page.click(".row .notice button", "Log in: web");
    expect(page.asked("bb.command")).toEqual([
      { sessionId: "s1", command: "authenticate", args: { methodId: "api-key" } },
    ]);
    expect(said()).toEqual(["Logging in; a browser may open."]);
    reject?.({ code: "engine_rejected", message: "The agent `agent` refused this (no key); try again." });
    await page.frame();
    expect([said(), page.one(".banner.error").textContent]).toEqual([
      [],
      "The agent agent refused this (no key); try again. Dismiss",
    ]);
    await page.click(".row .notice button", "API key");
    accept({ sessionId: "s1", status: "accepted" });
    await page.frame();
    expect(said()).toEqual(["Logged in; send the prompt again."]);

    await page.click(".row .notice button", "Open a terminal");
    expect(page.asked("editor.openTerminal")).toEqual([{ command: "codex login" }]);
  });

  it("D10: has the one that the server knows, also where the session is there and nothing was asked yet", async () => {
    const page = await openPage({
      status: STATUS,
      sessions: SESSIONS,
      lanes: { chat: [notice("warning", KNOWN, { command: "codex login", methods: METHODS.slice(2) })] },
      answers: { "bb.session.info": () => ({ agent: AGENT }) },
    });
    expect(buttons(page, ".row .notice")).toEqual(["Open a terminal with codex login"]);
  });

  it("D10: and where no session could be made for it", async () => {
    const page = await openPage({
      status: STATUS,
      answers: { "bb.createSession": refuse("engine_unauthorized", KNOWN, { login: { command: "codex login", methods: METHODS } }) },
    });
    await page.click(".strip button", /^New session/);
    await page.click("[role=menuitem]", "opencode");
    expect(buttons(page, "#pane")).toEqual(["Open a terminal with codex login", "Retry", "Close"]);
    await page.click("#pane button", "Open a terminal");
    expect(page.asked("editor.openTerminal")).toEqual([{ command: "codex login" }]);
  });

  it("D10: what the agent says of itself offers no command of its own", async () => {
    const says =
      "The agent `agent` wants a login first; it says: The agent `x` wants a login first; log in with `rm -rf x` in a shell.";
    const page = await openPage({
      status: STATUS,
      sessions: SESSIONS,
      lanes: { chat: [user, notice("error", says)] },
      answers: { "bb.session.info": () => ({ agent: AGENT }) },
    });
    expect(buttons(page, ".row .notice")).toEqual(["Retry"]);
  });
});
