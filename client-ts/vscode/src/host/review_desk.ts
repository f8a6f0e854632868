/**
 * The edits that wait for an answer and can be decided change by change, and what was chosen of each change so far.
 *
 * Owns the choices, one set for the editor and the page, until all of them are sent at once; that is also when an edit is
 * gone from here, whoever answered it. Knows no VS Code; writes nothing: the server does.
 */
import { type Requests, resultFault, type ServerNotifications } from "@breadboard-ls/sdk";
import { l10n } from "vscode";

export type Patch = Requests["bb/patch/get"]["result"]["patch"];
export type PatchFile = Patch["files"][number];
export type PatchHunk = PatchFile["hunks"][number];
export type Choice = "accepted" | "rejected";

function isChoice(state: string): state is Choice {
  return state === "accepted" || state === "rejected";
}
type State = ServerNotifications["bb/state"];

/** An edit that waits. */
export interface Review {
  readonly sessionId: string;
  readonly patch: Patch;
  readonly choices: ReadonlyMap<string, Choice>;
}

export interface ReviewPorts {
  /** Sends a request to the server. */
  ask(method: string, params: unknown): Promise<unknown>;
  /** Whether the server announced the method. */
  announced(method: string): boolean;
  /** An edit came, something was chosen of it, or it waits no more. `chosen`: only these changes of it are others. */
  changed(patchId: string, chosen: readonly string[]): void;
}

/** Most edits that are read at once: an agent asks for one after the other. */
const MOST_WAITING = 20;

export class ReviewDesk {
  private readonly reviews = new Map<string, { sessionId: string; patch: Patch; choices: Map<string, Choice> }>();
  private looking: Promise<void> = Promise.resolve();
  private looksAgain = false;

  constructor(private readonly ports: ReviewPorts) {}

  get(patchId: string): Review | undefined {
    return this.reviews.get(patchId);
  }

  all(): readonly Review[] {
    return [...this.reviews.values()];
  }

  /** The sessions as they stand: looks which edits wait. */
  heard(state: State | undefined): Promise<void> {
    if (this.looksAgain) return this.looking;
    this.looksAgain = true;
    this.looking = this.looking.then(() => {
      this.looksAgain = false;
      return this.look(state);
    });
    return this.looking;
  }

  /** The edit of this name, while it waits. */
  async open(sessionId: string, patchId: string): Promise<Review | undefined> {
    return this.reviews.get(patchId) ?? (await this.read(sessionId, patchId));
  }

  /** Chooses, or takes a choice back. What was decided at the server stays. */
  choose(patchId: string, ids: readonly string[], choice: Choice | undefined): void {
    const review = this.reviews.get(patchId);
    if (review === undefined) return;
    const open = hunksOf(review.patch).filter(({ id, state }) => ids.includes(id) && state === "proposed");
    for (const { id } of open) {
      if (choice === undefined) review.choices.delete(id);
      else review.choices.set(id, choice);
    }
    if (open.length > 0) this.ports.changed(patchId, open.map(({ id }) => id));
  }

  /** Sends what was chosen of every change; throws where something is not chosen yet, or the server refuses. */
  async send(patchId: string): Promise<string> {
    const review = this.reviews.get(patchId);
    if (review === undefined) throw new Error(l10n.t("This edit waits for no answer any more."));
    const hunks = hunksOf(review.patch).map(({ id }) => ({ id, choice: review.choices.get(id) }));
    const left = hunks.filter(({ choice }) => choice === undefined).length;
    if (left > 0) throw new Error(l10n.t("{0} of {1} changes are to be decided first.", left, hunks.length));
    const result = await this.ports.ask("bb/patch/decide", {
      patchId,
      sessionId: review.sessionId,
      scope: "hunk",
      hunks: hunks.map(({ id, choice }) => ({ id, accepted: choice === "accepted" })),
      digest: review.patch.digest,
    });
    const fault = resultFault("bb/patch/decide", result);
    if (fault !== undefined) throw new Error(`The server's answer about this edit does not fit: ${fault}.`);
    this.drop(patchId);
    const { files } = result as Requests["bb/patch/decide"]["result"];
    const conflicts = files.filter(({ outcome }) => outcome === "conflict");
    if (conflicts.length > 0)
      throw new Error(conflicts.map(({ filePath, message }) => message ?? l10n.t("{0} was left as it is.", filePath)).join(" "));
    return saidOf(review.choices);
  }

  private async look(state: State | undefined): Promise<void> {
    const waits = (state?.sessions ?? []).filter(
      ({ pendingPermissionCount, heldBy }) => (pendingPermissionCount ?? 0) > 0 && heldBy == null,
    );
    const found = new Set<string>();
    if (this.ports.announced("bb/patch/list") && this.ports.announced("bb/patch/decide"))
      for (const { sessionId } of waits) {
        for (const patchId of await this.waitingIn(sessionId)) {
          found.add(patchId);
          if (!this.reviews.has(patchId)) await this.read(sessionId, patchId);
        }
      }
    // One that was opened meanwhile is in no list that was read before.
    for (const [patchId, { sessionId }] of [...this.reviews])
      if (!found.has(patchId) && (await this.read(sessionId, patchId)) === undefined) this.drop(patchId);
  }

  private async waitingIn(sessionId: string): Promise<readonly string[]> {
    try {
      const { patches } = (await this.ports.ask("bb/patch/list", { sessionId })) as Requests["bb/patch/list"]["result"];
      return patches.filter(({ status }) => status === "pending").slice(-MOST_WAITING).map(({ patchId }) => patchId);
    } catch {
      // It is asked for again with the next word of the server.
      return [];
    }
  }

  private async read(sessionId: string, patchId: string): Promise<Review | undefined> {
    let patch: Patch;
    try {
      const result = await this.ports.ask("bb/patch/get", { sessionId, patchId });
      if (resultFault("bb/patch/get", result) !== undefined) return undefined;
      ({ patch } = result as Requests["bb/patch/get"]["result"]);
    } catch {
      return undefined;
    }
    // One that waits and has nothing left to decide is being written.
    if (patch.status !== "pending" || hunksOf(patch).every(({ state }) => state !== "proposed")) return undefined;
    const known = this.reviews.get(patchId);
    const choices = known?.choices ?? new Map<string, Choice>();
    for (const { id, state } of hunksOf(patch)) if (isChoice(state)) choices.set(id, state);
    const review = { sessionId, patch, choices };
    this.reviews.set(patchId, review);
    if (known === undefined) this.ports.changed(patchId, []);
    return review;
  }

  private drop(patchId: string): void {
    if (this.reviews.delete(patchId)) this.ports.changed(patchId, []);
  }
}

export function hunksOf(patch: Patch): readonly PatchHunk[] {
  return patch.files.flatMap(({ hunks }) => hunks);
}

/** How many changes there are, how many are to be decided, and how many are accepted. */
export function countsOf({ patch, choices }: Review): { all: number; left: number; accepted: number } {
  const hunks = hunksOf(patch);
  const accepted = hunks.filter(({ id }) => choices.get(id) === "accepted").length;
  return { all: hunks.length, left: hunks.filter(({ id }) => !choices.has(id)).length, accepted };
}

/** What sending does, in words. */
export function sendWords({ all, left, accepted }: ReturnType<typeof countsOf>): string {
  if (left > 0) return all === 1 ? l10n.t("1 of 1 change to decide") : l10n.t("{0} of {1} changes to decide", left, all);
  if (accepted === 0) return all === 1 ? l10n.t("Reject the change") : l10n.t("Reject all {0} changes", all);
  if (accepted === all) return all === 1 ? l10n.t("Accept the change") : l10n.t("Accept all {0} changes", all);
  return l10n.t("Accept {0} of {1} changes", accepted, all);
}

function saidOf(choices: ReadonlyMap<string, Choice>): string {
  const accepted = [...choices.values()].filter((choice) => choice === "accepted").length;
  return choices.size === 1 ? l10n.t("{0} of 1 change accepted.", accepted) : l10n.t("{0} of {1} changes accepted.", accepted, choices.size);
}
