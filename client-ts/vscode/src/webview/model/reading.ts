/**
 * What is read of the session in front when somebody looks: files, older blocks, whole events and texts.
 *
 * Owns nothing but how it is asked for.
 */
import { type BlockOf, type BreadboardClient, BreadboardError, type Lane, type Requests } from "@breadboard-ls/sdk";
import type { OpenTabs } from "./open_tabs";
import type { Event } from "./raw_events";
import type { Sentences } from "./sentences";
import { wholeText } from "./whole_text";

type Resource = NonNullable<Requests["bb/mcp/list"]["result"]["servers"][number]["resources"]>[number];

/** Events of one page while a text is put together. */
const PAGE = 500;

export class Reading {
  constructor(
    private readonly client: BreadboardClient,
    private readonly tabs: OpenTabs,
    private readonly sentences: Sentences,
  ) {}

  /** The event of a block, untruncated. */
  async eventBody(seq: number): Promise<Event> {
    const { event } = await this.client.request("bb/eventBody", { sessionId: this.sessionId(), seq });
    return event;
  }

  /** The whole of an answer that was cut; `undefined` where the events do not have it. */
  answer(block: BlockOf<"assistant">): Promise<string | undefined> {
    const sessionId = this.sessionId();
    return wholeText(block, {
      one: async (seq) => (await this.client.request("bb/eventBody", { sessionId, seq })).event,
      from: async (fromSeq) =>
        (await this.client.request("bb/events/read", { sessionId, fromSeq, limit: PAGE })).events,
    });
  }

  listFiles(path: string, root?: string): Promise<Requests["bb/listFiles"]["result"]> {
    return this.client.request("bb/listFiles", {
      sessionId: this.sessionId(),
      path,
      gitignore: true,
      ...(root === undefined ? {} : { root }),
    });
  }

  /** Resources of servers of tools; an extra, so that what cannot be read is none. */
  async resources(): Promise<readonly Resource[]> {
    try {
      const { servers } = await this.client.request("bb/mcp/list", { sessionId: this.sessionId() });
      return servers.flatMap(({ resources }) => resources ?? []);
    } catch {
      return [];
    }
  }

  readSnippet(path: string, root?: string): Promise<Requests["bb/readFileSnippet"]["result"]> {
    return this.client.request("bb/readFileSnippet", {
      sessionId: this.sessionId(),
      path,
      headLines: 200,
      ...(root === undefined ? {} : { root }),
    });
  }

  loadOlder(lane: Lane): Promise<void> {
    return this.sentences.attempt(async () => {
      await this.tabs.active.value?.session.loadOlder(lane);
    });
  }

  /** Has events that are missing read again. */
  rebuild(): Promise<void> {
    return this.sentences.attempt(async () => {
      try {
        await this.tabs.active.value?.rebuild();
      } catch (error) {
        if (!(error instanceof BreadboardError) || error.code !== "unsupported") throw error;
        throw new Error(`It cannot be rebuilt: ${error.message}`);
      }
    });
  }

  private sessionId(): string {
    return this.tabs.activeId.value ?? "";
  }
}
