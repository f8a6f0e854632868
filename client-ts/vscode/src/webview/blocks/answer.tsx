/** The agent's words, and the way to the whole where the server cut them. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { useModel } from "../model/context";
import { CopyButton } from "./copy_button";
import { Prose } from "./prose";
import { ChooseModel } from "./remedies";
import { MOST_INLINE } from "./tool_card";
import { t } from "../messages";

export function Answer({ block }: { block: BlockOf<"assistant"> }) {
  const model = useModel();
  const [whole, setWhole] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const showAll = async (): Promise<void> => {
    setBusy(true);
    await model.sentences.attempt(async () => {
      const text = await model.reading.answer(block);
      if (text === undefined)
        throw new Error(t("The events do not have the whole of this answer; the Debug pane shows what they have."));
      if (text.length > MOST_INLINE)
        await model.editor("editor.openText", { title: t("Answer"), text, language: "markdown" });
      else setWhole(text);
    });
    setBusy(false);
  };
  return (
    <section class="assistant" aria-label={t("Agent")} aria-busy={block.streaming}>
      {!block.streaming && (
        <CopyButton
          text={async () =>
            whole ?? (block.truncated === true ? ((await model.reading.answer(block)) ?? block.text) : block.text)
          }
        />
      )}
      <Prose text={whole ?? block.text} streaming={block.streaming} block={whole === undefined ? block : undefined} />
      {!block.streaming && <ChooseModel answer={block.text} />}
      {block.truncated === true && whole === undefined && (
        <p class="hint">
          {t("The answer is cut here.")}{" "}
          <button type="button" class="link" disabled={busy || block.streaming} onClick={() => void showAll()}>
            {t("Show all")}
          </button>
        </p>
      )}
    </section>
  );
}
