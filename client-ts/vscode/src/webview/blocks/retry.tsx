/**
 * Sends what was asked once more.
 *
 * Owns when: where nothing runs, and once for each press. Nothing is sent by itself.
 */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { useModel } from "../model/context";

export function Retry({ prompt, label }: { prompt: BlockOf<"user"> | undefined; label: string }) {
  const model = useModel();
  const [sending, setSending] = useState(false);
  if (prompt === undefined || model.running.value) return null;
  const again = async (): Promise<void> => {
    if (sending) return;
    setSending(true);
    await model.prompts.again(prompt);
    setSending(false);
  };
  return (
    <button type="button" class="secondary" aria-disabled={sending} onClick={() => void again()}>
      {label}
    </button>
  );
}
