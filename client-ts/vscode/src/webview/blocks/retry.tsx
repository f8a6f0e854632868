/**
 * Sends what was asked once more.
 *
 * Owns when: where nothing runs, where the same can succeed at all, and once for each press. Where the page counts down to
 * it, that can be seen and called off; the countdown itself is the model's.
 */
import type { BlockOf, Retry as RetryAdvice } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { useModel } from "../model/context";
import { LONGEST_WAIT_MS } from "../model/retries";
import { t } from "../messages";

interface RetryProps {
  readonly prompt: BlockOf<"user"> | undefined;
  readonly label: string;
  /** What is known of sending it again. */
  readonly advice?: RetryAdvice | null | undefined;
  /** The notice that it stands on. */
  readonly noticeId?: string;
}

export function Retry({ prompt, label, advice, noticeId }: RetryProps) {
  const model = useModel();
  const [sending, setSending] = useState(false);
  if (prompt === undefined || model.running.value || advice?.when === "never") return null;
  const again = async (): Promise<void> => {
    if (sending) return;
    model.retries.cancel();
    setSending(true);
    await model.prompts.again(prompt);
    setSending(false);
  };
  const countdown = model.retries.countdown.value;
  const counts = countdown !== undefined && countdown.noticeId === noticeId;
  const long = advice?.when === "later" && (advice.afterMs ?? 0) > LONGEST_WAIT_MS;
  return (
    <>
      <button type="button" class="secondary" aria-disabled={sending} onClick={() => void again()}>
        {counts ? t("Retry now") : label}
      </button>
      {counts && (
        <>
          <button type="button" class="secondary" onClick={() => model.retries.cancel()}>
            {t("Do not retry")}
          </button>
          <span class="hint" role="timer">
            {t("Retrying in {0} s", countdown.seconds)}
          </span>
        </>
      )}
      {long && (
        <span class="hint">
          {t("It asks to wait {0} min, so it is not tried again by itself.", Math.ceil((advice.afterMs ?? 0) / 60_000))}
        </span>
      )}
    </>
  );
}
