/**
 * Asks the agent to continue where it stopped: the prompt opens its session again.
 *
 * Owns when: in a session of an agent, where nothing runs, behind a turn that was cut or an agent that is gone, and once for
 * each press.
 */
import { useState } from "preact/hooks";
import { useModel } from "../model/context";
import { t } from "../messages";

export function ContinueTurn({ after }: { after: "cut" | "exit" }) {
  const model = useModel();
  const [sending, setSending] = useState(false);
  const session = model.tabs.active.value;
  if (model.running.value || session?.info.value.agent == null) return null;
  if (after === "exit" && !session.exited.value) return null;
  const goOn = async (): Promise<void> => {
    if (sending) return;
    setSending(true);
    await model.prompts.goOn();
    setSending(false);
  };
  return (
    <button type="button" class="secondary" aria-disabled={sending} onClick={() => void goOn()}>
      {t("Continue")}
    </button>
  );
}
