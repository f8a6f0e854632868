/**
 * The page as a browser has it, with a host that answers what the story says. Everything goes through the envelope.
 *
 * `frame()` is the browser painting: nothing is drawn before.
 */
import type { Block, View, ViewParams } from "@breadboard-ls/sdk";
import { options, render } from "preact";
import { App } from "../../src/webview/app";
import { drawOncePerFrame } from "../../src/webview/frame";
import { HostLink } from "../../src/webview/host_link";
import { ModelContext } from "../../src/webview/model/context";
import { Model } from "../../src/webview/model/model";
import type { HostStatus } from "../../src/shared/page_methods";

type Message = Record<string, any>;
type Answer = (params: any) => unknown;

export const METHODS = ["bb/init", "bb/selectSession", "bb/queue/list", "bb/tab/open", "bb/tab/prompt", "bb/rebuild", "bb/permission/revoke"];
export const STATUS: HostStatus = {
  server: "running",
  generation: 1,
  trusted: true,
  roots: ["ws"],
  methods: METHODS,
  agents: [],
  sendWithModifier: false,
};

export const viewOf = (
  lanes: Partial<Record<"chat" | "tasks" | "run" | "debug", Block[]>>,
  seq = 10,
  hasMore = false,
): View => ({
  epoch: "e",
  seq,
  lanes: {
    chat: { blocks: lanes.chat ?? [], hasMore },
    tasks: { blocks: lanes.tasks ?? [], hasMore: false },
    run: { blocks: lanes.run ?? [], hasMore: false },
    debug: { blocks: lanes.debug ?? [], hasMore: false },
  },
});

/** The nth id that a page makes. */
export const uuid = (nth: number): string => `00000000-0000-4000-8000-${String(nth).padStart(12, "0")}`;

export interface Story {
  readonly lanes?: Parameters<typeof viewOf>[0];
  readonly view?: View;
  readonly saved?: unknown;
  readonly status?: Partial<HostStatus>;
  readonly engine?: Message;
  readonly sessions?: Message[];
  /** Tabs that the server knows from an earlier page, with their sessions. */
  readonly tabs?: Readonly<Record<string, string>>;
  /** Answers by envelope method; what throws is refused with the thrown `{ code, message }`. */
  readonly answers?: Record<string, Answer>;
}

export async function openPage(story: Story = {}) {
  const listeners = new Set<(event: MessageEvent) => void>();
  const sent: Message[] = [];
  const violations: string[] = [];
  const saved: unknown[] = [];
  const painting: (() => void)[] = [];
  let frames = 0;
  let made = 0;
  let time = 1_000;
  const status = { ...STATUS, ...story.status };
  const sessions = story.sessions ?? [{ sessionId: "s1", title: "First", status: "idle" }];
  /** As the server keeps them: a session is in one tab. */
  const tabs = new Map(Object.entries(story.tabs ?? {}));
  const inTab = <T extends object>({ tabId }: { tabId: string }, more: T): T & { tabId: string } => {
    if (!tabs.has(tabId)) throw { code: "unknown_tab", message: `There is no tab ${tabId}.` };
    return { tabId, ...more };
  };
  const answers: Record<string, Answer> = {
    "editor.status": () => status,
    "bb.init": () => ({
      v: 1,
      server: { name: "breadboard-ls", version: "0" },
      epoch: "e",
      engine: { kind: "embedded", status: "connected", capabilities: [], ...story.engine },
      sessions,
      workspaceTrusted: true,
    }),
    "bb.selectSession": ({ sessionId }) => ({
      sessionId,
      seq: (story.view ?? viewOf({})).seq,
      view: story.view ?? viewOf(story.lanes ?? {}),
      resume: { verdict: "complete" },
    }),
    "bb.queue.list": () => ({ items: [], paused: false }),
    "bb.createSession": () => ({ sessionId: "new" }),
    "bb.tab.open": ({ tabId, sessionId }) => {
      if ([...tabs].some(([tab, session]) => session === sessionId && tab !== tabId))
        throw { code: "conflict", message: "Another tab shows this session; use that one, or close it first." };
      tabs.set(tabId, sessionId);
      return { tabId, epoch: "t", index: 0 };
    },
    "bb.tab.attach": ({ tabs: wanted }: { tabs: { tabId: string }[] }) => ({
      tabs: wanted.map(({ tabId }) =>
        tabs.has(tabId) ? { tabId, index: 3, mode: "snapshot", epoch: "t" } : { tabId, index: 0, mode: "unknown" },
      ),
    }),
    "bb.tab.detach": () => ({}),
    "bb.tab.visibility": (params) => inTab(params, { index: 3 }),
    "bb.tab.prompt": (params) => inTab(params, { messageId: params.messageId, disposition: "started" }),
    "bb.tab.stop": (params) => inTab(params, {}),
    "bb.tab.close": (params) => {
      const closed = inTab(params, {});
      tabs.delete(params.tabId);
      return closed;
    },
    "bb.approvePermission": ({ requestId }) => ({
      requestId,
      outcome: "recorded",
      resolution: "allowed",
      resolvedBy: "user",
    }),
    "bb.command": ({ sessionId }) => ({ sessionId, status: "accepted" }),
    "bb.listFiles": ({ path }) => ({ path, entries: [], truncated: false }),
    "bb.events.read": () => ({ events: [], hasMore: false }),
    ...story.answers,
  };
  const deliver = (message: Message): void => {
    for (const listener of listeners) listener({ data: message } as MessageEvent);
  };
  const post = (message: Message): void => {
    sent.push(message);
    if (message["kind"] !== "req") return;
    const { id, method, params } = message;
    queueMicrotask(async () => {
      const answer = answers[method];
      try {
        deliver({ v: 1, kind: "res", id, ok: true, result: answer === undefined ? {} : await answer(params) });
      } catch (error) {
        deliver({ v: 1, kind: "res", id, ok: false, error });
      }
    });
  };
  // Effects run after the browser painted.
  options.requestAnimationFrame = (after) => void setTimeout(after);
  drawOncePerFrame((draw) => void painting.push(draw));
  const link: HostLink = new HostLink(
    { postMessage: (message) => post(message as Message) },
    {
      addEventListener: (_type, listener) => void listeners.add(listener),
      removeEventListener: (_type, listener) => void listeners.delete(listener),
    },
    (method, params) => model.heardRequest(method, params),
    ({ message }) => violations.push(message),
  );
  const model: Model = new Model(
    {
      link,
      save: (state) => void saved.push(state),
      now: () => (time += 1),
      uuid: () => uuid((made += 1)),
    },
    story.saved,
  );
  const root = document.createElement("div");
  document.body.replaceChildren(root);
  render(
    <ModelContext.Provider value={model}>
      <App />
    </ModelContext.Provider>,
    root,
  );

  /** Paints what waits, until nothing does. */
  const frame = async (): Promise<void> => {
    for (let still = 0; still < 3;) {
      await new Promise((resolve) => setTimeout(resolve));
      const draws = painting.splice(0);
      still = draws.length === 0 ? still + 1 : 0;
      if (draws.length > 0) frames += 1;
      for (const draw of draws) draw();
    }
  };
  await model.boot();
  await frame();
  const page = {
    root,
    model,
    sent,
    saved,
    violations,
    frame,
    deliver,
    answers,
    status,
    tabs,
    painting,
    frames: () => frames,
    /** Requests of one method. */
    asked: (method: string) =>
      sent.filter((message) => message["method"] === method).map((message) => message["params"]),
    /** What was asked of some methods, in order, each with its params. */
    story: (...methods: string[]) =>
      sent
        .filter(({ kind, method }) => kind === "req" && methods.includes(method))
        .map(({ method, params }) => [method, params]),
    /** A notification of the server. */
    async tell(topic: string, payload: unknown): Promise<void> {
      deliver({ v: 1, kind: "evt", topic, payload });
      await frame();
    },
    async change(seq: number, ...changes: ViewParams["changes"]): Promise<void> {
      await page.tell("bb/view", { sessionId: "s1", epoch: "e", fromSeq: seq, toSeq: seq, changes });
    },
    async put(seq: number, lane: "chat" | "tasks" | "run" | "debug", block: Block): Promise<void> {
      await page.change(seq, { lane, op: "put", id: block.id, block });
    },
    /** The one element that fits. */
    one(selector: string, text?: string | RegExp): HTMLElement {
      const found = page.all(selector, text);
      if (found.length !== 1)
        throw new Error(`${found.length} elements fit ${selector} ${String(text ?? "")} in:\n${root.innerHTML}`);
      return found[0] as HTMLElement;
    },
    all(selector: string, text?: string | RegExp): HTMLElement[] {
      return [...root.querySelectorAll<HTMLElement>(selector)].filter(
        (element) =>
          text === undefined ||
          (typeof text === "string"
            ? (element.textContent ?? "").includes(text)
            : text.test(element.textContent ?? "") || text.test(element.getAttribute("aria-label") ?? "")),
      );
    },
    async click(selector: string, text?: string | RegExp): Promise<void> {
      page.one(selector, text).click();
      await frame();
    },
    async pane(name: string): Promise<void> {
      await page.click(".panes [role=tab]", new RegExp(`^${name}`));
    },
    async type(text: string, at = text.length): Promise<HTMLTextAreaElement> {
      const area = page.one(".composer textarea") as HTMLTextAreaElement;
      area.value = text;
      area.setSelectionRange(at, at);
      area.dispatchEvent(new Event("input", { bubbles: true }));
      await frame();
      return area;
    },
    async key(element: Element, key: string, more: KeyboardEventInit = {}): Promise<KeyboardEvent> {
      const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
      element.dispatchEvent(event);
      await frame();
      return event;
    },
  };
  return page;
}

export const refuse = (code: string, message: string, details?: object) => (): never => {
  throw { code, message, ...(details === undefined ? {} : { details }) };
};
