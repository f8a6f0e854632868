/** What can be done with a prompt that was sent: copy it, change it and send that, send it again. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useModel } from "../model/context";
import { IconButton } from "./icon";
import { t } from "../messages";

export function UserActions({ block }: { block: BlockOf<"user"> }) {
  const model = useModel();
  const copy = (): Promise<void> =>
    model.sentences.attempt(async () => {
      await model.editor("editor.copy", { text: block.text });
      model.sentences.say(t("Copied."));
    });
  // What takes no prompts takes none again.
  const can = model.noPrompts.value === undefined;
  return (
    <div class="message-actions">
      {can && <IconButton icon="edit" label={t("Change this prompt and send it anew")} onClick={() => void model.prompts.edit(block)} />}
      {can && !model.running.value && (
        <IconButton icon="refresh" label={t("Send this prompt again")} onClick={() => void model.prompts.again(block)} />
      )}
      <IconButton icon="copy" label={t("Copy the message")} onClick={() => void copy()} />
    </div>
  );
}
