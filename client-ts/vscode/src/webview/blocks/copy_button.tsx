/** Copies a message, whole. */
import { useModel } from "../model/context";
import { IconButton } from "./icon";
import { t } from "../messages";

export function CopyButton({ text }: { text: () => Promise<string> }) {
  const model = useModel();
  const copy = (): Promise<void> =>
    model.sentences.attempt(async () => {
      await model.editor("editor.copy", { text: await text() });
      model.sentences.say(t("Copied."));
    });
  return (
    <div class="message-actions">
      <IconButton icon="copy" label={t("Copy the message")} onClick={() => void copy()} />
    </div>
  );
}
