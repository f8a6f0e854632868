/**
 * The tabs of the strip as the server knows them: `bb/tab/*`, without what they say.
 *
 * Owns which tabs the server has, and which of them it takes for visible. The SDK's `Tabs` is not used: it holds the
 * conversation of a tab from `bb/tab`, and this page draws the view of the session (`bb/view`), which has lanes, older
 * pages and patches; subscribing to both would bring every text twice. So of a tab only its life is needed here.
 */
import { type BreadboardClient, BreadboardError, type Requests } from "@breadboard-ls/sdk";

/** A tab and the session that it shows. */
export interface TabOfSession {
  readonly tabId: string;
  readonly sessionId: string;
}

type Prompt = Omit<Requests["bb/tab/prompt"]["params"], "tabId">;
type Prompted = Requests["bb/tab/prompt"]["result"];

export class TabLink {
  /** What the server believes: whether it has a tab, and whether somebody sees it. Noted when it is asked for. */
  private readonly known = new Map<string, { visible: boolean }>();

  constructor(private readonly client: BreadboardClient) {}

  /** The server is another one: what the last one believed is nothing. */
  forget(): void {
    this.known.clear();
  }

  /**
   * Brings the tabs of an earlier page, or of an earlier server, back. Those that the server does not know any more are
   * opened anew. Afterwards the server takes all of them for visible. Gives the errors of those that cannot be opened.
   */
  async attach(tabs: readonly TabOfSession[]): Promise<ReadonlyMap<string, BreadboardError>> {
    const refused = new Map<string, BreadboardError>();
    if (tabs.length === 0) return refused;
    for (const { tabId } of tabs) this.known.set(tabId, { visible: true });
    let unknown: ReadonlySet<string>;
    try {
      const answer = await this.client.request("bb/tab/attach", { tabs: tabs.map(({ tabId }) => ({ tabId })) });
      unknown = new Set(answer.tabs.filter(({ mode }) => mode === "unknown").map(({ tabId }) => tabId));
    } catch (error) {
      this.known.clear();
      throw error;
    }
    await Promise.all(
      tabs
        .filter(({ tabId }) => unknown.has(tabId))
        .map((tab) =>
          this.open(tab).catch((error: unknown) => void refused.set(tab.tabId, BreadboardError.from(error))),
        ),
    );
    return refused;
  }

  /** Whether the server takes it for visible. */
  isShown(tabId: string): boolean {
    return this.known.get(tabId)?.visible === true;
  }

  /** The tab is in front. One that the server does not have is opened. */
  async show(tab: TabOfSession): Promise<void> {
    const known = this.known.get(tab.tabId);
    if (known === undefined) return this.open(tab);
    if (known.visible) return;
    known.visible = true;
    await this.onTab(tab, () =>
      this.client.request("bb/tab/visibility", { tabId: tab.tabId, visible: true }).then(() => undefined),
    );
  }

  /** The tab is not in front any more. What it misses costs nothing until it is shown again. */
  hide(tabId: string): void {
    const known = this.known.get(tabId);
    if (known === undefined || !known.visible) return;
    known.visible = false;
    // One that is gone is opened when it is shown.
    this.client.request("bb/tab/visibility", { tabId, visible: false }).catch(() => undefined);
  }

  prompt(tab: TabOfSession, prompt: Prompt): Promise<Prompted> {
    return this.onTab(tab, () => this.client.request("bb/tab/prompt", { tabId: tab.tabId, ...prompt }));
  }

  async stop(tab: TabOfSession): Promise<void> {
    await this.onTab(tab, () => this.client.request("bb/tab/stop", { tabId: tab.tabId }));
  }

  /** Ends the tab, and its session at the agent. Its history stays. */
  async close(tabId: string): Promise<void> {
    this.known.delete(tabId);
    try {
      await this.client.request("bb/tab/close", { tabId });
    } catch (error) {
      // That is what was wanted.
      if (!isUnknown(error)) throw error;
    }
  }

  /** Gives a tab up without ending anything: its session lives on, and another tab may show it. */
  leave(tabId: string): void {
    this.known.delete(tabId);
    this.client.request("bb/tab/detach", { tabIds: [tabId] }).catch(() => undefined);
  }

  async open({ tabId, sessionId }: TabOfSession): Promise<void> {
    this.known.set(tabId, { visible: true });
    try {
      await this.client.request("bb/tab/open", { tabId, sessionId });
    } catch (error) {
      this.known.delete(tabId);
      throw error;
    }
  }

  /** Does something in a tab; a server that lost it gets it again first. */
  private async onTab<T>(tab: TabOfSession, work: () => Promise<T>): Promise<T> {
    if (this.known.has(tab.tabId)) {
      try {
        return await work();
      } catch (error) {
        if (!isUnknown(error)) throw error;
      }
    }
    await this.open(tab);
    return work();
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof BreadboardError && error.code === "unknown_tab";
}
