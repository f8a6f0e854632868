/** In the chat: a turn did not come to its end, and what to do next. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { Icon } from "./icon";
import { Retry } from "./retry";
import { Words } from "./words";

/** What the server says of a turn that somebody stopped. */
const STOPPED = /\bstopped\b/i;

export function TurnEnd({ block, prompt }: { block: BlockOf<"summary">; prompt?: BlockOf<"user"> | undefined }) {
  const stopped = STOPPED.test(block.text);
  return (
    <section class={stopped ? "notice stopped" : "notice warning"} aria-label="How the turn ended">
      <Icon name={stopped ? "circle-slash" : "warning"} />
      <div>
        <span>
          <Words text={block.text} />
        </span>
        <div class="buttons">
          <Retry prompt={prompt} label="Send it again" />
        </div>
      </div>
    </section>
  );
}
