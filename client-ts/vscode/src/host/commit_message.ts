/**
 * A commit message from what is staged, written by whoever answers.
 *
 * Owns the prompt, and that the session it is asked in is gone afterwards. Commits nothing; the message goes into the field.
 */
import { type Requests, resultFault, type ServerNotifications } from "@breadboard-ls/sdk";
import * as vscode from "vscode";
import { l10n } from "vscode";
import { fencedDiff, repositoryOf } from "./git";

type State = ServerNotifications["bb/state"];

/** Longest diff that goes along, in characters: its beginning says what a change is about. */
const MOST_DIFF = 60_000;
/** How long an answer may take. */
const LONGEST_MS = 120_000;

export class CommitWriter {
  private readonly waiting = new Map<string, (status: string) => void>();

  constructor(private readonly ask: (method: string, params: unknown) => Promise<unknown>) {}

  /** The sessions as they stand. */
  heard(state: State): void {
    for (const { sessionId, status } of state.sessions) this.waiting.get(sessionId)?.(status ?? "idle");
  }

  /** `from`: what the view of the repository says about itself. */
  async write(from: unknown): Promise<void> {
    const repository = await repositoryOf(from);
    const staged = await repository.diff(true);
    const diff = staged.trim() === "" ? await repository.diff(false) : staged;
    if (diff.trim() === "") throw new Error(l10n.t("There is nothing to commit: stage a change first."));
    repository.inputBox.value = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.SourceControl, title: l10n.t("Writing the commit message") },
      () => this.answerTo(promptFor(diff)),
    );
  }

  private async answerTo(text: string): Promise<string> {
    const { sessionId } = (await this.ask("bb/createSession", {})) as Requests["bb/createSession"]["result"];
    try {
      const ended = this.ending(sessionId);
      await this.ask("bb/sendMessage", { sessionId, text, context: { exclude: ["*"] } });
      await ended;
      const page = await this.ask("bb/view/page", { sessionId, lane: "chat", limit: 20 });
      const fault = resultFault("bb/view/page", page);
      if (fault !== undefined) throw new Error(`The server's answer does not fit: ${fault}.`);
      return messageIn((page as Requests["bb/view/page"]["result"]).blocks);
    } finally {
      this.waiting.delete(sessionId);
      await this.ask("bb/deleteSession", { sessionId }).catch(() => undefined);
    }
  }

  /** Resolves when the turn of this session is over. */
  private ending(sessionId: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(l10n.t("No commit message came within two minutes; try again."))), LONGEST_MS);
      let ran = false;
      this.waiting.set(sessionId, (status) => {
        if (status === "waiting") reject(new Error(l10n.t("The agent asks something before it writes the message; ask for it in the chat.")));
        if (status === "running") ran = true;
        if (status === "waiting" || (ran && status !== "running")) {
          clearTimeout(timer);
          resolve();
        }
      });
    });
  }
}

function promptFor(diff: string): string {
  return (
    "Write the commit message for this change: a subject in the imperative of at most 72 characters, then, where it is needed, " +
    "a blank line and why. Answer with the message alone, and use no tools.\n\n" +
    fencedDiff(diff, MOST_DIFF)
  );
}

/** The message in an answer: what stands in a fence, where one does, without quotes around it. */
export function messageIn(blocks: Requests["bb/view/page"]["result"]["blocks"]): string {
  const answer = blocks.findLast((block) => block.kind === "assistant");
  const text = answer?.kind === "assistant" ? answer.text.trim() : "";
  if (text === "") {
    const notice = blocks.findLast((block) => block.kind === "notice" && block.level === "error");
    throw new Error(notice?.kind === "notice" ? notice.text : l10n.t("No commit message came; ask for it in the chat."));
  }
  const fenced = /^```\w*\n([\s\S]*?)\n```/m.exec(text)?.[1];
  return (fenced ?? text).replace(/^"([^"\n]*)"$/, "$1").trim();
}
