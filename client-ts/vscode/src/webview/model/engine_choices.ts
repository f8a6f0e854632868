/**
 * What can be chosen of an engine or an agent: model, mode, options, commands, and to start an agent again.
 *
 * Owns the list of models. What the agent of a session offers stands in its session's `info`; here it is only chosen.
 */
import type { BreadboardClient, ModelsListResult } from "@breadboard-ls/sdk";
import { signal } from "@preact/signals";
import type { OpenTabs } from "./open_tabs";
import type { Sentences } from "./sentences";
import { t } from "../messages";

export class EngineChoices {
  readonly models = signal<ModelsListResult | undefined>(undefined);
  /** An agent is being started again. */
  readonly restarting = signal(false);

  constructor(
    private readonly client: BreadboardClient,
    private readonly tabs: OpenTabs,
    private readonly sentences: Sentences,
  ) {}

  readModels(): Promise<void> {
    return this.sentences.attempt(async () => {
      this.models.value = await this.client.request("bb/models/list", {});
    });
  }

  setModel(id: string): Promise<void> {
    const entry = this.models.value?.models.find((model) => model.id === id);
    return this.sentences.attempt(async () => {
      const { current } = await this.client.request("bb/models/set", {
        name: id,
        ...(entry?.provider == null ? {} : { provider: entry.provider }),
      });
      this.models.value = { models: this.models.value?.models ?? [], ...(current == null ? {} : { current }) };
    });
  }

  async command(command: string, args: Record<string, unknown> = {}): Promise<void> {
    const sessionId = this.tabs.activeId.value;
    if (sessionId === undefined) return;
    await this.sentences.attempt(async () => {
      await this.client.request("bb/command", { sessionId, command, args });
    });
  }

  /** Chooses a mode of the agent in front. */
  setMode(modeId: string): Promise<void> {
    return this.choose("set_mode", { modeId });
  }

  /** Sets an option of the agent in front: a choice by its id, or a switch. */
  setOption(configId: string, value: string | boolean): Promise<void> {
    return this.choose("set_config_option", { configId, value });
  }

  /** Logs in at the agent in front, in one of its ways; whether it was taken. */
  async logIn(methodId: string): Promise<boolean> {
    const session = this.tabs.active.value;
    if (session === undefined) return false;
    const { sessionId } = session;
    let taken = false;
    await this.sentences.attempt(async () => {
      await this.client.request("bb/command", { sessionId, command: "authenticate", args: { methodId } });
      taken = true;
    });
    await session.readInfo();
    return taken;
  }

  /** Starts an agent anew, after it ended or when it hangs; without a name, that of the settings. */
  async restartAgent(agent?: string): Promise<void> {
    if (this.restarting.value) return;
    this.restarting.value = true;
    await this.sentences.attempt(async () => {
      await this.client.request("bb/agent/restart", agent === undefined ? {} : { agent });
      this.sentences.say(t("The agent is started again."));
    });
    this.restarting.value = false;
    await Promise.all(
      this.tabs.all.value.map(async ({ session }) => {
        const name = session.value?.info.value.agent?.name;
        if (name !== undefined && (agent === undefined || name === agent)) await session.value?.readInfo();
      }),
    );
  }

  private async choose(command: string, args: Record<string, unknown>): Promise<void> {
    const session = this.tabs.active.value;
    await this.command(command, args);
    // Also after a refusal: what is shown must be what is.
    await session?.readInfo();
  }
}
