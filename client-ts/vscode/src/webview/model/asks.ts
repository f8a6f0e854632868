/**
 * What the agent asks and what is allowed without being asked.
 *
 * Owns the answers and the list of rules. Decides nothing: a user does, for what stood on the screen.
 */
import {
  type BreadboardClient,
  choiceOf,
  type Permission,
  type PermissionOption,
  type Requests,
  type RuleUpdate,
  type Subject,
} from "@breadboard-ls/sdk";
import { signal } from "@preact/signals";
import type { EditorMethod } from "../../shared/page_methods";
import type { OpenTabs } from "./open_tabs";
import type { Sentences } from "./sentences";
import { said, t } from "../messages";

/** What goes with an answer. */
export interface AnswerDetails {
  /** How the rule of the option was narrowed. */
  readonly ruleUpdate?: RuleUpdate | undefined;
  /** What was filled in. */
  readonly content?: Record<string, unknown> | undefined;
}

/** An edit with its changes. */
export type Patch = Requests["bb/patch/get"]["result"]["patch"];
export type PatchHunk = Patch["files"][number]["hunks"][number];

/** An ask that is brought to the user, and since when. */
export interface Brought {
  readonly requestId: string;
  readonly at: number;
}

/** What is chosen of a change. */
export type HunkChoice = "accepted" | "rejected" | "none";

/** Most edits whose choices are remembered: one waits at a time, and the answer to it forgets nothing. */
const MOST_CHOSEN = 50;

/** So long an ask may take until it is drawn: its page may have to be made and its session attached. */
const MOST_WAIT_MS = 10_000;

export class Asks {
  /** What is allowed without being asked; `undefined` until it was read. */
  readonly rules = signal<Requests["bb/permission/list"]["result"]["rules"] | undefined>(undefined);

  /** What is done without asking by the user's settings, and where commands run; `undefined` until it was read. */
  readonly approvals = signal<Requests["bb/permission/list"]["result"]["approvals"] | undefined>(undefined);

  /** What was chosen of the changes of edits that wait, by the edit and the change; the editor has the same. */
  readonly chosen = signal<ReadonlyMap<string, ReadonlyMap<string, boolean>>>(new Map());

  /** The ask that the page puts the focus on, and when it was told to. */
  readonly brought = signal<Brought | undefined>(undefined);
  /** The one that had the focus already. */
  private focused: Brought | undefined;

  constructor(
    private readonly client: BreadboardClient,
    private readonly editor: (method: EditorMethod, params: Record<string, unknown>) => Promise<unknown>,
    private readonly tabs: OpenTabs,
    private readonly sentences: Sentences,
  ) {}

  /** Puts the focus on an ask that waits. */
  bring(requestId: string): void {
    this.brought.value = { requestId, at: performance.now() };
  }

  /** The ask that is still to get the focus: not one of long ago, when the user is elsewhere by now. */
  toFocus(): Brought | undefined {
    const brought = this.brought.value;
    const isOld = brought !== undefined && performance.now() - brought.at > MOST_WAIT_MS;
    return isOld || brought === this.focused ? undefined : brought;
  }

  /** It has the focus now. */
  hasFocus(brought: Brought): void {
    this.focused = brought;
  }

  /** An ask with nothing of its subject cut; throws where it cannot be had, or is not the one that was shown. */
  async whole(shown: Permission): Promise<Subject> {
    const sessionId = this.tabs.activeId.value;
    if (sessionId === undefined) throw new Error(t("No session is open; open the one that asks."));
    const { requestId, digest } = shown;
    const { permission } = await this.client.request("bb/permission/get", { sessionId, requestId });
    if (permission.requestId !== requestId || permission.digest !== digest)
      throw new Error(t("What is asked is not what was shown; reload the page, or deny."));
    if (isCut(permission.subject))
      throw new Error(t("The server does not have all of it; deny, and have the agent ask again."));
    return permission.subject;
  }

  /** Answers an ask. The digest says what was on the screen. */
  async answer(
    permission: Permission,
    option: PermissionOption,
    { ruleUpdate, content }: AnswerDetails = {},
  ): Promise<void> {
    const sessionId = this.tabs.activeId.value;
    if (sessionId === undefined) return;
    await this.sentences.attempt(async () => {
      const answer = await this.client.request("bb/approvePermission", {
        sessionId,
        requestId: permission.requestId,
        ...choiceOf(option),
        digest: permission.digest,
        ...(ruleUpdate === undefined ? {} : { ruleUpdate }),
        ...(content === undefined ? {} : { content }),
      });
      const by = answer.client?.name ?? answer.resolvedBy;
      if (answer.outcome === "already_resolved")
        throw new Error(
          t("This was answered before{0}: ", by == null ? "" : t(" (by: {0})", by)) +
            `${answer.resolution ?? "settled"}.`,
        );
    });
  }

  /** The changes of the edit that was shown; throws where it cannot be decided change by change. */
  async patchOf({ patchId, digest }: Permission): Promise<Patch> {
    const sessionId = this.tabs.activeId.value;
    if (sessionId === undefined || patchId == null) throw new Error(t("No session is open; open the one that asks."));
    const { patch } = await this.client.request("bb/patch/get", { sessionId, patchId });
    if (patch.digest !== digest) throw new Error(t("What is asked is not what was shown; reload the page, or deny."));
    // What was chosen in the editor, or before the page was made anew.
    const { choices } = (await this.editor("editor.hunkChoices", { sessionId, patchId })) as {
      choices?: readonly { id: string; choice: HunkChoice }[];
    };
    for (const { id, choice } of choices ?? []) this.note(patchId, id, choice);
    return patch;
  }

  /** Chooses for one change of an edit, or takes the choice back; the editor is told. */
  choose(patchId: string, hunkId: string, accept: boolean | undefined): void {
    const choice = accept === undefined ? "none" : accept ? "accepted" : "rejected";
    this.note(patchId, hunkId, choice);
    void this.sentences.attempt(async () => void (await this.editor("editor.chooseHunk", { patchId, hunkId, choice })));
  }

  /** A choice was made here or in the editor. */
  note(patchId: string, hunkId: string, choice: HunkChoice): void {
    const all = new Map(this.chosen.value);
    const of = new Map(all.get(patchId));
    if (choice === "none") of.delete(hunkId);
    else of.set(hunkId, choice === "accepted");
    // The oldest are of edits that were answered long ago.
    for (const old of [...all.keys()].slice(0, Math.max(0, all.size - MOST_CHOSEN))) all.delete(old);
    this.chosen.value = all.set(patchId, of);
  }

  /** Decides on every change of an edit: those that are made, by their ids. Says which file was left as it is. */
  async decideHunks({ patchId, sessionId, digest }: Patch, made: ReadonlyMap<string, boolean>): Promise<void> {
    await this.sentences.attempt(async () => {
      const hunks = [...made].map(([id, accepted]) => ({ id, accepted }));
      const { files } = await this.client.request("bb/patch/decide", { patchId, sessionId, scope: "hunk", hunks, digest });
      const left = files.filter(({ outcome }) => outcome === "conflict");
      if (left.length > 0) throw new Error(left.map(({ filePath, message }) => `${filePath}: ${said(message ?? "")}`).join("\n"));
    });
  }

  /** Takes what was made of an edit out of the files again, and says what became of each. */
  async revert(patchId: string): Promise<void> {
    const sessionId = this.tabs.activeId.value;
    if (sessionId === undefined) return;
    await this.sentences.attempt(async () => {
      const { files } = await this.client.request("bb/patch/revert", { patchId, sessionId });
      const told = files.flatMap(({ filePath, outcome, message }) => {
        if (outcome === "reverted" && message == null) return [t("{0}: what this edit changed was taken back.", filePath)];
        return message == null ? [] : [t("{0} was left as it is: {1}", filePath, said(message))];
      });
      this.sentences.say(told.join(" "));
    });
  }

  readRules(): Promise<void> {
    return this.sentences.attempt(async () => {
      const { rules, approvals } = await this.client.request("bb/permission/list", {});
      this.rules.value = rules;
      this.approvals.value = approvals;
    });
  }

  async revokeRule(ruleId: string, pattern: string): Promise<void> {
    await this.sentences.attempt(async () => {
      await this.client.request("bb/permission/revoke", { ruleId });
      this.sentences.say(t("The rule {0} was taken back.", pattern));
    });
    // Also after a refusal: another window may have been faster.
    await this.readRules();
  }
}

/** Whether a part of a subject is not here. */
export function isCut(subject: Subject): boolean {
  return (
    subject.truncated === true ||
    (subject.kind === "edit" && subject.files.some(({ truncated }) => truncated === true))
  );
}
