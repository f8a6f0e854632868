/**
 * Everything that the page shows, as signals, and everything that a user can have done.
 *
 * Owns which sessions are open, what is typed, and what is said of the connection. Asks the server; reduces nothing,
 * stores nothing but the saved state of the page.
 */
import {
  type BreadboardClient,
  BreadboardError,
  type EngineStatus,
  type ModelsListResult,
  type Permission,
  type Requests,
  type ServerNotifications,
} from "@breadboard-ls/sdk";
import { batch, computed, signal } from "@preact/signals";
import type { HostStatus, PageMethod } from "../../shared/page_methods";
import type { HostLink } from "../host_link";
import { type Connection, OpenSession } from "./open_session";
import {
  type Attachment,
  type Draft,
  EMPTY_DRAFT,
  MOST_OPEN,
  type PaneName,
  newer,
  readSaved,
  type SavedState,
} from "./saved_state";

type State = ServerNotifications["bb/state"];
type Event = Requests["bb/events/read"]["result"]["events"][number];

/** A sentence that stays until it is read. */
export interface Alert {
  readonly id: number;
  readonly text: string;
}

/** Most sentences at a time; the oldest goes. */
const MOST_ALERTS = 4;
/** Most raw events that the debug pane holds; older ones are read from the journal again. */
export const MOST_RAW = 500;

/** What the model needs of a browser. */
export interface ModelPorts {
  readonly link: HostLink;
  save(state: SavedState): void;
  uuid(): string;
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

export class Model {
  readonly host = signal<HostStatus>({
    server: "starting",
    generation: 0,
    trusted: true,
    roots: [],
    methods: [],
    sendWithModifier: false,
  });
  readonly engine = signal<EngineStatus | undefined>(undefined);
  readonly connection = signal<Connection | undefined>(undefined);
  readonly state = signal<State>({ sessions: [] });
  readonly open = signal<readonly OpenSession[]>([]);
  readonly activeId = signal<string | undefined>(undefined);
  readonly pane = signal<PaneName>("chat");
  readonly drafts = signal<Readonly<Record<string, Draft>>>({});
  readonly models = signal<ModelsListResult | undefined>(undefined);
  /** What is allowed without being asked; `undefined` until it was read. */
  readonly rules = signal<Requests["bb/permission/list"]["result"]["rules"] | undefined>(undefined);
  readonly alerts = signal<readonly Alert[]>([]);
  readonly raw = signal<readonly Event[]>([]);
  /** The last thing worth saying aloud to a screen reader. */
  readonly spoken = signal("");
  /** Raised to move the focus into the prompt. */
  readonly focusPrompt = signal(0);
  readonly booted = signal(false);

  readonly active = computed(() => this.open.value.find(({ sessionId }) => sessionId === this.activeId.value));
  readonly draft = computed(() => this.drafts.value[this.activeId.value ?? ""] ?? EMPTY_DRAFT);
  readonly running = computed(() => {
    const status = this.summary(this.activeId.value)?.status;
    return (
      status === "running" ||
      status === "waiting" ||
      (this.state.value.activeSessionId === this.activeId.value && this.state.value.running === true)
    );
  });

  private readonly client: BreadboardClient;
  private bootedGeneration = -1;
  private wantsNew = false;
  /** A session to show as soon as there is a server. */
  private wanted: string | undefined;
  private alertId = 0;

  constructor(
    private readonly ports: ModelPorts,
    saved: unknown,
  ) {
    this.client = ports.link.client;
    this.saved = readSaved(saved);
    this.restore(this.saved);
    this.client.onNotification("bb/state", (state) => this.heardState(state));
    this.client.onNotification("bb/connection", (told) => this.heardConnection(told));
    this.client.onNotification("bb/events", (told) => this.heardEvents(told));
  }

  /** What the page had when it was last here. */
  private saved: SavedState;
  private touched = false;

  private restore(saved: SavedState): void {
    this.saved = saved;
    this.pane.value = saved.pane;
    this.drafts.value = saved.drafts;
  }

  // ---- start

  /** Asks the editor how things stand, and begins. */
  async boot(): Promise<void> {
    try {
      const status = (await this.ports.link.editor("editor.status")) as HostStatus;
      // Unless somebody was faster and typed already.
      if (!this.touched) this.restore(newer(this.saved, status.remembered));
      await this.heardStatus(status);
    } catch (error) {
      this.alert(error);
    }
  }

  /** A request of the editor. */
  heardRequest(method: PageMethod, params: Record<string, unknown>): void {
    if (method === "page.status") void this.heardStatus(params as unknown as HostStatus);
    if (method === "page.focus") this.focusPrompt.value += 1;
    if (method === "page.compose") this.compose(params["text"] as string);
    if (method === "page.newSession") void this.newSession();
    if (method === "page.showSession") void this.showSession(params["sessionId"] as string);
  }

  private async heardStatus(status: HostStatus): Promise<void> {
    this.host.value = status;
    if (status.server !== "running" || status.generation === this.bootedGeneration) return;
    // A new server, or the first: everything is asked anew. Views are replaced by snapshots, so nothing is there twice.
    this.bootedGeneration = status.generation;
    try {
      await this.hello();
    } catch (error) {
      this.bootedGeneration = -1;
      this.alert(error);
    }
  }

  private async hello(): Promise<void> {
    const hello = await this.subscribe();
    const known = new Set(hello.sessions.map(({ sessionId }) => sessionId));
    const before = this.booted.value
      ? { open: this.open.value.map(({ sessionId }) => sessionId), active: this.activeId.value }
      : this.saved;
    const open = before.open.filter((id) => known.has(id));
    const newest = hello.activeSessionId ?? hello.sessions[0]?.sessionId;
    const active =
      before.active !== undefined && known.has(before.active) ? before.active : (open.at(-1) ?? newest ?? undefined);
    if (active !== undefined && !open.includes(active)) open.push(active);
    batch(() => {
      for (const session of this.open.value) session.dispose();
      this.engine.value = hello.engine;
      this.connection.value = undefined;
      this.state.value = {
        sessions: hello.sessions,
        ...(hello.activeSessionId == null ? {} : { activeSessionId: hello.activeSessionId }),
      };
      this.open.value = open.slice(-MOST_OPEN).map((id) => new OpenSession(this.client, id));
      this.activeId.value = active;
      this.booted.value = true;
    });
    this.remember();
    const first = this.active.value;
    if (first !== undefined) await this.attach(first);
    if (this.wanted !== undefined) await this.showSession(this.wanted);
    if (this.wantsNew) await this.newSession();
  }

  private subscribe(): Promise<Requests["bb/init"]["result"]> {
    // Raw events are for the debug pane; the view has the same story in what is drawn.
    return this.client.request("bb/init", {
      subscribe: { view: true, events: this.pane.value === "debug", tabs: false },
    });
  }

  private async attach(session: OpenSession): Promise<void> {
    try {
      await session.attach();
      await session.readQueue();
    } catch (error) {
      this.alert(error);
    }
  }

  // ---- news

  private heardState(state: State): void {
    const before = this.state.value;
    this.state.value = state;
    const mine = (all: State) => all.sessions.find(({ sessionId }) => sessionId === this.activeId.value);
    const was = mine(before)?.status;
    const is = mine(state)?.status;
    if (was !== is) {
      if (is === "waiting") this.say("The agent waits for your answer.");
      else if (was === "running" && is === "idle") this.say("The turn has ended.");
      else if (is === "running") this.say("The agent is working.");
    }
    // The queue has no notification of its own: it moves when a turn begins or ends.
    if (was !== is && this.active.value?.attached.value) this.quietly(this.active.value.readQueue());
    const gone = this.open.value.filter(
      ({ sessionId }) => !state.sessions.some((session) => session.sessionId === sessionId),
    );
    for (const { sessionId } of gone) this.close(sessionId);
  }

  private heardConnection(told: Connection): void {
    if (told.sessionId == null) this.connection.value = told;
    if (told.gapDetected === true) this.say("Events are missing from this session.");
    else if (told.status === "connecting") this.say("Reconnecting to the engine.");
    else if (told.status === "error") this.say("The engine does not answer.");
  }

  private heardEvents(told: ServerNotifications["bb/events"]): void {
    if (told.sessionId !== this.activeId.value) return;
    const last = this.raw.value.at(-1)?.seq ?? 0;
    this.raw.value = [...this.raw.value, ...told.events.filter(({ seq }) => seq > last)].slice(-MOST_RAW);
  }

  // ---- sessions

  summary(sessionId: string | undefined): State["sessions"][number] | undefined {
    return this.state.value.sessions.find((session) => session.sessionId === sessionId);
  }

  async newSession(): Promise<void> {
    if (!this.booted.value) {
      this.wantsNew = true;
      return;
    }
    this.wantsNew = false;
    await this.attempt(async () => {
      const { sessionId } = await this.client.request("bb/createSession", {});
      await this.select(sessionId);
      this.focusPrompt.value += 1;
    });
  }

  /** Shows the chat of a session, because the editor wants it seen. */
  private async showSession(sessionId: string): Promise<void> {
    if (!this.booted.value) {
      this.wanted = sessionId;
      return;
    }
    this.wanted = undefined;
    await this.showPane("chat");
    await this.select(sessionId);
    this.focusPrompt.value += 1;
  }

  async select(sessionId: string): Promise<void> {
    const known = this.open.value.find((session) => session.sessionId === sessionId);
    const session = known ?? new OpenSession(this.client, sessionId);
    batch(() => {
      if (known === undefined) {
        const more = [...this.open.value, session];
        // The oldest that is not in front makes room; its session lives on in the list.
        for (const closed of more.slice(0, Math.max(0, more.length - MOST_OPEN))) closed.dispose();
        this.open.value = more.slice(-MOST_OPEN);
      }
      this.activeId.value = sessionId;
      this.raw.value = [];
    });
    this.remember();
    await this.attach(session);
    if (this.pane.value === "debug") await this.readRaw();
  }

  /** Takes a session out of the strip. It lives on. */
  close(sessionId: string): void {
    const at = this.open.value.findIndex((session) => session.sessionId === sessionId);
    if (at < 0) return;
    const closed = this.open.value[at];
    const rest = this.open.value.filter((session) => session !== closed);
    batch(() => {
      this.open.value = rest;
      if (this.activeId.value === sessionId) this.activeId.value = (rest[at] ?? rest[at - 1])?.sessionId;
    });
    closed?.dispose();
    this.remember();
    const next = this.active.value;
    if (next !== undefined && !next.attached.value) void this.attach(next);
  }

  deleteSession(sessionId: string): Promise<void> {
    return this.attempt(async () => {
      await this.client.request("bb/deleteSession", { sessionId });
      this.close(sessionId);
      const { [sessionId]: _gone, ...drafts } = this.drafts.value;
      this.drafts.value = drafts;
      this.remember();
    });
  }

  async showPane(pane: PaneName): Promise<void> {
    const debug = this.pane.value === "debug" || pane === "debug";
    this.pane.value = pane;
    this.remember();
    if (!debug || !this.booted.value) return;
    await this.attempt(async () => {
      await this.subscribe();
      if (pane === "debug") await this.readRaw();
      else this.raw.value = [];
    });
  }

  /** The newest raw events, or those before the oldest that is shown. */
  async readRaw(older = false): Promise<void> {
    const sessionId = this.activeId.value;
    const seq = this.active.value?.session.view.seq;
    if (sessionId === undefined || seq === undefined) return;
    const to = older ? (this.raw.value[0]?.seq ?? seq + 1) - 1 : seq;
    if (to < 1) return;
    const fromSeq = Math.max(1, to - 99);
    const { events } = await this.client.request("bb/events/read", { sessionId, fromSeq, limit: to - fromSeq + 1 });
    if (this.activeId.value !== sessionId) return;
    const bySeq = new Map([...events, ...this.raw.value].map((event) => [event.seq, event]));
    const all = [...bySeq.values()].sort((a, b) => a.seq - b.seq);
    this.raw.value = older ? all.slice(0, MOST_RAW) : all.slice(-MOST_RAW);
  }

  // ---- prompts

  setDraft(change: Partial<Draft>): void {
    const id = this.activeId.value ?? "";
    // A prompt that is changed is another prompt.
    const { messageId: _old, ...draft } = this.draft.value;
    this.drafts.value = { ...this.drafts.value, [id]: { ...draft, ...change } };
    this.remember();
  }

  compose(text: string): void {
    const { text: typed } = this.draft.value;
    this.pane.value = "chat";
    this.setDraft({ text: typed === "" || typed.endsWith("\n") ? typed + text : `${typed}\n${text}` });
    this.focusPrompt.value += 1;
  }

  async send(): Promise<void> {
    const draft = this.draft.value;
    if (draft.text.trim() === "") return;
    await this.attempt(async () => {
      const messageId = draft.messageId ?? this.ports.uuid();
      this.keepDraft(this.activeId.value, { ...draft, messageId });
      const sessionId = this.activeId.value ?? (await this.createForDraft(draft, messageId));
      const session = this.active.value;
      const { disposition } = await this.client.request("bb/sendMessage", {
        sessionId,
        text: draft.text,
        messageId,
        ...(draft.attachments.length === 0
          ? {}
          : { attachmentIds: draft.attachments.map(({ attachmentId }) => attachmentId) }),
      });
      // Only what was sent is taken away: the user may have typed on.
      if (this.drafts.value[sessionId]?.messageId === messageId) this.keepDraft(sessionId, EMPTY_DRAFT);
      if (disposition === "queued") {
        this.say("The prompt waits in the queue.");
        await session?.readQueue();
      }
    });
  }

  private async createForDraft(draft: Draft, messageId: string): Promise<string> {
    const { sessionId } = await this.client.request("bb/createSession", {});
    this.keepDraft("", EMPTY_DRAFT);
    this.keepDraft(sessionId, { ...draft, messageId });
    await this.select(sessionId);
    return sessionId;
  }

  private keepDraft(sessionId: string | undefined, draft: Draft): void {
    this.drafts.value = { ...this.drafts.value, [sessionId ?? ""]: draft };
    this.remember();
  }

  stop(): Promise<void> {
    return this.onSession(async (sessionId) => {
      await this.client.request("bb/stop", { sessionId });
      this.say("The turn is told to stop.");
      await this.active.value?.readQueue();
    });
  }

  queue(
    action: "edit" | "move" | "remove" | "resume",
    params: { messageId?: string; text?: string; before?: string } = {},
  ): Promise<void> {
    return this.onSession(async (sessionId) => {
      const session = this.active.value;
      try {
        const queue = await this.client.request(`bb/queue/${action}`, { sessionId, ...params });
        if (session !== undefined) session.queue.value = queue;
      } catch (error) {
        // It may have begun meanwhile: what is shown must be what is.
        await session?.readQueue();
        throw error;
      }
    });
  }

  async pickAttachments(): Promise<void> {
    if (this.activeId.value === undefined) await this.newSession();
    await this.onSession(async (sessionId) => {
      const { attachments, leftOut } = (await this.ports.link.editor("editor.pickAttachments", { sessionId })) as {
        attachments: Attachment[];
        leftOut: number;
      };
      this.setDraft({ attachments: [...this.draft.value.attachments, ...attachments] });
      if (leftOut > 0) this.alert(`${leftOut} files were left out: at most 20 are attached at once.`);
    });
  }

  /** An image or a file that was pasted or dropped. */
  async attach64(name: string, base64: string, mime: string): Promise<void> {
    if (this.activeId.value === undefined) await this.newSession();
    await this.onSession(async (sessionId) => {
      const { attachmentId, bytes } = await this.client.request("bb/attachment/put", {
        sessionId,
        name,
        base64,
        ...(mime === "" ? {} : { mime }),
      });
      this.setDraft({ attachments: [...this.draft.value.attachments, { attachmentId, name, bytes }] });
    });
  }

  // ---- asks

  /** Answers an ask. The digest says what was on the screen. */
  answer(
    permission: Permission,
    decision: "allow_once" | "deny" | "allow_rule",
    optionId: string,
    ruleUpdate?: { pattern?: string; scope?: "session" | "workspace" },
  ): Promise<void> {
    return this.onSession(async (sessionId) => {
      const answer = await this.client.request("bb/approvePermission", {
        sessionId,
        requestId: permission.requestId,
        decision,
        optionId,
        digest: permission.digest,
        ...(ruleUpdate === undefined ? {} : { ruleUpdate }),
      });
      if (answer.outcome === "already_resolved")
        this.alert(
          `This was answered before${answer.resolvedBy ? ` (by: ${answer.resolvedBy})` : ""}: ` +
            `${answer.resolution ?? "settled"}.`,
        );
    });
  }

  // ---- the rest of the server

  readModels(): Promise<void> {
    return this.attempt(async () => {
      this.models.value = await this.client.request("bb/models/list", {});
    });
  }

  setModel(id: string): Promise<void> {
    const entry = this.models.value?.models.find((model) => model.id === id);
    return this.attempt(async () => {
      const { current } = await this.client.request("bb/models/set", {
        name: id,
        ...(entry?.provider == null ? {} : { provider: entry.provider }),
      });
      this.models.value = { models: this.models.value?.models ?? [], ...(current == null ? {} : { current }) };
    });
  }

  readRules(): Promise<void> {
    return this.attempt(async () => {
      this.rules.value = (await this.client.request("bb/permission/list", {})).rules;
    });
  }

  async revokeRule(ruleId: string, pattern: string): Promise<void> {
    await this.attempt(async () => {
      await this.client.request("bb/permission/revoke", { ruleId });
      this.say(`The rule ${pattern} was taken back.`);
    });
    // Also after a refusal: another window may have been faster.
    await this.readRules();
  }

  command(command: string, args: Record<string, unknown> = {}): Promise<void> {
    return this.onSession(async (sessionId) => {
      await this.client.request("bb/command", { sessionId, command, args });
    });
  }

  /** Starts the agent process anew, after it ended or when it hangs. */
  restartAgent(): Promise<void> {
    return this.attempt(async () => {
      await this.client.request("bb/agent/restart", {});
      this.say("The agent is started again.");
    });
  }

  rebuild(): Promise<void> {
    return this.attempt(async () => {
      const { active } = this;
      try {
        await active.value?.rebuild();
      } catch (error) {
        if (!(error instanceof BreadboardError) || error.code !== "unsupported") throw error;
        this.alert(`It cannot be rebuilt: ${error.message}`);
      }
    });
  }

  /** The event of a block, untruncated. */
  async eventBody(seq: number): Promise<Event> {
    const { event } = await this.client.request("bb/eventBody", { sessionId: this.activeId.value ?? "", seq });
    return event;
  }

  listFiles(path: string, root?: string): Promise<Requests["bb/listFiles"]["result"]> {
    return this.client.request("bb/listFiles", {
      sessionId: this.activeId.value ?? "",
      path,
      gitignore: true,
      ...(root === undefined ? {} : { root }),
    });
  }

  readSnippet(path: string, root?: string): Promise<Requests["bb/readFileSnippet"]["result"]> {
    return this.client.request("bb/readFileSnippet", {
      sessionId: this.activeId.value ?? "",
      path,
      headLines: 200,
      ...(root === undefined ? {} : { root }),
    });
  }

  loadOlder(lane: "chat" | "run" | "tasks" | "debug"): Promise<void> {
    return this.attempt(async () => {
      await this.active.value?.session.loadOlder(lane);
    });
  }

  /** Has something done in the editor. */
  editor(...[method, params]: Parameters<HostLink["editor"]>): Promise<void> {
    return this.attempt(async () => {
      await this.ports.link.editor(method, params);
    });
  }

  // ---- sentences

  alert(error: unknown): void {
    const text = typeof error === "string" ? error : error instanceof Error ? error.message : String(error);
    if (this.alerts.value.some((alert) => alert.text === text)) return;
    this.alerts.value = [...this.alerts.value, { id: (this.alertId += 1), text }].slice(-MOST_ALERTS);
  }

  dismiss(id: number): void {
    this.alerts.value = this.alerts.value.filter((alert) => alert.id !== id);
  }

  say(text: string): void {
    this.spoken.value = text;
  }

  private async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.alert(error);
    }
  }

  private onSession(work: (sessionId: string) => Promise<void>): Promise<void> {
    const sessionId = this.activeId.value;
    return sessionId === undefined ? Promise.resolve() : this.attempt(() => work(sessionId));
  }

  private quietly(work: Promise<void>): void {
    work.catch(() => undefined);
  }

  private remember(): void {
    this.touched = true;
    const drafts = Object.fromEntries(
      Object.entries(this.drafts.value).filter(([, { text, attachments }]) => text !== "" || attachments.length > 0),
    );
    // Before the first answer of a server, what an earlier page left is still true.
    const { open, active } = this.booted.value
      ? { open: this.open.value.map(({ sessionId }) => sessionId), active: this.activeId.value }
      : this.saved;
    this.ports.save({
      at: this.ports.now(),
      pane: this.pane.value,
      open,
      ...(active === undefined ? {} : { active }),
      drafts,
    });
  }
}
