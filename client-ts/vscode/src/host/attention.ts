/**
 * What calls for a look while nobody sees the view: asks that wait, and turns that ended.
 *
 * Owns what is told, once, and the badge at the view. An ask that came while the view was seen is not told of again when
 * it is hidden. Knows no VS Code; answers nothing.
 */
import { type Requests, resultFault, type ServerNotifications } from "@breadboard-ls/sdk";

type State = ServerNotifications["bb/state"];
type Pending = Requests["bb/permission/list"]["result"]["pending"][number];

/** What the user wants to be told while the view is hidden. */
export type Notify = "asks" | "turns" | "none";

/** Most asks that are remembered as told. */
const MOST_TOLD = 200;
/** Longest title in a notification: its beginning says what it is about. */
const TITLE = 120;

export interface AttentionPorts {
  /** Sends a request to the server. */
  ask(method: string, params: unknown): Promise<unknown>;
  /** Whether somebody sees the view. */
  visible(): boolean;
  /** The setting: `turns` tells of asks too. */
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
    this.ports.badge(waiting, waiting === 1 ? "One request waits" : `${waiting} requests wait`);
    const ended = sessions.filter(
      ({ sessionId, status }) => status === "idle" && ["running", "waiting"].includes(this.statuses.get(sessionId) ?? ""),
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
    const seen = this.ports.visible();
    const asks = (await this.pending()).filter((ask) => !this.told.has(nameOf(ask)));
    for (const ask of asks) this.told.add(nameOf(ask));
    for (const name of this.told) {
      if (this.told.size <= MOST_TOLD) break;
      this.told.delete(name);
    }
    const [first, ...more] = asks;
    if (first === undefined || seen || this.ports.notify() === "none") return;
    const { title } = first.permission;
    const line = title.replaceAll(/\s+/g, " ").trim();
    const short = line.length > TITLE ? `${line.slice(0, TITLE - 1)}…` : line;
    const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
    if (await this.ports.say(`The agent asks: ${short}${others}`, "Show It"))
      this.ports.show(first.sessionId, first.permission.requestId);
  }

  private async turnEnded({ sessionId, title }: State["sessions"][number]): Promise<void> {
    if (this.ports.visible() || this.ports.notify() !== "turns") return;
    const what = title == null || title === "" ? "The turn has ended." : `The turn in “${title}” has ended.`;
    if (await this.ports.say(what, "Show It")) this.ports.show(sessionId);
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
