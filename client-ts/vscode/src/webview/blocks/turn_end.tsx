/**
 * In the chat: a turn did not come to its end, and what to do next.
 *
 * Owns when the prompt can be sent again from here: where it was the last one, and nothing runs or waits.
 */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { useModel } from "../model/context";
import { Icon } from "./icon";

export function TurnEnd({ block, prompt }: { block: BlockOf<"summary">; prompt?: BlockOf<"user"> | undefined }) {
  const model = useModel();
  const [sending, setSending] = useState(false);
  const again = async (of: BlockOf<"user">): Promise<void> => {
    if (sending) return;
    setSending(true);
    await model.prompts.again(of);
    setSending(false);
  };
  return (
    <section class="notice warning" aria-label="How the turn ended">
      <Icon name="warning" />
      <div>
        <span>{block.text}</span>
        {prompt !== undefined && !model.running.value && (
          <div class="buttons">
            <button type="button" class="secondary" aria-disabled={sending} onClick={() => void again(prompt)}>
              Send it again
            </button>
          </div>
        )}
      </div>
    </section>
  );
}
