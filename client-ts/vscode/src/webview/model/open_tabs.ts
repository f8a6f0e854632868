/**
 * The strip: which tabs are open, which one is in front, and how each comes and goes (seed 001).
 *
 * Owns the ids of tabs, made here without asking anybody, and the order: what leaves the front is hidden before what
 * comes there is shown, and only what is shown is selected, since the server tells nothing of the session of a hidden
 * tab. Selecting is last because its answer is the whole view, so that nothing of what was missed is missing. Keeps no
 * transcript and no draft.
 */
import type { BreadboardClient } from "@breadboard-ls/sdk";
import { batch, computed, signal } from "@preact/signals";
import { OpenSession } from "./open_session";
import { OpenTab } from "./open_tab";
import { MOST_OPEN, type SavedTab } from "./saved_state";
import { type Sentences, sentenceOf } from "./sentences";
import type { Standing } from "./standing";
import { tabFailureOf } from "./tab_failure";
import { TabLink, type TabOfSession } from "./tab_link";

/** What the strip needs of the rest of the page. */
export interface TabsPorts {
  readonly client: BreadboardClient;
  readonly standing: Standing;
  readonly sentences: Sentences;
  uuid(): string;
  /** The tabs changed. */
  remember(): void;
  /** Another tab is in front. */
  turned(): void;
  /** The session in front is there to be read. */
  shown(): Promise<void>;
  /** A draft has another name: its tab got a session, or was closed without one. */
  draftMoves(from: string, to: string): void;
}

export class OpenTabs {
  readonly all = signal<readonly OpenTab[]>([]);
  readonly frontId = signal<string | undefined>(undefined);
  readonly front = computed(() => this.all.value.find(({ tabId }) => tabId === this.frontId.value));
  /** The session in front. */
  readonly active = computed(() => this.front.value?.session.value);
  readonly activeId = computed(() => this.active.value?.sessionId);
  readonly link: TabLink;

  constructor(private readonly ports: TabsPorts) {
    this.link = new TabLink(ports.client);
  }

  /** The tabs that a later page can bring back. */
  saved(): SavedTab[] {
    return this.all.value.flatMap(({ tabId, sessionId }) => (sessionId === undefined ? [] : [{ tabId, sessionId }]));
  }

  /** Puts the tabs of an earlier page, or of an earlier server, there again; `front` is the session in front. */
  async restore(wanted: readonly SavedTab[], front: string | undefined): Promise<void> {
    this.link.forget();
    const before = new Map(this.all.value.map((tab) => [tab.tabId, tab]));
    const known = wanted.map(({ tabId, sessionId }) => {
      const tab = before.get(tabId ?? "") ?? new OpenTab(tabId ?? this.ports.uuid());
      tab.has(this.open(sessionId));
      return tab;
    });
    // What is being made, or was refused, is there still.
    const making = this.all.value.filter(({ sessionId }) => sessionId === undefined);
    const all = [...known, ...making];
    batch(() => {
      for (const tab of this.all.value) if (!all.includes(tab)) tab.dispose();
      this.all.value = all;
      if (!making.some(({ tabId }) => tabId === this.frontId.value))
        this.frontId.value = all.find(({ sessionId }) => sessionId === front)?.tabId;
    });
    this.ports.turned();
    this.ports.remember();
    try {
      const refused = await this.link.attach(known.flatMap(named));
      for (const tab of known) {
        const error = refused.get(tab.tabId);
        const session = tab.session.value;
        if (error !== undefined && session !== undefined) session.failure.value = error.message;
        if (tab !== this.front.value) this.link.hide(tab.tabId);
      }
    } catch (error) {
      this.ports.sentences.alertEverywhere(error);
    }
    if (this.front.value !== undefined) await this.show(this.front.value);
  }

  /** Shows a session, in its tab or in a new one: at the end, or beside the one in front. */
  async select(sessionId: string, place: "end" | "beside" = "end"): Promise<void> {
    const known = this.of(sessionId);
    if (known !== undefined) return this.toFront(known.tabId);
    const tab = new OpenTab(this.ports.uuid());
    tab.has(this.open(sessionId));
    this.add(tab, place);
    await this.show(tab);
  }

  async toFront(tabId: string): Promise<void> {
    const tab = this.all.value.find((one) => one.tabId === tabId);
    if (tab === undefined) return;
    this.turnTo(tab);
    this.ports.remember();
    await this.show(tab);
  }

  /** Opens a tab for a new session. It is there at once; its session follows. */
  create(agent?: string): OpenTab {
    const tab = new OpenTab(this.ports.uuid(), agent);
    // What was typed while there was no tab was typed for this one.
    if (this.front.value === undefined) this.ports.draftMoves("", tab.tabId);
    this.add(tab);
    tab.ready = this.make(tab);
    return tab;
  }

  /** The session in front, made when there is none. */
  ensure(): Promise<string | undefined> {
    return (this.front.value ?? this.create()).ready;
  }

  /** Tries again to make the session of a tab that has none. */
  retry(tabId: string): void {
    const tab = this.all.value.find((one) => one.tabId === tabId);
    if (tab === undefined || tab.failure.value === undefined) return;
    tab.failure.value = undefined;
    tab.ready = this.make(tab);
  }

  /** Closes a tab, and with it its session at the agent. Its history stays. */
  async close(tabId: string): Promise<void> {
    const tab = this.take(tabId);
    if (tab === undefined) return;
    if (tab.sessionId === undefined) this.ports.draftMoves(tab.tabId, "");
    const ending = tab.sessionId === undefined ? Promise.resolve() : this.link.close(tabId);
    await Promise.all([ending.catch((error: unknown) => this.ports.sentences.alertEverywhere(error)), this.showNext()]);
  }

  /** Sessions are gone: so are their tabs. */
  async gone(isGone: (sessionId: string) => boolean): Promise<void> {
    const over = this.all.value.filter(({ sessionId }) => sessionId !== undefined && isGone(sessionId));
    if (over.length === 0) return;
    for (const { tabId } of over) {
      this.take(tabId);
      this.end(tabId);
    }
    await this.showNext();
  }

  /** Has the server forget a tab whose session is gone: shown again it would get another one. */
  end(tabId: string): void {
    this.link.close(tabId).catch(() => undefined);
  }

  private of(sessionId: string): OpenTab | undefined {
    return this.all.value.find((tab) => tab.sessionId === sessionId);
  }

  private open(sessionId: string): OpenSession {
    return new OpenSession(this.ports.client, sessionId, this.ports.standing.offers("bb/session/info"));
  }

  private async make(tab: OpenTab): Promise<string | undefined> {
    const { agent } = tab;
    let sessionId: string;
    try {
      ({ sessionId } = await this.ports.client.request("bb/createSession", agent === undefined ? {} : { agent }));
    } catch (error) {
      tab.failure.value = tabFailureOf(error);
      return undefined;
    }
    if (!this.all.value.includes(tab)) {
      // It was closed meanwhile: nobody wants the session, and the agent must not keep it.
      await this.link.open({ tabId: tab.tabId, sessionId }).catch(() => undefined);
      this.end(tab.tabId);
      return undefined;
    }
    batch(() => {
      if (agent === undefined) this.ports.standing.sawEngine(sessionId);
      tab.has(this.open(sessionId));
      this.ports.draftMoves(tab.tabId, sessionId);
    });
    this.ports.remember();
    await this.show(tab);
    return sessionId;
  }

  private add(tab: OpenTab, place: "end" | "beside" = "end"): void {
    const all = this.all.value;
    const front = all.findIndex(({ tabId }) => tabId === this.frontId.value);
    const at = place === "beside" && front >= 0 ? front + 1 : all.length;
    const more = [...all.slice(0, at), tab, ...all.slice(at)];
    const tooMany = more.filter((one) => one !== tab).slice(0, Math.max(0, more.length - MOST_OPEN));
    this.all.value = more.filter((one) => !tooMany.includes(one));
    // The oldest makes room; its session lives on in the list.
    for (const left of tooMany) {
      left.dispose();
      this.ports.sentences.forget(left.tabId);
      this.link.leave(left.tabId);
    }
    this.turnTo(tab);
    this.ports.remember();
  }

  private turnTo(tab: OpenTab): void {
    const before = this.frontId.value;
    if (before === tab.tabId) return;
    if (before !== undefined) this.link.hide(before);
    this.frontId.value = tab.tabId;
    this.ports.turned();
  }

  /** Takes a tab out of the strip; its neighbour comes to the front. */
  private take(tabId: string): OpenTab | undefined {
    const at = this.all.value.findIndex((tab) => tab.tabId === tabId);
    const tab = this.all.value[at];
    if (tab === undefined) return undefined;
    const rest = this.all.value.filter((one) => one !== tab);
    const wasFront = this.frontId.value === tabId;
    batch(() => {
      this.all.value = rest;
      if (wasFront) this.frontId.value = (rest[at] ?? rest[at - 1])?.tabId;
    });
    tab.dispose();
    this.ports.sentences.forget(tabId);
    if (wasFront) this.ports.turned();
    this.ports.remember();
    return tab;
  }

  private async showNext(): Promise<void> {
    const next = this.front.value;
    if (next !== undefined && !this.link.isShown(next.tabId)) await this.show(next);
  }

  private async show(tab: OpenTab): Promise<void> {
    const session = tab.session.value;
    if (session === undefined) return;
    try {
      await this.link.show({ tabId: tab.tabId, sessionId: session.sessionId });
      if (this.front.value !== tab) return this.link.hide(tab.tabId);
      await session.attach();
      await Promise.all([session.readQueue(), session.readInfo()]);
    } catch (error) {
      session.failure.value = sentenceOf(error);
    }
    if (this.front.value === tab) await this.ports.shown();
  }
}

function named({ tabId, sessionId }: OpenTab): TabOfSession[] {
  return sessionId === undefined ? [] : [{ tabId, sessionId }];
}
