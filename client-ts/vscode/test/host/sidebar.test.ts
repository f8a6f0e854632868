import type { LogOutputChannel, Uri as RealUri, WebviewView } from "vscode";
import { beforeEach, expect, it, vi } from "vitest";
import { Remembered } from "../../src/host/remembered";
import { Sidebar } from "../../src/host/sidebar";
import type { HostStatus } from "../../src/shared/page_methods";
import * as stub from "./vscode_stub";

beforeEach(() => stub.reset());

function view() {
  const received = new stub.EventEmitter<unknown>();
  const visibility = new stub.EventEmitter<void>();
  const disposed = new stub.EventEmitter<void>();
  const posted: any[] = [];
  const webview = {
    options: {} as { localResourceRoots?: { path: string }[]; enableScripts?: boolean },
    html: "",
    cspSource: "https://cdn.example",
    onDidReceiveMessage: received.event,
    postMessage: async (message: unknown) => posted.push(message),
    asWebviewUri: (uri: { path: string }) => ({ toString: () => `https://cdn.example${uri.path}` }),
  };
  const subject = { webview, visible: true, onDidChangeVisibility: visibility.event, onDidDispose: disposed.event };
  return {
    subject: subject as unknown as WebviewView,
    webview,
    posted,
    say: (message: unknown) => received.fire(message),
    show: (visible: boolean) => {
      subject.visible = visible;
      visibility.fire();
    },
    dispose: () => disposed.fire(),
  };
}

const STATUS: HostStatus = {
  server: "running",
  generation: 1,
  trusted: true,
  roots: ["ws"],
  methods: ["bb/init"],
  agents: [],
  sendWithModifier: false,
};

function sidebar() {
  const asked: [string, unknown][] = [];
  const warnings: string[] = [];
  const subject = new Sidebar({
    extensionUri: stub.Uri.file("/ext") as unknown as RealUri,
    log: { warn: (text: string) => warnings.push(text) } as unknown as LogOutputChannel,
    ask: async (method, params) => {
      asked.push([method, params]);
      if (method !== "bb/rpc") return {};
      const { id, params: of } = params as { id: string; params: { tabId: string } };
      return { v: 1, kind: "res", id, ok: true, result: { tabId: of.tabId, epoch: "t", index: 0 } };
    },
    announced: () => true,
    status: () => ({ ...STATUS }),
    remembered: new Remembered("/nowhere/page.json", () => undefined),
    restart: async () => undefined,
    showLog: () => undefined,
    code: { apply: async () => undefined },
    setup: { look: async () => ({ agents: [], providers: [], now: "" }), check: async () => ({ ok: true }), choose: async () => ({ counts: "now" }) },
    turnDiff: async () => undefined,
    review: { show: async () => undefined, choices: async () => [], choose: () => undefined },
    setToken: async (scope: string) => void stub.done.push(["setToken", scope]),
  });
  return { subject, asked, warnings };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

it("R000-65: the page loads from the extension's own folder of the page, and from nowhere else", () => {
  const { subject } = sidebar();
  const { subject: of, webview } = view();
  subject.resolveWebviewView(of);
  expect(webview.options).toEqual({
    enableScripts: true,
    enableForms: false,
    enableCommandUris: false,
    localResourceRoots: [expect.objectContaining({ path: "/ext/dist/webview" })],
  });
  expect([...webview.html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address)).toEqual(
    ["codicon.css", "main.css", "main.js"].map((file) => `https://cdn.example/ext/dist/webview/${file}`),
  );
});

it("nothing is posted to a hidden page, and the server is told that nobody listens", async () => {
  const { subject, asked } = sidebar();
  const page = view();
  subject.resolveWebviewView(page.subject);
  page.show(false);
  subject.tell({ topic: "bb/state", payload: { sessions: [] } });
  await settle();
  expect(page.posted).toEqual([]);
  expect(asked).toEqual([["bb/init", { subscribe: { events: false, view: false, tabs: false } }]]);
});

it("R001-59 R001-61: of a page that is hidden or given up the server hears which tabs have no view any more", async () => {
  const [one, two] = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];
  for (const goes of [
    (page: ReturnType<typeof view>) => page.show(false),
    (page: ReturnType<typeof view>) => page.dispose(),
  ]) {
    const { subject, asked } = sidebar();
    const page = view();
    subject.resolveWebviewView(page.subject);
    page.say({ v: 1, kind: "req", id: "1", method: "bb.tab.open", params: { tabId: one, sessionId: "s1" } });
    page.say({ v: 1, kind: "req", id: "2", method: "bb.tab.open", params: { tabId: two, sessionId: "s2" } });
    page.say({ v: 1, kind: "req", id: "3", method: "bb.tab.close", params: { tabId: one } });
    goes(page);
    await settle();
    expect(asked.filter(([method]) => method !== "bb/rpc")).toEqual([
      ["bb/tab/detach", { tabIds: [two] }],
      ["bb/init", { subscribe: { events: false, view: false, tabs: false } }],
    ]);
  }
});

it("R001-59: a page that is given up and made anew is served again", async () => {
  const { subject } = sidebar();
  const first = view();
  subject.resolveWebviewView(first.subject);
  first.dispose();
  const second = view();
  subject.resolveWebviewView(second.subject);
  second.say({ v: 1, kind: "req", id: "1", method: "editor.status" });
  await vi.waitFor(() => expect(second.posted).not.toEqual([]));
  expect(first.posted).toEqual([]);
  expect(second.posted).toEqual([{ v: 1, kind: "res", id: "1", ok: true, result: STATUS }]);
});

it("the number at the view stays when the view is made anew, and goes when nothing waits", () => {
  const { subject } = sidebar();
  subject.setBadge(2, "2 requests wait");
  const page = view();
  subject.resolveWebviewView(page.subject);
  expect([page.subject.badge, subject.visible]).toEqual([{ value: 2, tooltip: "2 requests wait" }, true]);
  subject.setBadge(0, "0 requests wait");
  page.show(false);
  expect([page.subject.badge, subject.visible]).toEqual([undefined, false]);
});

it("what a command wants of a page that is not there yet is asked when it is", async () => {
  const { subject } = sidebar();
  const page = view();
  await subject.ask("page.compose", { text: "x" });
  expect(stub.done).toEqual([["breadboard.sidebar.focus"]]);
  subject.resolveWebviewView(page.subject);
  page.say({ v: 1, kind: "req", id: "1", method: "editor.status" });
  await vi.waitFor(() => expect(page.posted.some(({ kind }) => kind === "res")).toBe(true));
  expect(page.posted.filter(({ kind }) => kind === "req").map(({ method, params }) => [method, params])).toEqual([
    ["page.compose", { text: "x" }],
  ]);
});

it("R000-15: a violation stands in the log under its own word", async () => {
  const { subject, warnings } = sidebar();
  const page = view();
  subject.resolveWebviewView(page.subject);
  page.say({ hello: "you" });
  await settle();
  expect(warnings).toEqual([expect.stringMatching(/^\[protocol violation\] /)]);
});
