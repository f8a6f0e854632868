/**
 * One tab as a webview holds it: its prompts, their answers, and what it has seen.
 *
 * Owns deduplication by index (R001-10) and routing by message id (R001-05); the two are never mixed. Sends nothing:
 * that is `Tabs`.
 */

import type {
  Block,
  ChosenOption,
  Lane,
  NamedClient,
  Permission,
  PermissionStatus,
  QueueItem,
  TabParams,
  TabPrompt,
  View,
} from "./generated/types.js";

/** A piece of an answer, in order: text of the assistant, or a block that is not that. */
export type AnswerPart =
  | { readonly text: string; /** The block of the view that the text is of. */ readonly blockId?: string }
  | { readonly block: Block };

/** What went wrong, as it is shown. */
export interface Failure {
  /** For programs. */
  readonly code: string;
  /** One sentence: what happened, what to do next. */
  readonly message: string;
}

/** One prompt and its answer. Replaced, never changed in place. */
export interface TabAnswer {
  /** Id of the prompt, a UUID v4 of the webview that sent it. */
  readonly messageId: string;
  /** What was asked; absent until the server tells, when another webview asked it. */
  readonly prompt?: string;
  /** The answer so far. */
  readonly parts: readonly AnswerPart[];
  /** `sent`: no answer yet. `complete` and `failed` are ends: nothing is taken for the id from then on. */
  readonly status: "sent" | "streaming" | "complete" | "failed";
  /** Why it ended, in the server's word. */
  readonly stopReason?: string;
  /** Why it failed. */
  readonly error?: Failure;
}

/** How a tab stands. `opening` becomes `open`; `exited`: its agent ended, and can be started again. */
export type TabState = "opening" | "open" | "exited" | "failed" | "closed";

/** What changed in a tab. */
export type TabChange =
  | { readonly kind: "message"; readonly messageId: string }
  | { readonly kind: "state" | "queue" | "everything" }
  | { readonly kind: "permission"; readonly requestId: string };

/** What is kept of a tab over a new webview: plain JSON. */
export interface SavedTab {
  readonly tabId: string;
  readonly agent?: string;
  readonly epoch?: string;
  readonly lastSeenIndex?: number;
  /** The prompts that `lastSeenIndex` speaks of. Without them the tab begins with a snapshot. */
  readonly prompts?: readonly TabAnswer[];
}

/** What became of a message: taken; seen before; late, for no prompt that is under way. */
export type TabOutcome = "applied" | "seen" | "late";

/** What the agent asked, and how that stands. */
export interface TabPermission {
  readonly permission: Permission;
  readonly status: PermissionStatus;
  /** The option that the user chose. */
  readonly chosen?: ChosenOption;
  readonly client?: NamedClient;
  /** Why it waits again after it was answered. */
  readonly problem?: string;
}

/** The state of one tab. */
export class TabModel {
  #state: TabState = "opening";
  #error: Failure | undefined;
  #epoch: string | undefined;
  #lastSeenIndex = 0;
  #view: View | undefined;
  #queue: readonly QueueItem[] = [];
  #paused = false;
  readonly #prompts = new Map<string, TabAnswer>();
  readonly #permissions = new Map<string, TabPermission>();
  readonly #changed: (change: TabChange) => void;

  /** `changed` is told of each change. */
  constructor(
    readonly tabId: string,
    readonly agent?: string,
    changed: (change: TabChange) => void = () => undefined,
  ) {
    this.#changed = changed;
  }

  /** How it stands. */
  get state(): TabState {
    return this.#state;
  }

  /** The last error that belongs to no prompt; why it is `failed` or `exited`. */
  get error(): Failure | undefined {
    return this.#error;
  }

  /** Under which `lastSeenIndex` counts. */
  get epoch(): string | undefined {
    return this.#epoch;
  }

  /** Messages up to this one were seen. */
  get lastSeenIndex(): number {
    return this.#lastSeenIndex;
  }

  /** The prompts, oldest first, by message id. */
  get prompts(): ReadonlyMap<string, TabAnswer> {
    return this.#prompts;
  }

  /** Prompts that wait at the server. */
  get queue(): readonly QueueItem[] {
    return this.#queue;
  }

  /** Whether they wait for `bb/queue/resume`. */
  get paused(): boolean {
    return this.#paused;
  }

  /** What the agent asked, by request id, and how that stands. */
  get permissions(): ReadonlyMap<string, TabPermission> {
    return this.#permissions;
  }

  /** The view of the last snapshot: what there was before the prompts held here. */
  get view(): View | undefined {
    return this.#view;
  }

  /** The state as plain JSON. */
  save(): SavedTab {
    return {
      tabId: this.tabId,
      ...(this.agent === undefined ? {} : { agent: this.agent }),
      ...(this.#epoch === undefined ? {} : { epoch: this.#epoch, lastSeenIndex: this.#lastSeenIndex }),
      prompts: [...this.#prompts.values()],
    };
  }

  /** Takes what an earlier webview kept. Without its prompts nothing counts as seen. */
  restore({ epoch, lastSeenIndex, prompts }: SavedTab): void {
    if (epoch === undefined || lastSeenIndex === undefined || !prompts) return;
    this.#epoch = epoch;
    this.#lastSeenIndex = lastSeenIndex;
    for (const prompt of prompts) this.#prompts.set(prompt.messageId, prompt);
  }

  /** A prompt goes out. */
  sent(messageId: string, prompt: string): void {
    this.#put({ messageId, prompt, parts: [], status: "sent" });
  }

  /** A prompt was refused. */
  refused(messageId: string, { code, message }: Failure): void {
    const prompt = this.#prompts.get(messageId);
    if (prompt) this.#put({ ...prompt, status: "failed", error: { code, message } });
  }

  /** The tab stands otherwise. */
  become(state: TabState, error?: Failure): void {
    if (this.#state === "closed" || (this.#state === state && this.#error === error)) return;
    this.#state = state;
    this.#error = error;
    this.#changed({ kind: "state" });
  }

  /** Takes one message. One that was seen, by its index, does nothing. */
  apply(message: TabParams): TabOutcome {
    if (message.epoch !== this.#epoch) {
      this.#epoch = message.epoch;
      this.#lastSeenIndex = 0;
    }
    if (message.index <= this.#lastSeenIndex) return "seen";
    this.#lastSeenIndex = message.index;
    switch (message.kind) {
      case "session-created":
        this.become("open");
        return "applied";
      case "response-chunk":
        return this.#stream(message.messageId, (answer) => {
          const { text, blockId, blocks, append } = message;
          const more = text ? withText(answer, text, blockId ?? undefined) : answer;
          return (blocks ?? []).reduce((so, block) => withBlock(so, block, append === true), more);
        });
      case "response-complete":
        return this.#end(message.messageId, { status: "complete", stopReason: message.stopReason });
      case "tool":
        return this.#stream(message.messageId, (answer) => withBlock(answer, message.block, false));
      case "permission":
        this.#permissions.set(message.permission.requestId, {
          permission: message.permission,
          status: message.status,
          ...(message.chosen == null ? {} : { chosen: message.chosen }),
          ...(message.client == null ? {} : { client: message.client }),
          ...(message.problem == null ? {} : { problem: message.problem }),
        });
        this.#changed({ kind: "permission", requestId: message.permission.requestId });
        return "applied";
      case "queue":
        this.#queue = message.items;
        this.#paused = message.paused;
        this.#changed({ kind: "queue" });
        return "applied";
      case "error": {
        const error = { code: message.code, message: message.message };
        if (message.messageId) return this.#end(message.messageId, { status: "failed", error });
        this.become(this.#state === "opening" ? "failed" : this.#state, error);
        return "applied";
      }
      case "agent-exited": {
        // What ran gets its own end; what waits goes on with the next process.
        const code = message.code === undefined || message.code === null ? "" : ` with code ${message.code}`;
        this.become("exited", { code: "agent_exited", message: `The agent ended${code}; restart it to go on.` });
        return "applied";
      }
      case "snapshot":
        this.#replace(message);
        return "applied";
      // Of a newer server: nothing that is shown here is about it.
      default:
        return "applied";
    }
  }

  #put(answer: TabAnswer): void {
    this.#prompts.set(answer.messageId, answer);
    this.#changed({ kind: "message", messageId: answer.messageId });
  }

  /** The prompt that a message of the server belongs to. An id whose answer is over leads nowhere (R001-44). */
  #live(messageId: string | null | undefined): TabAnswer | undefined {
    if (!messageId) return undefined;
    const answer = this.#prompts.get(messageId) ?? { messageId, parts: [], status: "sent" };
    return answer.status === "complete" || answer.status === "failed" ? undefined : answer;
  }

  #stream(messageId: string | null | undefined, change: (answer: TabAnswer) => TabAnswer): TabOutcome {
    const answer = this.#live(messageId);
    if (!answer) return "late";
    if (this.#state === "opening" || this.#state === "exited") this.become("open");
    const changed = change(answer);
    // The echo of a prompt is no answer yet.
    this.#put(changed.parts.length > 0 ? { ...changed, status: "streaming" } : changed);
    return "applied";
  }

  #end(messageId: string | null | undefined, end: Pick<TabAnswer, "status" | "stopReason" | "error">): TabOutcome {
    const answer = this.#live(messageId);
    if (!answer) return "late";
    this.#put({ ...answer, ...end });
    return "applied";
  }

  #replace({ view, messages, queue, paused, permissions, error }: Extract<TabParams, { kind: "snapshot" }>): void {
    const asked = new Map(this.#prompts);
    this.#prompts.clear();
    this.#permissions.clear();
    this.#view = view;
    this.#queue = queue ?? [];
    this.#paused = paused ?? false;
    for (const message of messages) {
      this.#prompts.set(message.messageId, fromView(message, view, asked.get(message.messageId)?.prompt));
    }
    // A prompt that crossed the snapshot on its way is in neither.
    for (const [messageId, answer] of asked) {
      if (answer.status === "sent" && !this.#prompts.has(messageId)) this.#prompts.set(messageId, answer);
    }
    for (const permission of permissions ?? []) {
      this.#permissions.set(permission.requestId, { permission, status: "pending" });
    }
    if (error) this.become("failed", { code: error.code, message: error.message });
    else if (this.#state === "opening" || this.#state === "failed") this.become("open");
    this.#changed({ kind: "everything" });
  }
}

/** The lane in which answers stand. */
const ANSWERS: Lane = "chat";

/** A prompt of a snapshot: its answer is what the server says is its, or else what its turn left in the view. */
function fromView(
  { messageId, turn, blockIds, status, stopReason }: TabPrompt,
  view: View,
  prompt: string | undefined,
): TabAnswer {
  const ids = blockIds ? new Set(blockIds) : undefined;
  const blocks = view.lanes[ANSWERS].blocks.filter((block) =>
    ids ? ids.has(block.id) : turn !== undefined && turn !== null && block.turn === turn,
  );
  const begun: TabAnswer = { messageId, ...(prompt === undefined ? {} : { prompt }), parts: [], status: "sent" };
  const answer = blocks.reduce((so, block) => withBlock(so, block, false), begun);
  if (status === "complete") return { ...answer, status: "complete", ...(stopReason ? { stopReason } : {}) };
  return answer.parts.length > 0 ? { ...answer, status: "streaming" } : answer;
}

/** Text goes to its block's part; without a block, to the text that is last. */
function withText(answer: TabAnswer, text: string, blockId: string | undefined): TabAnswer {
  const { parts } = answer;
  const at = blockId === undefined ? parts.length - 1 : placeOf(parts, blockId);
  const known = parts[at];
  if (known && "text" in known) return { ...answer, parts: replaced(parts, at, { ...known, text: known.text + text }) };
  if (blockId !== undefined && known && "block" in known)
    return { ...answer, parts: replaced(parts, at, longer(known.block, text)) };
  return { ...answer, parts: [...parts, blockId === undefined ? { text } : { text, blockId }] };
}

/** A block takes the place of the one with its id, or lengthens it; the `user` block of a prompt is what was asked. */
function withBlock(answer: TabAnswer, block: Block, append: boolean): TabAnswer {
  if (block.kind === "user") return { ...answer, prompt: append ? (answer.prompt ?? "") + block.text : block.text };
  const { parts } = answer;
  const at = placeOf(parts, block.id);
  if (append && at >= 0 && "text" in block && typeof block.text === "string") return withText(answer, block.text, block.id);
  const part = block.kind === "assistant" ? { text: block.text, blockId: block.id } : { block };
  return { ...answer, parts: at < 0 ? [...parts, part] : replaced(parts, at, part) };
}

function placeOf(parts: readonly AnswerPart[], id: string): number {
  return parts.findIndex((part) => ("block" in part ? part.block.id === id : part.blockId === id));
}

function replaced(parts: readonly AnswerPart[], at: number, part: AnswerPart): readonly AnswerPart[] {
  return parts.map((known, index) => (index === at ? part : known));
}

function longer(block: Block, text: string): AnswerPart {
  return "text" in block ? { block: { ...block, text: block.text + text } } : { block };
}

/** The text of an answer, without its blocks. */
export function answerText({ parts }: TabAnswer): string {
  return parts.map((part) => ("text" in part ? part.text : "")).join("");
}
