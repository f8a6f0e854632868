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

type End = BlockOf<"turn-end">;

/** What a person calls the engines that have no name of their own. */
const ENGINES: Readonly<Record<string, string>> = {
  embedded: "Built-in engine",
  breadboard: "BreadBoard",
  desktop: "Desktop",
};
const ENDED = { done: "Done", stopped: "The turn was stopped.", failed: "The turn failed.", cut: "The turn was cut off." };
const ICON = { done: "check", stopped: "circle-slash", failed: "error", cut: "warning" };

export function TurnStart({ block }: { block: BlockOf<"turn-start"> }) {
  const { engine, model, startedAt } = block;
  const words = [
    engine == null ? undefined : (ENGINES[engine] ?? engine),
    model ?? undefined,
    startedAt == null ? undefined : momentWords(startedAt, Date.now()),
  ].filter((word) => word !== undefined);
  if (words.length === 0) return null;
  return (
    <p class="turn-mark" aria-label={`Turn: ${words.join(", ")}`}>
      {words.join(" · ")}
    </p>
  );
}

export function TurnEnd({ block, prompt }: { block: End; prompt?: BlockOf<"user"> | undefined }) {
  const { outcome, text } = block;
  const spent = spentWords(block);
  if (!saysWhy(block))
    return (
      <p class={`turn-mark ${outcome}`} aria-label="How the turn ended">
        <Icon name={ICON[outcome]} /> {[ENDED[outcome].replace(/\.$/, ""), ...spent].join(" · ")}
      </p>
    );
  return (
    <section class={outcome === "stopped" ? "notice stopped" : "notice warning"} aria-label="How the turn ended">
      <Icon name={ICON[outcome]} />
      <div>
        <span>
          <Words text={text ?? ENDED[outcome]} />
        </span>
        {spent.length > 0 && <small class="hint">{spent.join(" · ")}</small>}
        <div class="buttons">
          {prompt !== undefined && outcome !== "stopped" && <ContinueTurn after="cut" />}
          <Retry prompt={prompt} label="Send it again" />
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
    words.push(`${counted(inputTokens)} tokens read, ${counted(outputTokens)} written`);
  else if (totalTokens != null) words.push(`${counted(totalTokens)} tokens`);
  else if (inputTokens != null) words.push(`${counted(inputTokens)} tokens read`);
  else if (outputTokens != null) words.push(`${counted(outputTokens)} tokens written`);
  if (cost != null) words.push(costWords(cost));
  return words;
}

function durationWords(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`;
  const whole = Math.floor(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function counted(number: number): string {
  return number.toLocaleString();
}

/** In the user's own way to write money, where the engine named a currency that there is. */
function costWords({ amount, currency }: { amount: number; currency: string }): string {
  try {
    return new Intl.NumberFormat(undefined, { style: "currency", currency, maximumSignificantDigits: 3 }).format(amount);
  } catch {
    return `${amount} ${currency}`.trim();
  }
}
