/**
 * The page behind what is drawn: its parts, how it begins, and what it does with news.
 *
 * Owns the order of the beginning and which pane is in front. What can be done in each concern is its part's: `tabs`,
 * `prompts`, `asks`, `choices`, `reading`, `raw`. Reduces nothing, stores nothing but the saved state of the page.
 */
import type { BreadboardClient, Requests } from "@breadboard-ls/sdk";
import { batch, computed, signal } from "@preact/signals";
import type { HostStatus, PageMethod } from "../../shared/page_methods";
import { newest } from "../../shared/newest";
import type { HostLink } from "../host_link";
import { Asks, type HunkChoice } from "./asks";
import { TurnDesk } from "./turn_changes";
import { EngineChoices } from "./engine_choices";
import type { Connection, OpenSession } from "./open_session";
import { NextContext } from "./next_context";
import { OpenTabs } from "./open_tabs";
import { Prompts } from "./prompts";
import { RawEvents } from "./raw_events";
import { Reading } from "./reading";
import { Retries } from "./retries";
import { MOST_OPEN, newer, type PaneName, readSaved, type SavedState, type SavedTab } from "./saved_state";
import { Sentences } from "./sentences";
import { SetupModel } from "./setup";
import { type NoPrompts, Standing, type State } from "./standing";
import { t } from "../messages";

/** What the model needs of a browser. */
export interface ModelPorts {
  readonly link: HostLink;
  save(state: SavedState): void;
  /** A new UUID v4. */
  uuid(): string;
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** A session that is to be seen, and an ask of it: by its id, or the oldest. */
interface Wanted {
  readonly sessionId: string;
  readonly ask?: string;
}

type ListedSessions = Requests["bb/listSessions"]["result"];

/** What a search over the sessions found. */
export interface FoundSessions {
  readonly query: string;
  readonly sessions: ListedSessions["sessions"];
  /** Where, by session. */
  readonly found: NonNullable<ListedSessions["found"]>;
  /** Older sessions of which only the titles were looked at. */
  readonly unsearched: number;
}

export class Model {
  readonly standing = new Standing();
  readonly sentences = new Sentences(() => this.tabs.frontId.value);
  readonly tabs: OpenTabs;
  readonly prompts: Prompts;
  readonly nextContext: NextContext;
  readonly retries: Retries;
  readonly asks: Asks;
  readonly choices: EngineChoices;
  /** Who answers. */
  readonly setup: SetupModel;
  readonly turns: TurnDesk;
  readonly reading: Reading;
  readonly raw: RawEvents;
  readonly pane = signal<PaneName>("chat");
  /** Whether the list of all sessions is open. */
  readonly listing = signal(false);
  readonly running = computed(() => {
    const sessionId = this.tabs.activeId.value;
    return sessionId !== undefined && this.standing.runs(sessionId);
  });

  /** Why the session in front takes no prompts. */
  readonly noPrompts = computed<NoPrompts | undefined>(() => this.noPromptsOf(this.tabs.active.value));

  private readonly client: BreadboardClient;
  private bootedGeneration = -1;
  private wantsNew = false;
  /** A session to show as soon as there is a server. */
  private wanted: Wanted | undefined;
  /** What the page had when it was last here. */
  private saved: SavedState;
  private touched = false;

  constructor(
    private readonly ports: ModelPorts,
    saved: unknown,
  ) {
    const { link, uuid } = ports;
    const { client } = link;
    this.client = client;
    const remember = () => this.remember();
    this.tabs = new OpenTabs({
      client,
      standing: this.standing,
      sentences: this.sentences,
      uuid,
      remember,
      turned: () => this.raw.clear(),
      shown: () => (this.pane.value === "debug" ? this.sentences.attempt(() => this.raw.read()) : Promise.resolve()),
      draftMoves: (from, to) => this.prompts.move(from, to),
    });
    this.nextContext = new NextContext({
      client,
      link,
      sentences: this.sentences,
      can: () => this.standing.booted.value && this.standing.host.value.methods.includes("bb/context/preview"),
      sessionId: () => this.tabs.activeId.value,
      text: () => this.prompts.draft.value.text,
    });
    this.prompts = new Prompts({
      client,
      link,
      tabs: this.tabs,
      sentences: this.sentences,
      takenAway: () => this.nextContext.choice(),
      sent: () => {
        this.nextContext.bringBack();
        this.nextContext.changed();
      },
      canBranch: () => this.standing.offers("bb/session/branch"),
      branch: (sessionId, from) => this.branch(sessionId, from),
      uuid,
      remember,
    });
    this.retries = new Retries({
      session: () => this.tabs.active.value,
      running: () => this.running.value,
      triesOf: (messageId) => this.prompts.triesOf(messageId),
      again: (prompt, tries) => this.prompts.again(prompt, tries),
      isHidden: () => document.hidden,
    });
    this.asks = new Asks(client, (method, params) => this.ports.link.editor(method, params), this.tabs, this.sentences);
    this.turns = new TurnDesk(client, this.tabs, this.sentences);
    this.choices = new EngineChoices(client, this.tabs, this.sentences);
    this.setup = new SetupModel(() => this.ports.link, this.sentences, () => this.readEngine());
    this.reading = new Reading(client, this.tabs, this.sentences, () => this.ports.link, () => this.standing.offers("bb/findFiles"));
    this.raw = new RawEvents(client, this.tabs);
    this.saved = readSaved(saved);
    this.restore(this.saved);
    client.onNotification("bb/state", (state) => this.heardState(state));
    client.onNotification("bb/connection", (told) => this.heardConnection(told));
    client.onNotification("bb/events", (told) => this.raw.heard(told));
  }

  /** Asks the editor how things stand, and begins. */
  async boot(): Promise<void> {
    try {
      const status = (await this.ports.link.editor("editor.status")) as HostStatus;
      // Unless somebody was faster and typed already.
      if (!this.touched) this.restore(newer(this.saved, status.remembered));
      await this.heardStatus(status);
    } catch (error) {
      this.sentences.alertEverywhere(error);
    }
  }

  /** A request of the editor. */
  heardRequest(method: PageMethod, params: Record<string, unknown>): void {
    if (method === "page.status") void this.heardStatus(params as unknown as HostStatus);
    if (method === "page.hunkChosen")
      this.asks.note(params["patchId"] as string, params["hunkId"] as string, params["choice"] as HunkChoice);
    if (method === "page.focus") this.prompts.focus.value += 1;
    if (method === "page.contextChanged") this.nextContext.changed();
    if (method === "page.compose") this.compose(params["text"] as string);
    if (method === "page.newSession") this.newSession();
    if (method === "page.showSessions") this.listing.value = true;
    if (method === "page.setup") this.askWho();
    if (method === "page.continueWith") {
      const sessionId = this.tabs.activeId.value;
      if (sessionId !== undefined) void this.continueWith(sessionId);
    }
    if (method === "page.find") this.find();
    if (method === "page.export") void this.exportSession();
    if (method === "page.ask") void this.prompts.ask(params["text"] as string);
    if (method === "page.showSession") void this.showSession({ sessionId: params["sessionId"] as string });
    if (method === "page.showAsk")
      void this.showSession({
        sessionId: params["sessionId"] as string,
        ask: (params["requestId"] as string | undefined) ?? "oldest",
      });
  }

  /** Why a session takes no prompts here. */
  noPromptsOf(session: OpenSession | undefined): NoPrompts | undefined {
    if (session === undefined) return undefined;
    return this.standing.noPrompts(session.sessionId) ?? (session.elsewhere.value ? "other_engine" : undefined);
  }

  /** Opens a tab for a new session: of an agent, or of the engine of the settings. */
  newSession(agent?: string): void {
    if (!this.standing.booted.value) {
      this.wantsNew = true;
      return;
    }
    this.wantsNew = false;
    this.listing.value = false;
    this.tabs.create(agent);
    this.prompts.focus.value += 1;
  }

  /** Whether something is looked for in the conversation. */
  readonly finding = signal(0);
  /** What is looked for when the field opens. */
  readonly findingText = signal("");

  find(): void {
    this.pane.value = "chat";
    this.finding.value += 1;
  }

  exportSession(): Promise<void> {
    return this.reading.exportSession(this.standing.summary(this.tabs.activeId.value)?.title || "Session");
  }

  /** Shows the choice of who answers. */
  askWho(): void {
    this.pane.value = "chat";
    this.setup.open.value = true;
  }

  /** Adds text to the prompt, and shows it. */
  compose(text: string): void {
    this.pane.value = "chat";
    this.prompts.compose(text);
  }

  /** The ask that had the focus is settled: the next one that waits gets it, and where none does, the prompt. */
  goOn(): void {
    const [next] = this.tabs.active.value?.pending() ?? [];
    if (next === undefined) this.prompts.focus.value += 1;
    else this.asks.bring(next.permission.requestId);
  }

  /** The sessions in which this was said; `undefined` where the server cannot search. */
  async findSessions(query: string): Promise<FoundSessions | undefined> {
    const { sessions, found, unsearched } = await this.client.request("bb/listSessions", { query });
    return found == null ? undefined : { query, sessions, found, unsearched: unsearched ?? 0 };
  }

  /** Opens a session at what was found in it. */
  async showFound(sessionId: string, query: string): Promise<void> {
    const [longest] = query.trim().split(/\s+/).sort((a, b) => b.length - a.length);
    await this.tabs.select(sessionId);
    this.findingText.value = longest ?? "";
    this.find();
  }

  renameSession(sessionId: string, title: string): Promise<void> {
    return this.sentences.attempt(async () => {
      await this.client.request("bb/session/rename", { sessionId, title });
    });
  }

  pinSession(sessionId: string, pinned: boolean): Promise<void> {
    return this.sentences.attempt(async () => {
      await this.client.request("bb/session/pin", { sessionId, pinned });
      this.sentences.say(pinned ? t("Pinned.") : t("Not pinned any more."));
    });
  }

  /** Goes on with the conversation of a session in a new one: with this engine, or with whom the user picks in the editor. */
  async continueWith(sessionId: string, who?: { agent?: string }): Promise<void> {
    await this.sentences.attempt(async () => {
      const title = this.standing.summary(sessionId)?.title;
      const picked = who ?? ((await this.ports.link.editor("editor.pickAgent", title ? { title } : {})) as { agent?: string } | null);
      if (picked === null) return;
      await this.branch(sessionId, picked.agent === undefined ? { engine: "current" } : { agent: picked.agent });
      this.listing.value = false;
      this.prompts.focus.value += 1;
    });
  }

  /** Makes a session that begins with the conversation of another one, in a tab beside it; gives its id. */
  private async branch(
    sessionId: string,
    from: Omit<Requests["bb/session/branch"]["params"], "sessionId">,
  ): Promise<string> {
    const { sessionId: made, text } = await this.client.request("bb/session/branch", { sessionId, ...from });
    await this.showPane("chat");
    await this.tabs.select(made, "beside");
    this.sentences.say(text);
    return made;
  }

  async deleteSession(sessionId: string): Promise<void> {
    await this.sentences.attempt(async () => {
      await this.client.request("bb/deleteSession", { sessionId });
      await this.tabs.gone((id) => id === sessionId);
      this.prompts.forget(sessionId);
    });
  }

  async showPane(pane: PaneName): Promise<void> {
    const debug = this.pane.value === "debug" || pane === "debug";
    this.pane.value = pane;
    this.remember();
    if (!debug || !this.standing.booted.value) return;
    await this.sentences.attempt(async () => {
      await this.subscribe();
      if (pane === "debug") await this.raw.read();
      else this.raw.clear();
    });
  }

  /** Has something done in the editor. */
  async editor(...[method, params]: Parameters<HostLink["editor"]>): Promise<boolean> {
    let done = false;
    await this.sentences.attempt(async () => {
      await this.ports.link.editor(method, params);
      done = true;
    });
    return done;
  }

  private async heardStatus(status: HostStatus): Promise<void> {
    this.standing.host.value = status;
    if (status.server !== "running" || status.generation === this.bootedGeneration) return;
    // A new server, or the first: everything is asked anew. Views are replaced by snapshots, so nothing is there twice.
    this.bootedGeneration = status.generation;
    try {
      await this.hello();
    } catch (error) {
      this.bootedGeneration = -1;
      this.sentences.alertEverywhere(error);
    }
  }

  private async hello(): Promise<void> {
    const { standing, tabs } = this;
    const hello = await this.subscribe();
    const known = new Set(hello.sessions.map(({ sessionId }) => sessionId));
    const before = standing.booted.value
      ? { open: tabs.saved(), active: tabs.activeId.value }
      : { open: this.saved.open, active: this.saved.active };
    const open: SavedTab[] = before.open.filter(({ sessionId }) => known.has(sessionId));
    for (const { tabId, sessionId } of before.open) if (tabId !== undefined && !known.has(sessionId)) tabs.end(tabId);
    const recent = hello.activeSessionId ?? newest(hello.sessions)?.sessionId;
    const active =
      before.active !== undefined && known.has(before.active) ? before.active : (open.at(-1)?.sessionId ?? recent);
    if (active !== undefined && !open.some(({ sessionId }) => sessionId === active)) open.push({ sessionId: active });
    batch(() => {
      standing.engine.value = hello.engine;
      standing.connection.value = undefined;
      standing.state.value = {
        sessions: hello.sessions,
        ...(hello.activeSessionId == null ? {} : { activeSessionId: hello.activeSessionId }),
      };
      standing.booted.value = true;
    });
    await tabs.restore(open.slice(-MOST_OPEN), active);
    if (this.wanted !== undefined) await this.showSession(this.wanted);
    if (this.wantsNew) this.newSession();
  }

  private subscribe(): Promise<Requests["bb/init"]["result"]> {
    // Raw events are for the debug pane; the view has the same story in what is drawn.
    return this.client.request("bb/init", {
      subscribe: { view: true, events: this.pane.value === "debug", tabs: false },
    });
  }

  /** The engine has another model now. */
  private async readEngine(): Promise<void> {
    if (!this.standing.booted.value) return;
    const { engine } = await this.subscribe();
    this.standing.engine.value = engine;
    this.choices.models.value = undefined;
  }

  private heardState(state: State): void {
    const { standing, tabs, sentences } = this;
    const before = standing.state.value;
    standing.state.value = state;
    const engines = standing.engines.value;
    for (const { sessionId, status } of state.sessions) if (status === "running") standing.sawEngine(sessionId);
    if (standing.engines.value !== engines) this.remember();
    const mine = (all: State) => all.sessions.find(({ sessionId }) => sessionId === tabs.activeId.value);
    const was = mine(before)?.status;
    const is = mine(state)?.status;
    if (was !== is) {
      if (is === "waiting") sentences.say(t("The agent waits for your answer."));
      else if (was === "running" && is === "idle") sentences.say(t("The turn has ended."));
      else if (is === "running") sentences.say(t("The agent is working."));
    }
    const active = tabs.active.value;
    if (was !== is && active?.attached.value) {
      // The queue has no notification of its own: it moves when a turn begins or ends.
      active.readQueue().catch(() => undefined);
      if (active.info.value.agent != null) void active.readInfo();
    }
    const there = new Set(state.sessions.map(({ sessionId }) => sessionId));
    void tabs.gone((sessionId) => !there.has(sessionId));
  }

  private heardConnection(told: Connection): void {
    if (told.sessionId == null) this.standing.connection.value = told;
    if (told.gapDetected === true) this.sentences.say(t("Events are missing from this session."));
    else if (told.status === "connecting") this.sentences.say(t("Reconnecting to the engine."));
    else if (told.status === "error")
      this.sentences.say(
        this.standing.summary(told.sessionId ?? undefined)?.agent == null
          ? t("The engine does not answer.")
          : t("An agent ended."),
      );
  }

  /** Shows the chat of a session, because the editor wants it seen. */
  private async showSession(wanted: Wanted): Promise<void> {
    if (!this.standing.booted.value) {
      this.wanted = wanted;
      return;
    }
    this.wanted = undefined;
    await this.showPane("chat");
    await this.tabs.select(wanted.sessionId);
    const waiting = this.tabs.active.value?.pending().map(({ permission }) => permission.requestId) ?? [];
    const ask = wanted.ask !== undefined && waiting.includes(wanted.ask) ? wanted.ask : waiting[0];
    // What was answered meanwhile is not shown; the prompt is where one goes on.
    if (wanted.ask !== undefined && ask !== undefined) this.asks.bring(ask);
    else this.prompts.focus.value += 1;
  }

  private restore(saved: SavedState): void {
    this.saved = saved;
    this.pane.value = saved.pane;
    this.prompts.drafts.value = saved.drafts;
    this.standing.engines.value = saved.engines;
  }

  private remember(): void {
    this.touched = true;
    // Before the first answer of a server, what an earlier page left is still true.
    const { open, active } = this.standing.booted.value
      ? { open: this.tabs.saved(), active: this.tabs.activeId.value }
      : this.saved;
    this.ports.save({
      at: this.ports.now(),
      pane: this.pane.value,
      open,
      ...(active === undefined ? {} : { active }),
      drafts: this.prompts.saved(),
      engines: this.standing.engines.value,
    });
  }
}
