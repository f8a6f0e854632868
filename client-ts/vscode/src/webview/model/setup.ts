/**
 * The choice of who answers, as the page has it: what there is, what is being tried, and what that found.
 *
 * Owns that one thing is tried at a time and an answer that comes late is not mistaken for a newer one's. Holds no key.
 */
import { signal } from "@preact/signals";
import type { SetupChosen, SetupFound, SetupLook, SetupWish } from "../../shared/setup";
import type { HostLink } from "../host_link";
import { type Sentences, sentenceOf } from "./sentences";
import { t } from "../messages";

/** What is tried, by the row that it stands in. */
export interface Trial {
  readonly row: string;
  readonly wish: SetupWish;
  /** Absent while it is tried. */
  readonly found?: SetupFound;
}

/** The provider whose programs need no key and may run here. */
const LOCAL = "ollama";

export class SetupModel {
  /** Whether somebody asked for it. */
  readonly open = signal(false);
  readonly look = signal<SetupLook | undefined>(undefined);
  /** The models of Ollama, where it answers on this machine. */
  readonly local = signal<SetupFound | undefined>(undefined);
  readonly trial = signal<Trial | undefined>(undefined);
  readonly choosing = signal(false);
  private tries = 0;

  constructor(
    private readonly link: () => Pick<HostLink, "editor">,
    private readonly sentences: Sentences,
    /** What is known of the engine is old. */
    private readonly chosen: () => Promise<void>,
  ) {}

  /** Looks at what there is. */
  read(): Promise<void> {
    return this.sentences.attempt(async () => {
      const local = this.ask({ kind: "model", provider: LOCAL }, false).catch(() => ({ ok: false }));
      this.look.value = (await this.link().editor("editor.setupLook")) as SetupLook;
      this.local.value = await local;
    });
  }

  async check(row: string, wish: SetupWish, anew = false): Promise<void> {
    const mine = (this.tries += 1);
    this.trial.value = { row, wish };
    this.sentences.say(t("Trying it."));
    const found = await this.ask(wish, anew).catch((error: unknown) => ({ ok: false, problem: sentenceOf(error) }));
    if (this.tries !== mine) return;
    this.trial.value = "cancelled" in found && found.cancelled === true ? undefined : { row, wish, found };
    this.sentences.say(found.ok ? t("It works.") : "");
  }

  async choose(wish: SetupWish): Promise<void> {
    if (this.choosing.value) return;
    this.choosing.value = true;
    await this.sentences.attempt(async () => {
      const { counts } = (await this.link().editor("editor.setupChoose", { wish })) as SetupChosen;
      this.trial.value = undefined;
      this.open.value = false;
      if (counts === "now") await this.chosen();
      if (counts === "later")
        throw new Error(t("It is chosen, and counts once the server was restarted; a turn runs, so that waits for you."));
      this.sentences.say(t("It is chosen."));
    });
    this.choosing.value = false;
  }

  close(): void {
    this.tries += 1;
    this.trial.value = undefined;
    this.open.value = false;
  }

  private ask(wish: SetupWish, anew: boolean): Promise<SetupFound> {
    return this.link().editor("editor.setupCheck", { wish, anew }) as Promise<SetupFound>;
  }
}
