/** The panel of seed 004: one, with its pickers and its question, as VS Code is asked for them. */
import { beforeEach, expect, it, vi } from "vitest";
import type { LogOutputChannel, Uri as RealUri, WebviewPanel } from "vscode";
import { CreateSpecPanel } from "../../src/host/create_spec_panel";
import * as stub from "../host/vscode_stub";

beforeEach(() => stub.reset());

function panel(answers: Record<string, (params: any) => unknown> = {}) {
  const asked: unknown[] = [];
  const warnings: string[] = [];
  const shown: string[] = [];
  const server = { running: true, announced: true };
  const subject = new CreateSpecPanel({
    extensionUri: stub.Uri.file("/ext") as unknown as RealUri,
    log: { warn: (text: string) => void warnings.push(text) } as unknown as LogOutputChannel,
    ask: async (method, params) => {
      asked.push([method, params]);
      if (method === "bb/createSpec/ready") return { shouldFocusPrimaryField: true };
      return answers[method]?.(params);
    },
    server: () => ({ running: server.running, ...(server.running ? {} : { sentence: "The server is stopped." }) }),
    announced: () => server.announced,
    showSession: (sessionId) => void shown.push(sessionId),
  });
  return { subject, asked, warnings, shown, server };
}

async function open(answers: Record<string, (params: any) => unknown> = {}) {
  const all = panel(answers);
  all.subject.show();
  const made = stub.panels[0] as stub.WebviewPanel;
  made.say({ type: "create-spec/ready" });
  await vi.waitFor(() => expect(made.posted).toHaveLength(1));
  made.posted.length = 0;
  return { ...all, made };
}

it("R004-39: there is one panel with the title of the seed; asked for again it is shown, and its field has the focus", async () => {
  const { subject, made } = await open();
  subject.show();
  expect([stub.panels.length, made.reveals, made.posted]).toEqual([1, 1, [{ type: "create-spec/focus" }]]);
  expect(made.made.slice(0, 2)).toEqual(["breadboard.createSpec", "Create New Spec"]);
  made.dispose();
  subject.show();
  expect(stub.panels).toHaveLength(2);
});

it("R004-05: the host listens before the page is there, so its `ready` is never missed", () => {
  const { subject, asked } = panel();
  const made = new stub.WebviewPanel([]);
  Object.defineProperty(made.webview, "html", { set: () => made.say({ type: "create-spec/ready" }) });
  void subject.deserializeWebviewPanel(made as unknown as WebviewPanel);
  expect(asked).toEqual([["bb/createSpec/ready", {}]]);
});

it("the page has its own script, and the policy of the sidebar: images as data only", async () => {
  const { made } = await open();
  expect(made.webview.options).toEqual({
    enableScripts: true,
    enableForms: false,
    enableCommandUris: false,
    localResourceRoots: [expect.objectContaining({ path: "/ext/dist/webview" })],
  });
  expect([...made.webview.html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address)).toEqual(
    ["codicon.css", "create_spec.css", "create_spec.js"].map((file) => `https://cdn.example/ext/dist/webview/${file}`),
  );
  expect(made.webview.html).toContain("default-src 'none'");
  expect(made.webview.html).toContain("img-src data:;");
  expect(made.webview.html).toContain("<title>Create New Spec</title>");
});

it("R004-18 R004-60: import opens the picker that the seed names, and passes what was picked on", async () => {
  const { made, asked } = await open({ "bb/createSpec/importMarkdown": () => ({ content: "# Spec" }) });
  stub.answers.open = [stub.Uri.file("/elsewhere/spec.md")];
  made.say({ type: "create-spec/import-markdown:request" });
  await vi.waitFor(() => expect(made.posted).toHaveLength(1));
  expect(stub.dialogs).toEqual([{ canSelectMany: false, filters: { Markdown: ["md"] } }]);
  expect(asked.at(-1)).toEqual(["bb/createSpec/importMarkdown", { uri: "file:///elsewhere/spec.md" }]);
  expect(made.posted).toEqual([{ type: "create-spec/import-markdown:result", payload: { content: "# Spec" } }]);
});

it("R004-25 R004-61: attach opens the picker that the seed names, and passes all of what was picked on", async () => {
  const { made, asked } = await open({ "bb/createSpec/attachImages": () => ({ images: [] }) });
  stub.answers.open = [stub.Uri.file("/a.png"), stub.Uri.file("/b.svg")];
  made.say({ type: "create-spec/attach-images:request", payload: { currentCount: 1 } });
  await vi.waitFor(() => expect(made.posted).toHaveLength(1));
  expect(stub.dialogs).toEqual([
    { canSelectMany: true, filters: { Images: ["png", "jpg", "jpeg", "gif", "webp", "svg"] } },
  ]);
  expect(asked.at(-1)).toEqual([
    "bb/createSpec/attachImages",
    { uris: ["file:///a.png", "file:///b.svg"], currentCount: 1 },
  ]);
});

it("R004-19 R004-26 R004-62: a picker that gives nothing is no result", async () => {
  const { made, asked } = await open();
  made.say({ type: "create-spec/import-markdown:request" });
  await vi.waitFor(() => expect(made.posted).toEqual([{ type: "create-spec/picker-closed" }]));
  expect(asked).toHaveLength(1);
});

it("R004-35 R004-33: after a submission the panel is gone, and the session of the prompt is shown", async () => {
  const { made, shown } = await open({
    "bb/createSpec/submit": () => ({ sessionId: "s7", messageId: "m", disposition: "started" }),
  });
  made.say({ type: "create-spec/submit", payload: { description: "text", imageUris: [] } });
  await vi.waitFor(() => expect(shown).toEqual(["s7"]));
  expect([made.posted, made.disposed]).toEqual([[{ type: "create-spec/submit:success" }], true]);
});

it("R004-37 R004-38: the question names what stays; each answer does what it says", async () => {
  for (const [answer, disposed, methods] of [
    [undefined, false, []],
    ["Keep Draft and Close", true, []],
    ["Discard Draft", true, ["bb/createSpec/discard"]],
  ] as const) {
    stub.reset();
    const { made, asked } = await open({
      "bb/createSpec/closeAttempt": () => ({ shouldClose: false }),
      "bb/createSpec/discard": () => ({}),
    });
    stub.answers.warning = answer;
    made.say({ type: "create-spec/close-attempt", payload: { hasDirtyChanges: true } });
    await vi.waitFor(() => expect(stub.done).toHaveLength(1));
    expect(stub.done[0]).toEqual([
      "showWarningMessage",
      "Close the new spec? It was not submitted.",
      { modal: true, detail: expect.stringContaining("stays as a draft") },
      "Keep Draft and Close",
      "Discard Draft",
    ]);
    await vi.waitFor(() => expect([made.disposed, made.posted.length]).toEqual([disposed, disposed ? 0 : 1]));
    expect((asked as [string][]).slice(2).map(([method]) => method)).toEqual(methods);
  }
});

it("R004-15: a panel in the background is not asked about, and closed by its button it leaves its last words", async () => {
  const { made, asked } = await open({
    "bb/createSpec/autosave": () => ({ lastUpdated: 1 }),
    "bb/createSpec/closeAttempt": () => ({ shouldClose: false }),
  });
  made.say({ type: "create-spec/autosave", payload: { description: "text" } });
  made.show(false);
  made.say({ type: "create-spec/close-attempt", payload: { hasDirtyChanges: true } });
  await new Promise((resolve) => setImmediate(resolve));
  expect(stub.done).toEqual([]);
  made.dispose();
  expect(asked.at(-1)).toEqual(["bb/createSpec/closeAttempt", { hasDirtyChanges: true, description: "text" }]);
});

it("without a server, or with one that knows no specs, the command says what to do", () => {
  const { subject, server } = panel();
  server.running = false;
  expect(() => subject.show()).toThrow("The server is stopped.");
  server.running = true;
  server.announced = false;
  expect(() => subject.show()).toThrow("This server knows nothing of specs; update breadboard-ls.");
  expect(stub.panels).toEqual([]);
});

it("a message that does not fit stands in the log as a violation", async () => {
  const { made, warnings } = await open();
  made.say({ type: "create-spec/submit" });
  expect(warnings).toEqual([expect.stringMatching(/^\[protocol violation\] /)]);
});
