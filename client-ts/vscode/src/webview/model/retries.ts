/**
 * Sends a prompt again by itself, behind a countdown, where the engine certainly took nothing of it.
 *
 * Owns when: only what this page itself sent, in the session in front and while the page is seen, the last prompt of it,
 * where nothing runs and nothing waits, three times at most, and never behind a wait of more than two minutes. One countdown
 * at a time. Never decides whether something was taken: the server says so.
 */
import type { Block, BlockOf } from "@breadboard-ls/sdk";
import { computed, effect, signal, untracked } from "@preact/signals";
import type { OpenSession } from "./open_session";

type Notice = BlockOf<"notice">;
type UserPrompt = BlockOf<"user">;

/** How often a prompt is sent again by itself. */
export const MOST_TRIES = 3;
/** Longer waits are for a press. */
export const LONGEST_WAIT_MS = 120_000;
/** Where the answer names no wait, before the first try; each that follows waits twice as long. */
const FIRST_WAIT_MS = 5_000;

/** What the countdowns need of the rest of the page. */
export interface RetryPorts {
  /** The session in front. */
  session(): OpenSession | undefined;
  /** Whether a turn runs in it. */
  running(): boolean;
  /** How often a prompt was sent again by itself before; `undefined` where this page did not send it. */
  triesOf(messageId: string): number | undefined;
  /** Sends it again in the session in front. */
  again(prompt: UserPrompt, tries: number): Promise<void>;
  isHidden(): boolean;
}

interface Failed {
  readonly session: OpenSession;
  readonly notice: Notice;
  readonly prompt: UserPrompt;
}

/** The countdown that runs. */
export interface Countdown {
  /** Id of the notice that it stands on. */
  readonly noticeId: string;
  readonly seconds: number;
}

interface Running extends Failed {
  readonly key: string;
  readonly tries: number;
  left: number;
}

export class Retries {
  readonly countdown = signal<Countdown | undefined>(undefined);
  private readonly failed = computed(() => {
    const session = this.ports.session();
    if (session === undefined || this.ports.running() || session.queue.value.items.length > 0) return undefined;
    const found = lastFailure(session.blocks("chat"));
    return found && { session, ...found };
  });
  private current: Running | undefined;
  /** The last failure that was decided about: it is not counted down once more. */
  private decided: string | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly ports: RetryPorts) {
    effect(() => {
      const failed = this.failed.value;
      untracked(() => this.follow(failed));
    });
  }

  /** The user does not want it, or sends it himself. */
  cancel(): void {
    this.end();
  }

  private follow(failed: Failed | undefined): void {
    const key = failed && `${failed.session.sessionId} ${failed.notice.id} ${failed.prompt.messageId}`;
    if (key !== undefined && key === this.current?.key) return;
    this.end();
    if (failed === undefined || key === undefined || key === this.decided) return;
    const tries = this.ports.triesOf(failed.prompt.messageId ?? "");
    if (tries === undefined || tries >= MOST_TRIES || this.ports.isHidden()) return;
    const wait = failed.notice.retry?.afterMs ?? FIRST_WAIT_MS * 2 ** tries;
    if (wait > LONGEST_WAIT_MS) return;
    this.current = { ...failed, key, tries, left: Math.ceil(wait / 1_000) };
    this.show();
    this.timer = setInterval(() => this.tick(), 1_000);
  }

  private tick(): void {
    const { current } = this;
    if (current === undefined) return;
    if (this.ports.isHidden()) return this.end();
    current.left -= 1;
    if (current.left > 0) return this.show();
    this.end();
    void this.ports.again(current.prompt, current.tries + 1);
  }

  private show(): void {
    const { current } = this;
    this.countdown.value = current && { noticeId: current.notice.id, seconds: current.left };
  }

  private end(): void {
    clearInterval(this.timer);
    if (this.current !== undefined) this.decided = this.current.key;
    this.current = undefined;
    this.countdown.value = undefined;
  }
}

/** Whether what failed may be sent again without anybody's word. */
export function maySendItself({ level, retry }: Notice): boolean {
  return level === "error" && retry?.taken === "no" && retry.when === "later";
}

/** The failure at the end of a chat that may be tried again, with its prompt. */
function lastFailure(blocks: readonly Block[]): { notice: Notice; prompt: UserPrompt } | undefined {
  let notice: Notice | undefined;
  for (let at = blocks.length - 1; at >= 0; at -= 1) {
    const block = blocks[at];
    switch (block?.kind) {
      case "notice":
        if (block.level !== "error") break;
        if (notice !== undefined || !maySendItself(block)) return undefined;
        notice = block;
        break;
      case "user":
        return notice && { notice, prompt: block };
      case "assistant":
      case "tool":
      case "patch":
      case "permission":
        // Something was done.
        return undefined;
      default:
    }
  }
  return undefined;
}
