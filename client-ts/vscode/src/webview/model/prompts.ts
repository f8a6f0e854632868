/**
 * What is typed and sent: drafts, prompts, the queue behind a running turn, attachments.
 *
 * Owns the drafts and the ids of prompts: each id is made here when its prompt is sent, and kept with the draft until
 * the server has taken it, so that sent again it is taken once (R001-03).
 */
import type { BlockOf, BreadboardClient } from "@breadboard-ls/sdk";
import { computed, effect, signal } from "@preact/signals";
import type { HostLink } from "../host_link";
import { isElsewhere } from "./open_session";
import type { OpenTab } from "./open_tab";
import type { OpenTabs } from "./open_tabs";
import { type Attachment, type Draft, EMPTY_DRAFT } from "./saved_state";
import { type Sentences, sentenceOf } from "./sentences";
import { t } from "../messages";

/** What an engine is asked that stopped in the middle. */
const CONTINUE = t("Continue where you stopped.");

/** Prompts that are remembered as sent here; only the last one of a session matters. */
const MOST_SENT = 64;

/** What the prompts need of the rest of the page. */
export interface PromptPorts {
  readonly client: BreadboardClient;
  readonly link: HostLink;
  readonly tabs: OpenTabs;
  readonly sentences: Sentences;
  /** What the user took away from what goes with the prompt that is sent now. */
  takenAway(): { exclude: string[] } | undefined;
  /** A prompt was sent. */
  sent(): void;
  canBranch(): boolean;
  /** Makes a branch of a session before one of its prompts, and shows it; gives its id. */
  branch(sessionId: string, from: { before: string }): Promise<string>;
  uuid(): string;
  remember(): void;
}

export class Prompts {
  /** By session, or by tab where there is none yet; `""` while there is no tab. */
  readonly drafts = signal<Readonly<Record<string, Draft>>>({});
  /** Raised to move the focus into the prompt. */
  readonly focus = signal(0);
  /** Raised when the server took a prompt that the user sent here, which is at the end of the chat. */
  readonly taken = signal(0);
  /** The prompts of this page's own sending, and how often each was sent again by itself before. */
  private readonly sentHere = new Map<string, number>();
  readonly draft = computed(() => this.drafts.value[this.key()] ?? EMPTY_DRAFT);

  constructor(private readonly ports: PromptPorts) {
    effect(() => this.takeWhatArrived());
  }

  /**
   * A draft whose prompt is in the chat, or in the queue, was taken: the page that sent it may have gone before it heard
   * so, and its draft came back.
   */
  private takeWhatArrived(): void {
    const session = this.ports.tabs.active.value;
    const messageId = session === undefined ? undefined : this.drafts.value[session.sessionId]?.messageId;
    if (session === undefined || messageId === undefined) return;
    const arrived =
      session.queue.value.items.some((item) => item.messageId === messageId) ||
      session.blocks("chat").some((block) => block.kind === "user" && block.messageId === messageId);
    if (arrived) this.keep(session.sessionId, EMPTY_DRAFT);
  }

  /** The drafts that have something in them, by session; those of tabs without one under `""`. */
  saved(): Record<string, Draft> {
    const unmade = new Map(
      this.ports.tabs.all.value.filter(({ sessionId }) => sessionId === undefined).map(({ tabId }) => [tabId, ""]),
    );
    const kept = Object.entries(this.drafts.value).filter(([, draft]) => !isEmpty(draft));
    return Object.fromEntries(kept.map(([key, draft]) => [unmade.get(key) ?? key, draft]));
  }

  /** The prompt that is changed is sent in its own session after all. */
  sendHere(): void {
    const { before: _before, messageId: _old, ...draft } = this.draft.value;
    this.keep(this.key(), draft);
  }

  setDraft(change: Partial<Draft>): void {
    // A prompt that is changed is another prompt.
    const { messageId: _old, ...draft } = this.draft.value;
    this.keep(this.key(), { ...draft, ...change });
  }

  /** Adds text to what is typed, behind this where there is something. */
  compose(text: string, between: "\n" | " " = "\n"): void {
    const { text: typed } = this.draft.value;
    this.setDraft({ text: typed === "" || /\s$/.test(typed.slice(-1)) && (between === " " || typed.endsWith("\n")) ? typed + text : `${typed}${between}${text}` });
    this.focus.value += 1;
  }

  /** A draft has another name. What stands under that already stays, and comes first. */
  move(from: string, to: string): void {
    const { [from]: draft, ...rest } = this.drafts.value;
    if (draft === undefined || isEmpty(draft)) return;
    const there = rest[to] ?? EMPTY_DRAFT;
    const both = {
      text: [there.text, draft.text].filter((text) => text !== "").join("\n"),
      attachments: [...there.attachments, ...draft.attachments],
    };
    this.drafts.value = { ...rest, [to]: isEmpty(there) ? draft : both };
  }

  forget(sessionId: string): void {
    const { [sessionId]: _gone, ...drafts } = this.drafts.value;
    this.drafts.value = drafts;
    this.ports.remember();
  }

  async send(): Promise<void> {
    const { tabs, sentences } = this.ports;
    const draft = this.draft.value;
    if (draft.text.trim() === "") return;
    if (draft.before !== undefined) return this.sendInBranch(draft, draft.before);
    const messageId = draft.messageId ?? this.ports.uuid();
    this.keep(this.key(), { ...draft, messageId });
    const tab = tabs.front.value ?? tabs.create();
    await sentences.attempt(async () => {
      const attachmentIds = draft.attachments.map(({ attachmentId }) => attachmentId);
      const context = this.ports.takenAway();
      const sessionId = await this.deliver(tab, messageId, draft.text, attachmentIds, 0, context);
      if (sessionId !== undefined) this.ports.sent();
      // Only what was sent is taken away: the user may have typed on.
      if (sessionId !== undefined && this.drafts.value[sessionId]?.messageId === messageId)
        this.keep(sessionId, EMPTY_DRAFT);
    });
  }

  /** Has a branch begin before the prompt that is changed, and sends the changed one there; its session stays as it is. */
  private async sendInBranch(draft: Draft, before: string): Promise<void> {
    const { tabs, sentences } = this.ports;
    const { sessionId } = tabs.active.value ?? {};
    if (sessionId === undefined) return;
    await sentences.attempt(async () => {
      const branch = await this.ports.branch(sessionId, { before });
      // What could not be sent there is there to be sent again, and begins no second branch.
      const { before: _before, messageId: _old, ...rest } = draft;
      this.keep(sessionId, EMPTY_DRAFT);
      this.keep(branch, rest);
      await this.send();
    });
  }

  /** Asks this at once; what is typed stays. */
  async ask(text: string): Promise<void> {
    const { tabs, sentences } = this.ports;
    const tab = tabs.front.value ?? tabs.create();
    await sentences.attempt(async () => {
      await this.deliver(tab, this.ports.uuid(), text, [], 0, this.ports.takenAway());
    });
  }

  /** Asks the engine to continue where it stopped; what is typed stays. */
  async goOn(): Promise<void> {
    const { tabs, sentences } = this.ports;
    const tab = tabs.front.value;
    if (tab?.sessionId === undefined) return;
    await sentences.attempt(async () => {
      await this.deliver(tab, this.ports.uuid(), CONTINUE, []);
      this.focus.value += 1;
    });
  }

  /** How often a prompt was sent again by itself before; `undefined` where this page did not send it. */
  triesOf(messageId: string): number | undefined {
    return this.sentHere.get(messageId);
  }

  /**
   * Sends what was asked before once more, as a prompt of its own; what is typed stays. By itself (`tries` says how often)
   * it does so silently.
   */
  async again(prompt: BlockOf<"user">, tries = 0): Promise<void> {
    const { tabs, sentences } = this.ports;
    const tab = tabs.front.value;
    const sessionId = tab?.sessionId;
    if (tab === undefined || sessionId === undefined) return;
    await sentences.attempt(async () => {
      const text = await this.whole(sessionId, prompt);
      await this.deliver(tab, this.ports.uuid(), text, prompt.attachmentIds ?? [], tries);
      if (tries === 0) this.focus.value += 1;
    });
  }

  /** Puts the text of a prompt that was sent into the empty prompt; gives the text. */
  async recall(prompt: BlockOf<"user"> | undefined): Promise<string> {
    const { sessionId } = this.ports.tabs.active.value ?? {};
    const text = prompt === undefined || sessionId === undefined ? "" : await this.whole(sessionId, prompt);
    this.setDraft({ text });
    return text;
  }

  /**
   * Puts a prompt that was sent into the composer to be changed; what is typed there stays in front. Sent, it begins a branch of
   * the session, where the server can do that.
   */
  async edit(prompt: BlockOf<"user">): Promise<void> {
    const { sessionId } = this.ports.tabs.active.value ?? {};
    if (sessionId === undefined) return;
    await this.ports.sentences.attempt(async () => {
      this.compose(await this.whole(sessionId, prompt));
      if (this.ports.canBranch()) this.setDraft({ before: prompt.id });
      const attachments = (prompt.attachmentIds ?? []).map((attachmentId) => ({ attachmentId, name: "as before", bytes: 0 }));
      if (attachments.length > 0) this.attached(sessionId, attachments);
    });
  }

  /** The text as it was sent: a block may show less. */
  private async whole(sessionId: string, { seq, text }: BlockOf<"user">): Promise<string> {
    const { event } = await this.ports.client.request("bb/eventBody", { sessionId, seq });
    const { text: whole } = event.payload as { text?: unknown };
    return typeof whole === "string" ? whole : text;
  }

  /** The session that took it, or `undefined` where there is none: then the tab says why. */
  private async deliver(
    tab: OpenTab,
    messageId: string,
    text: string,
    attachmentIds: readonly string[],
    tries = 0,
    context?: { exclude: string[] },
  ): Promise<string | undefined> {
    const { tabs, sentences } = this.ports;
    if ((await tab.ready) === undefined) return undefined;
    const at = whereabouts(tab);
    if (at === undefined) return undefined;
    this.sends(messageId, tries);
    const prompted = tabs.link.prompt(at, {
      messageId,
      text,
      ...(attachmentIds.length === 0 ? {} : { attachmentIds: [...attachmentIds] }),
      ...(context === undefined ? {} : { context }),
    });
    const { disposition } = await prompted.catch((error: unknown) => {
      if (isElsewhere(sentenceOf(error)) && tab.session.value !== undefined) tab.session.value.elsewhere.value = true;
      throw error;
    });
    if (tries === 0) this.taken.value += 1;
    if (disposition === "queued") {
      sentences.say(t("The prompt waits in the queue."));
      await tab.session.value?.readQueue();
    }
    return at.sessionId;
  }

  private sends(messageId: string, tries: number): void {
    this.sentHere.set(messageId, tries);
    const [oldest] = this.sentHere.keys();
    if (this.sentHere.size > MOST_SENT && oldest !== undefined) this.sentHere.delete(oldest);
  }

  /** Stops the turn in front; what waits stays where it is. */
  async stop(): Promise<void> {
    const { tabs, sentences } = this.ports;
    const tab = tabs.front.value;
    const at = tab === undefined ? undefined : whereabouts(tab);
    if (at === undefined) return;
    await sentences.attempt(async () => {
      await tabs.link.stop(at);
      sentences.say(t("The turn is told to stop."));
      await tab?.session.value?.readQueue();
    });
  }

  async queue(
    action: "edit" | "move" | "remove" | "resume",
    params: { messageId?: string; text?: string; before?: string } = {},
  ): Promise<void> {
    const session = this.ports.tabs.active.value;
    if (session === undefined) return;
    const { sessionId } = session;
    await this.ports.sentences.attempt(async () => {
      try {
        session.queue.value = await this.ports.client.request(`bb/queue/${action}`, { sessionId, ...params });
      } catch (error) {
        // It may have begun meanwhile: what is shown must be what is.
        await session.readQueue();
        throw error;
      }
    });
  }

  async pickAttachments(): Promise<void> {
    const sessionId = await this.ports.tabs.ensure();
    if (sessionId === undefined) return;
    await this.ports.sentences.attempt(async () => {
      const { attachments, leftOut } = (await this.ports.link.editor("editor.pickAttachments", { sessionId })) as {
        attachments: Attachment[];
        leftOut: number;
      };
      this.attached(sessionId, attachments);
      if (leftOut > 0) throw new Error(t("{0} files were left out: at most 20 are attached at once.", leftOut));
    });
  }

  /** An image or a file that was pasted or dropped. */
  async attach64(name: string, base64: string, mime: string): Promise<void> {
    const sessionId = await this.ports.tabs.ensure();
    if (sessionId === undefined) return;
    await this.ports.sentences.attempt(async () => {
      const { attachmentId, bytes } = await this.ports.client.request("bb/attachment/put", {
        sessionId,
        name,
        base64,
        ...(mime === "" ? {} : { mime }),
      });
      this.attached(sessionId, [{ attachmentId, name, bytes }]);
    });
  }

  /** Attachments belong to their session, whichever tab is in front by now. */
  private attached(sessionId: string, more: readonly Attachment[]): void {
    const { messageId: _old, ...draft } = this.drafts.value[sessionId] ?? EMPTY_DRAFT;
    this.keep(sessionId, { ...draft, attachments: [...draft.attachments, ...more] });
  }

  private key(): string {
    return this.ports.tabs.front.value?.draftKey ?? "";
  }

  private keep(key: string, draft: Draft): void {
    this.drafts.value = { ...this.drafts.value, [key]: draft };
    this.ports.remember();
  }
}

function whereabouts({ tabId, sessionId }: OpenTab): { tabId: string; sessionId: string } | undefined {
  return sessionId === undefined ? undefined : { tabId, sessionId };
}

function isEmpty({ text, attachments }: Draft): boolean {
  return text === "" && attachments.length === 0;
}
