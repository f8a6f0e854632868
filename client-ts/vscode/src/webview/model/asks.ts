/**
 * What the agent asks and what is allowed without being asked.
 *
 * Owns the answers and the list of rules. Decides nothing: a user does, for what stood on the screen.
 */
import type { BreadboardClient, Permission, Requests } from "@breadboard-ls/sdk";
import { signal } from "@preact/signals";
import type { OpenTabs } from "./open_tabs";
import type { Sentences } from "./sentences";

export class Asks {
  /** What is allowed without being asked; `undefined` until it was read. */
  readonly rules = signal<Requests["bb/permission/list"]["result"]["rules"] | undefined>(undefined);

  /** The ask that the page puts the focus on, and when it was told to. */
  readonly brought = signal<{ readonly requestId: string; readonly at: number } | undefined>(undefined);

  constructor(
    private readonly client: BreadboardClient,
    private readonly tabs: OpenTabs,
    private readonly sentences: Sentences,
  ) {}

  /** Puts the focus on an ask that waits. */
  bring(requestId: string): void {
    this.brought.value = { requestId, at: performance.now() };
  }

  /** Answers an ask. The digest says what was on the screen. */
  async answer(
    permission: Permission,
    decision: "allow_once" | "deny" | "allow_rule",
    optionId: string,
    ruleUpdate?: { pattern?: string; scope?: "session" | "workspace" },
  ): Promise<void> {
    const sessionId = this.tabs.activeId.value;
    if (sessionId === undefined) return;
    await this.sentences.attempt(async () => {
      const answer = await this.client.request("bb/approvePermission", {
        sessionId,
        requestId: permission.requestId,
        decision,
        optionId,
        digest: permission.digest,
        ...(ruleUpdate === undefined ? {} : { ruleUpdate }),
      });
      if (answer.outcome === "already_resolved")
        this.sentences.alert(
          `This was answered before${answer.resolvedBy ? ` (by: ${answer.resolvedBy})` : ""}: ` +
            `${answer.resolution ?? "settled"}.`,
        );
    });
  }

  readRules(): Promise<void> {
    return this.sentences.attempt(async () => {
      this.rules.value = (await this.client.request("bb/permission/list", {})).rules;
    });
  }

  async revokeRule(ruleId: string, pattern: string): Promise<void> {
    await this.sentences.attempt(async () => {
      await this.client.request("bb/permission/revoke", { ruleId });
      this.sentences.say(`The rule ${pattern} was taken back.`);
    });
    // Also after a refusal: another window may have been faster.
    await this.readRules();
  }
}
