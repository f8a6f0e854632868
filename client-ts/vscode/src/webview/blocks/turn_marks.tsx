/**
 * The two lines of a turn in the chat: who answers and since when, and how it ended, how long it took and what it spent.
 *
 * Owns their words. A turn that did not come to its end says why, and what was asked can be sent again; where the chat has
 * said why already, the line says no more than that it ended so.
 */
import type { BlockOf } from "@breadboard-ls/sdk";
import { momentWords } from "../moment";
import { saysWhy } from "../transcript/rows";
import { ContinueTurn } from "./continue_turn";
import { Icon } from "./icon";
import { Retry } from "./retry";
import { Words } from "./words";
import { LOCALE, t } from "../messages";
import { wordOf } from "../../shared/word_of";

type End = BlockOf<"turn-end">;

/** What a person calls the engines that have no name of their own. */
const ENGINES: Readonly<Record<string, string>> = {
  embedded: t("Built-in engine"),
  breadboard: "BreadBoard",
  desktop: t("Desktop"),
};

/** What a person calls an engine; an agent is called by its own name. */
export function engineWords(kind: string): string {
  return wordOf(ENGINES, kind);
}

const ENDED = { done: t("Done"), stopped: t("The turn was stopped."), failed: t("The turn failed."), cut: t("The turn was cut off.") };
const ICON = { done: "check", stopped: "circle-slash", failed: "error", cut: "warning" };

export function TurnStart({ block }: { block: BlockOf<"turn-start"> }) {
  const { engine, model, startedAt } = block;
  const words = [
    engine == null ? undefined : engineWords(engine),
    model ?? undefined,
    startedAt == null ? undefined : momentWords(startedAt, Date.now()),
  ].filter((word) => word !== undefined);
  if (words.length === 0) return null;
  return (
    <p class="turn-mark" aria-label={t("Turn: {0}", words.join(", "))}>
      {words.join(" · ")}
    </p>
  );
}

export function TurnEnd({ block, prompt }: { block: End; prompt?: BlockOf<"user"> | undefined }) {
  const { outcome, text } = block;
  const spent = spentWords(block);
  if (!saysWhy(block))
    return (
      <p class={`turn-mark ${outcome}`} aria-label={t("How the turn ended")}>
        <Icon name={wordOf(ICON, outcome, "question")} /> {[wordOf(ENDED, outcome).replace(/\.$/, ""), ...spent].join(" · ")}
      </p>
    );
  return (
    <section class={outcome === "stopped" ? "notice stopped" : "notice warning"} aria-label={t("How the turn ended")}>
      <Icon name={wordOf(ICON, outcome, "question")} />
      <div>
        <span>
          <Words text={text ?? wordOf(ENDED, outcome)} />
        </span>
        {spent.length > 0 && <small class="hint">{spent.join(" · ")}</small>}
        <div class="buttons">
          {prompt !== undefined && outcome !== "stopped" && <ContinueTurn after="cut" />}
          <Retry prompt={prompt} label={t("Send it again")} />
        </div>
      </div>
    </section>
  );
}

/** How long it took and what it spent, as far as it is known. */
export function spentWords({ durationMs, inputTokens, outputTokens, totalTokens, cost }: End): readonly string[] {
  const words: string[] = [];
  if (durationMs != null) words.push(durationWords(durationMs));
  if (inputTokens != null && outputTokens != null)
    words.push(t("{0} tokens read, {1} written", counted(inputTokens), counted(outputTokens)));
  else if (totalTokens != null) words.push(t("{0} tokens", counted(totalTokens)));
  else if (inputTokens != null) words.push(t("{0} tokens read", counted(inputTokens)));
  else if (outputTokens != null) words.push(t("{0} tokens written", counted(outputTokens)));
  if (cost != null) words.push(costWords(cost));
  return words;
}

function durationWords(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 10) return t("{0} s", (Math.floor(seconds * 10) / 10).toFixed(1));
  const whole = Math.floor(seconds);
  return whole < 60 ? t("{0} s", whole) : t("{0} min {1} s", Math.floor(whole / 60), whole % 60);
}

function counted(number: number): string {
  return number.toLocaleString(LOCALE);
}

/** In the user's own way to write money, where the engine named a currency that there is. */
function costWords({ amount, currency }: { amount: number; currency: string }): string {
  try {
    return new Intl.NumberFormat(LOCALE, { style: "currency", currency, maximumSignificantDigits: 3 }).format(amount);
  } catch {
    return `${amount} ${currency}`.trim();
  }
}
