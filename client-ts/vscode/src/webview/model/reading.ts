/**
 * What is read of the session in front when somebody looks: files, older blocks, whole events and texts.
 *
 * Owns nothing but how it is asked for.
 */
import { type BlockOf, type BreadboardClient, BreadboardError, type Lane, type Requests } from "@breadboard-ls/sdk";
import { signal } from "@preact/signals";
import type { FoundSymbol } from "../composer/completion";
import type { HostLink } from "../host_link";
import { asMarkdown } from "../transcript/export";
import type { OpenTabs } from "./open_tabs";
import type { Event } from "./raw_events";
import type { Sentences } from "./sentences";
import { wholeText } from "./whole_text";
import { t } from "../messages";

type Resource = NonNullable<Requests["bb/mcp/list"]["result"]["servers"][number]["resources"]>[number];

/** Events of one page while a text is put together. */
const PAGE = 500;

/** Pages of a session that are read to its beginning: a long one has tens. */
const MOST_PAGES = 400;
/** What a workspace is looked through for, to have questions about it. */
const LOOKED_FOR = ["main", "index", "lib.", "app.", "test"];

export class Reading {
  /** Some files of the workspace, for questions about it. */
  readonly paths = signal<readonly string[]>([]);

  constructor(
    private readonly client: BreadboardClient,
    private readonly tabs: OpenTabs,
    private readonly sentences: Sentences,
    private readonly link: () => Pick<HostLink, "editor">,
    /** Whether the server finds files by a part of their path. */
    readonly canFind: () => boolean,
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

  /** The files that a part of a path may mean, best first. */
  async findFiles(query: string, limit: number): Promise<readonly string[]> {
    return (await this.client.request("bb/findFiles", { query, limit })).paths;
  }

  /** Symbols of the workspace, by the editor. */
  async findSymbols(query: string): Promise<readonly FoundSymbol[]> {
    const { symbols } = (await this.link().editor("editor.findSymbols", { query })) as { symbols: readonly FoundSymbol[] };
    return symbols;
  }

  /** Mentions of files and folders that were dropped; what is elsewhere is said. */
  async mentionsOf(uris: readonly string[]): Promise<string> {
    const { text } = (await this.link().editor("editor.mention", { uris: [...uris] })) as { text: string };
    return text;
  }

  /** All of the session in front, as Markdown, in an editor. */
  exportSession(title: string): Promise<void> {
    return this.sentences.attempt(async () => {
      const { active } = this.tabs;
      const open = active.value;
      if (open === undefined) throw new Error(t("No session is open."));
      await this.loadAll();
      await this.link().editor("editor.openText", {
        title,
        text: await asMarkdown(title, open.blocks("chat"), (block) => this.answer(block)),
        language: "markdown",
      });
    });
  }

  /** Reads what is older, to the beginning. */
  async loadAll(): Promise<void> {
    const open = this.tabs.active.value;
    for (let page = 0; page < MOST_PAGES && open?.session.view.hasMore("chat") === true; page += 1)
      await open.session.loadOlder("chat");
  }

  /** Looks for files that questions can be about; without any the questions are general. */
  async readExamples(): Promise<void> {
    if (!this.canFind()) return;
    try {
      const found = await Promise.all(LOOKED_FOR.map((query) => this.findFiles(query, 20)));
      this.paths.value = [...new Set(found.flat())];
    } catch {
      this.paths.value = [];
    }
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
        throw new Error(t("It cannot be rebuilt: {0}", error.message));
      }
    });
  }

  private sessionId(): string {
    return this.tabs.activeId.value ?? "";
  }
}
