/**
 * What turns changed in the files: told by the server, marked here, and taken back by it.
 *
 * Owns the requests, and what is said of how one went. Decides nothing: a user saw first what taking back does.
 */
import type { BreadboardClient, Requests } from "@breadboard-ls/sdk";
import type { OpenTabs } from "./open_tabs";
import type { Sentences } from "./sentences";
import { t } from "../messages";

export type TurnChanges = Requests["bb/turn/changes"]["result"];
export type TurnFile = TurnChanges["files"][number];
export type Reverted = Requests["bb/turn/revert"]["result"];
export type RevertedFile = Reverted["files"][number];
export type ReviewMark = TurnFile["review"];

/** A file of a turn, or all of them. */
export type Which = Pick<TurnFile, "filePath" | "root"> | undefined;

export class TurnDesk {
  constructor(
    private readonly client: BreadboardClient,
    private readonly tabs: OpenTabs,
    private readonly sentences: Sentences,
  ) {}

  /** The files as they stand now; absent where that could not be had, which was said. */
  async changes(turn: number): Promise<TurnChanges | undefined> {
    return this.asked((sessionId) => this.client.request("bb/turn/changes", { sessionId, turn }));
  }

  async mark(turn: number, which: Which, mark: ReviewMark): Promise<void> {
    await this.asked((sessionId) => this.client.request("bb/turn/review", { sessionId, turn, ...of(which), mark }));
  }

  /** What taking back would do. */
  async preview(turn: number, which: Which): Promise<Reverted | undefined> {
    return this.asked((sessionId) =>
      this.client.request("bb/turn/revert", { sessionId, turn, ...of(which), preview: true }),
    );
  }

  /** Takes it back, and says what became of each file. */
  async takeBack(turn: number, which: Which): Promise<Reverted | undefined> {
    const done = await this.asked((sessionId) => this.client.request("bb/turn/revert", { sessionId, turn, ...of(which) }));
    if (done === undefined) return undefined;
    const back = done.files.filter(({ outcome }) => outcome === "reverted").length;
    if (back > 0) this.sentences.say(back === 1 ? t("1 file taken back.") : t("{0} files taken back.", back));
    for (const file of done.files)
      if (file.outcome === "conflict") this.sentences.alert(t("{0} was left as it is: {1}", nameOf(file), file.message ?? t("it changed since.")));
    return done;
  }

  private async asked<T>(ask: (sessionId: string) => Promise<T>): Promise<T | undefined> {
    const sessionId = this.tabs.activeId.value;
    let result: T | undefined;
    if (sessionId !== undefined)
      await this.sentences.attempt(async () => {
        result = await ask(sessionId);
      });
    return result;
  }
}

export function nameOf({ filePath, root }: { filePath: string; root?: string | null }): string {
  return root == null ? filePath : `${root}/${filePath}`;
}

function of(which: Which): { filePath?: string; root?: string } {
  return which === undefined ? {} : { filePath: which.filePath, ...(which.root == null ? {} : { root: which.root }) };
}
