/** What can be done with a prompt that was sent: copy it, change it and send that, send it again. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useModel } from "../model/context";
import { IconButton } from "./icon";

export function UserActions({ block }: { block: BlockOf<"user"> }) {
  const model = useModel();
  const copy = (): Promise<void> =>
    model.sentences.attempt(async () => {
      await model.editor("editor.copy", { text: block.text });
      model.sentences.say("Copied.");
    });
  // What takes no prompts takes none again.
  const can = model.noPrompts.value === undefined;
  return (
    <div class="message-actions">
      {can && <IconButton icon="edit" label="Change this prompt and send it anew" onClick={() => void model.prompts.edit(block)} />}
      {can && !model.running.value && (
        <IconButton icon="refresh" label="Send this prompt again" onClick={() => void model.prompts.again(block)} />
      )}
      <IconButton icon="copy" label="Copy the message" onClick={() => void copy()} />
    </div>
  );
}
