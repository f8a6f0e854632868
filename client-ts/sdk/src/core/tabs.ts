/**
 * The tabs of one webview: it alone opens and closes them, makes their ids and those of prompts, and hears what they
 * say.
 *
 * Owns the requests of tabs and the acknowledging. What a message does to a tab is `tab`'s. Needs no session id
 * (R001-65).
 */

import type { BreadboardClient, Violation } from "./client.js";
import type { Disposable } from "./connection.js";
import { Emitter } from "./emitter.js";
import { BreadboardError } from "./errors.js";
import type {
  ApprovePermissionParams,
  ApprovePermissionResult,
  Disposition,
  TabParams,
  ViewPageParams,
  ViewPageResult,
} from "./generated/types.js";
import { TabModel, type SavedTab, type TabChange } from "./tab.js";
import { newUuid } from "./uuid.js";

/**
 * A tab acknowledges after so many messages or characters. The server gives a snapshot instead of messages past 256
 * messages or 1 MiB unacknowledged; a quarter leaves room for what is on its way.
 */
const ACK_MESSAGES = 64;
const ACK_CHARACTERS = 256 * 1024;

/** How tabs are made. */
export interface TabsOptions {
  /** Makes UUIDs v4. Default: the platform's randomness. */
  newId?(): string;
  /** Told of messages for prompts that are not under way, which were ignored, and of listeners that threw. */
  onViolation?(violation: Violation): void;
}

/** One tab of a webview. */
export class Tab {
  readonly #tabs: Tabs;
  readonly #client: BreadboardClient;
  readonly #newId: () => string;
  readonly #changed: Emitter<TabChange>;
  #visible = true;

  /** Made by `Tabs`. */
  constructor(
    tabs: Tabs,
    client: BreadboardClient,
    /** What it holds. */
    readonly model: TabModel,
    changed: Emitter<TabChange>,
    newId: () => string,
  ) {
    this.#tabs = tabs;
    this.#client = client;
    this.#changed = changed;
    this.#newId = newId;
  }

  /** Its id, a UUID v4 made here. */
  get tabId(): string {
    return this.model.tabId;
  }

  /** Whether it is shown. */
  get visible(): boolean {
    return this.#visible;
  }

  /** Calls `listener` after each change. */
  onDidChange(listener: (change: TabChange) => void): Disposable {
    return this.#changed.on(listener);
  }

  /**
   * Sends a prompt. Its id is there at once; `accepted` says whether it started or waits, and rejects when it was
   * refused, which the prompt in the model says too. The answer comes as changes of the model.
   */
  prompt(text: string, attachmentIds?: readonly string[]): { messageId: string; accepted: Promise<Disposition> } {
    const messageId = this.#newId();
    this.model.sent(messageId, text);
    const params = {
      tabId: this.tabId,
      messageId,
      text,
      ...(attachmentIds ? { attachmentIds: [...attachmentIds] } : {}),
    };
    const accepted = this.#client.request("bb/tab/prompt", params).then(
      ({ disposition }) => disposition,
      (cause: unknown) => {
        const error = BreadboardError.from(cause);
        this.model.refused(messageId, error);
        throw error;
      },
    );
    // The refusal stands in the model; a caller that does not ask is no unhandled rejection.
    accepted.catch(() => undefined);
    return { messageId, accepted };
  }

  /** Tries again to get a session for a tab that `failed`. */
  async retry(): Promise<void> {
    this.model.become("opening");
    await this.#tabs.request(this);
  }

  /** One page of older blocks, oldest first, before those of `model.view` or of the last page. */
  older(lane: ViewPageParams["lane"], before?: string, limit?: number): Promise<ViewPageResult> {
    const page = { ...(before === undefined ? {} : { before }), ...(limit === undefined ? {} : { limit }) };
    return this.#client.request("bb/view/page", { tabId: this.tabId, lane, ...page });
  }

  /** Stops the running turn and pauses the queue. */
  async stop(): Promise<void> {
    await this.#client.request("bb/tab/stop", { tabId: this.tabId });
  }

  /** Answers what the agent asked. The digest that was shown goes with it. */
  approve(
    requestId: string,
    decision: ApprovePermissionParams["decision"],
    optionId?: string,
  ): Promise<ApprovePermissionResult> {
    const digest = this.model.permissions.get(requestId)?.permission.digest;
    const chosen = { ...(optionId === undefined ? {} : { optionId }), ...(digest === undefined ? {} : { digest }) };
    return this.#client.request("bb/approvePermission", { tabId: this.tabId, requestId, decision, ...chosen });
  }

  /** Shows or hides the tab. What a hidden one misses comes when it is shown. */
  async setVisible(visible: boolean): Promise<void> {
    await this.#client.request("bb/tab/visibility", { tabId: this.tabId, visible });
    this.#visible = visible;
  }

  /** Closes the tab for good; its session ends. */
  async close(): Promise<void> {
    this.#tabs.forget(this);
    this.model.become("closed");
    this.#changed.clear();
    await this.#client.request("bb/tab/close", { tabId: this.tabId });
  }
}

interface Held {
  readonly tab: Tab;
  /** The session that it was to show. */
  readonly sessionId: string | undefined;
  unackedMessages: number;
  unackedCharacters: number;
}

/** The tabs of one webview. */
export class Tabs implements Disposable {
  readonly #client: BreadboardClient;
  readonly #options: TabsOptions;
  readonly #newId: () => string;
  readonly #held = new Map<string, Held>();
  readonly #registration: Disposable;

  constructor(client: BreadboardClient, options: TabsOptions = {}) {
    this.#client = client;
    this.#options = options;
    this.#newId = () => (options.newId ? options.newId() : newUuid());
    this.#registration = client.onNotification("bb/tab", (message) => this.#heard(message));
  }

  /** The open tabs, in the order in which they were opened. */
  get all(): readonly Tab[] {
    return [...this.#held.values()].map(({ tab }) => tab);
  }

  /** One of them. */
  get(tabId: string): Tab | undefined {
    return this.#held.get(tabId)?.tab;
  }

  /**
   * Opens a tab. It is there at once, without a round trip, and takes prompts; it becomes `open`, or `failed` with the
   * reason. `sessionId` continues an existing session.
   */
  open(wish: { agent?: string; sessionId?: string } = {}): Tab {
    const tab = this.#hold(this.#newId(), wish.agent, wish.sessionId);
    this.request(tab).catch(() => undefined);
    return tab;
  }

  /** Asks for the session of a tab; the refusal stands in its model too. `Tab.retry` and `open` do this. */
  async request(tab: Tab): Promise<void> {
    const { agent } = tab.model;
    const sessionId = this.#held.get(tab.tabId)?.sessionId;
    const wish = { ...(agent === undefined ? {} : { agent }), ...(sessionId === undefined ? {} : { sessionId }) };
    try {
      await this.#client.request("bb/tab/open", { tabId: tab.tabId, ...wish });
    } catch (cause) {
      const { code, message } = BreadboardError.from(cause);
      tab.model.become("failed", { code, message });
      throw cause;
    }
  }

  /** What a new webview needs to go on: plain JSON, for `setState`. */
  save(): SavedTab[] {
    return this.all.map(({ model }) => model.save());
  }

  /** Takes the tabs of an earlier webview and attaches them. Those that the server does not know are `failed`. */
  async restore(saved: readonly SavedTab[]): Promise<readonly Tab[]> {
    const tabs = saved
      .filter(({ tabId }) => !this.#held.has(tabId))
      .map((one) => {
        const tab = this.#hold(one.tabId, one.agent);
        tab.model.restore(one);
        return tab;
      });
    await this.attach(tabs);
    return tabs;
  }

  /** Attaches tabs, by default all of them: after the server was started again. What they missed follows. */
  async attach(tabs: readonly Tab[] = this.all): Promise<void> {
    if (tabs.length === 0) return;
    const answer = await this.#client.request("bb/tab/attach", {
      tabs: tabs.map(({ tabId, model: { epoch, lastSeenIndex } }) => ({
        tabId,
        ...(epoch === undefined ? {} : { epoch, lastSeenIndex }),
      })),
    });
    for (const { tabId, mode } of answer.tabs) {
      const tab = tabs.find((one) => one.tabId === tabId);
      const message = "The server does not know this tab any more; open a new one.";
      if (mode === "unknown") tab?.model.become("failed", { code: "unknown_tab", message });
      else if (tab?.model.state === "opening") tab.model.become("open");
    }
  }

  /** The view of the tabs goes, the tabs live on: what waits for them is freed at the server. */
  async detach(): Promise<void> {
    const tabIds = [...this.#held.keys()];
    if (tabIds.length > 0) await this.#client.request("bb/tab/detach", { tabIds });
  }

  /** Starts the agent of the tabs again. */
  async restartAgent(agent?: string): Promise<void> {
    await this.#client.request("bb/agent/restart", agent === undefined ? {} : { agent });
  }

  /** Hears no more for a tab. `Tab.close` does this. */
  forget(tab: Tab): void {
    if (this.#held.get(tab.tabId)?.tab === tab) this.#held.delete(tab.tabId);
  }

  /** Hears no more. The tabs live on at the server; `detach` tells it. */
  dispose(): void {
    this.#registration.dispose();
    this.#held.clear();
  }

  #hold(tabId: string, agent: string | undefined, sessionId?: string): Tab {
    const changed = new Emitter<TabChange>();
    const model = new TabModel(tabId, agent, (change) => {
      try {
        changed.emit(change);
      } catch (cause) {
        const message = `A listener of tab ${tabId} threw: ${String(cause)}.`;
        this.#options.onViolation?.({ method: "bb/tab", message, value: cause });
      }
    });
    const tab = new Tab(this, this.#client, model, changed, this.#newId);
    this.#held.set(tabId, { tab, sessionId, unackedMessages: 0, unackedCharacters: 0 });
    return tab;
  }

  #heard(message: TabParams): void {
    const held = this.#held.get(message.tabId);
    // A message of a tab that was closed meanwhile, or that another webview owns.
    if (!held) return;
    const outcome = held.tab.model.apply(message);
    if (outcome === "late") {
      const text = `A ${message.kind} for prompt ${message.messageId ?? "(none)"} was ignored: it is not under way.`;
      this.#options.onViolation?.({ method: "bb/tab", message: text, value: message });
    }
    if (outcome !== "seen") this.#acknowledge(held, message);
  }

  #acknowledge(held: Held, message: TabParams): void {
    held.unackedMessages += 1;
    held.unackedCharacters += message.kind === "response-chunk" ? (message.text?.length ?? 0) : 0;
    const due =
      held.unackedMessages >= ACK_MESSAGES ||
      held.unackedCharacters >= ACK_CHARACTERS ||
      message.kind === "response-complete" ||
      message.kind === "snapshot";
    if (!due) return;
    held.unackedMessages = 0;
    held.unackedCharacters = 0;
    const params = { tabId: message.tabId, index: message.index };
    this.#client.request("bb/tab/ack", params).catch((cause: unknown) => {
      const text = `The server did not take an acknowledgement: ${BreadboardError.from(cause).message}`;
      this.#options.onViolation?.({ method: "bb/tab/ack", message: text });
    });
  }
}
