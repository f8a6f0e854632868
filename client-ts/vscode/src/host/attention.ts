/**
 * What calls for a look while nobody sees the view: asks that wait, turns that failed, and turns that ended.
 *
 * Owns what is told, once, and the badge at the view. An ask that came while the view was seen is not told of again when
 * it is hidden. Knows no VS Code; answers nothing.
 */
import { type Requests, resultFault, type ServerNotifications } from "@breadboard-ls/sdk";
import { l10n } from "vscode";

type State = ServerNotifications["bb/state"];
type Pending = Requests["bb/permission/list"]["result"]["pending"][number];

/** What the user wants to be told while the view is hidden. */
export interface Notify {
  readonly asks: boolean;
  readonly failures: boolean;
  readonly ends: boolean;
}

/** Blocks at the end of a conversation among which the end of its last turn is. */
const LAST_BLOCKS = 8;
/** How often the end of a turn is looked for, and how long apart: what is not there after that has no end that could be told. */
const MOST_TRIES = 5;
const BETWEEN_MS = 200;

/** Most asks that are remembered as told. */
const MOST_TOLD = 200;
/** Longest title in a notification: its beginning says what it is about. */
const TITLE = 120;

export interface AttentionPorts {
  /** Sends a request to the server. */
  ask(method: string, params: unknown): Promise<unknown>;
  /** Whether somebody sees the view. */
  visible(): boolean;
  /** The settings. */
  notify(): Notify;
  /** The number at the view, with words. */
  badge(count: number, words: string): void;
  /** Says something with one button; whether that was pressed. */
  say(sentence: string, button: string): Promise<boolean>;
  /** Shows an ask, or a session. */
  show(sessionId: string, requestId?: string): void;
  failed(sentence: string): void;
}

export class Attention {
  private readonly told = new Set<string>();
  private counts = new Map<string, number>();
  private statuses = new Map<string, string>();

  constructor(private readonly ports: AttentionPorts) {}

  /** The sessions as they stand; none where there is no server. */
  async heard(state: State | undefined): Promise<void> {
    const sessions = state?.sessions ?? [];
    const counts = new Map(sessions.map(({ sessionId, pendingPermissionCount }) => [sessionId, pendingPermissionCount ?? 0]));
    const rose = [...counts].some(([sessionId, count]) => count > (this.counts.get(sessionId) ?? 0));
    this.counts = counts;
    const waiting = [...counts.values()].reduce((sum, count) => sum + count, 0);
    this.ports.badge(waiting, waiting === 1 ? l10n.t("One request waits") : l10n.t("{0} requests wait", waiting));
    // Of a session that is not open here, as one of another client of a host, nothing is known but how it stands.
    const ended = sessions.filter(
      ({ sessionId, status, seq }) =>
        status === "idle" && seq != null && ["running", "waiting"].includes(this.statuses.get(sessionId) ?? ""),
    );
    this.statuses = new Map(sessions.map(({ sessionId, status }) => [sessionId, status ?? ""]));
    for (const session of ended) void this.turnEnded(session);
    if (rose) await this.tellAsks();
  }

  /** Shows the ask that waits longest; `false` where none does. */
  async showOldest(): Promise<boolean> {
    const [oldest] = await this.pending();
    if (oldest === undefined) return false;
    this.ports.show(oldest.sessionId, oldest.permission.requestId);
    return true;
  }

  private async tellAsks(): Promise<void> {
    const asks = (await this.pending()).filter((ask) => !this.told.has(nameOf(ask)));
    // Not before: the editor says a moment late that the view is hidden.
    const seen = this.ports.visible();
    for (const ask of asks) this.told.add(nameOf(ask));
    for (const name of this.told) {
      if (this.told.size <= MOST_TOLD) break;
      this.told.delete(name);
    }
    const [first, ...more] = asks;
    if (first === undefined || seen || !this.ports.notify().asks) return;
    const { title } = first.permission;
    const line = title.replaceAll(/\s+/g, " ").trim();
    const short = line.length > TITLE ? `${line.slice(0, TITLE - 1)}…` : line;
    const others = more.length === 0 ? "" : l10n.t(" (and {0} more)", more.length);
    if (await this.ports.say(l10n.t("The agent asks: {0}{1}", short, others), l10n.t("Show It")))
      this.ports.show(first.sessionId, first.permission.requestId);
  }

  private async turnEnded({ sessionId, title }: State["sessions"][number]): Promise<void> {
    const { failures, ends } = this.ports.notify();
    if (this.ports.visible() || !(failures || ends)) return;
    const turn = title == null || title === "" ? l10n.t("The turn") : l10n.t("The turn in “{0}”", title);
    const why = failures ? await this.failure(sessionId) : undefined;
    if (why === undefined && !ends) return;
    const what = why === undefined ? l10n.t("{0} has ended.", turn) : l10n.t("{0} failed. {1}", turn, why).trim();
    if (await this.ports.say(what, l10n.t("Show It"))) this.ports.show(sessionId);
  }

  /** Why the last turn of a session failed, as far as it is said; `undefined` where it did not. */
  private async failure(sessionId: string): Promise<string | undefined> {
    try {
      const blocks = await this.lastBlocks(sessionId);
      const end = blocks.findLast((block) => block.kind === "turn-end");
      if (end?.kind !== "turn-end" || end.outcome === "done" || end.outcome === "stopped") return undefined;
      const notice = blocks.findLast((block) => block.kind === "notice" && block.level === "error");
      const why = (end.text ?? (notice?.kind === "notice" ? notice.text : "")).replaceAll(/\s+/g, " ").trim();
      return why.length > 2 * TITLE ? `${why.slice(0, 2 * TITLE - 1)}…` : why;
    } catch {
      return undefined;
    }
  }

  /** The end of the chat, from the last prompt where that is in it, once it says how the turn ended: that may come behind its state. */
  private async lastBlocks(sessionId: string): Promise<Requests["bb/view/page"]["result"]["blocks"]> {
    for (let tries = 1; ; tries += 1) {
      const result = await this.ports.ask("bb/view/page", { sessionId, lane: "chat", limit: LAST_BLOCKS });
      if (resultFault("bb/view/page", result) !== undefined) return [];
      const { blocks } = result as Requests["bb/view/page"]["result"];
      const last = blocks.slice(Math.max(0, blocks.findLastIndex((block) => block.kind === "user")));
      if (last.some((block) => block.kind === "turn-end") || tries === MOST_TRIES) return last;
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
    }
  }

  /** Oldest first. */
  private async pending(): Promise<readonly Pending[]> {
    try {
      const result = await this.ports.ask("bb/permission/list", {});
      const fault = resultFault("bb/permission/list", result);
      if (fault !== undefined) throw new Error(fault);
      const { pending } = result as Requests["bb/permission/list"]["result"];
      return pending.toSorted((one, other) => one.askedAt - other.askedAt);
    } catch (error) {
      this.ports.failed(`What waits could not be read: ${error instanceof Error ? error.message : String(error)}`);
      return [];
    }
  }
}

function nameOf({ sessionId, permission }: Pending): string {
  return `${sessionId} ${permission.requestId}`;
}
