/** A sentence of the server or the engine; where it says why a turn failed, with the ways on. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { Icon } from "./icon";
import { Retry } from "./retry";
import { SetToken } from "./set_token";
import { Words } from "./words";

export function NoticeRow({ block, prompt }: { block: BlockOf<"notice">; prompt?: BlockOf<"user"> | undefined }) {
  const { level, text } = block;
  return (
    <div class={`notice ${level}`} role={level === "error" ? "alert" : undefined}>
      <Icon name={level === "info" ? "info" : level} />
      <div>
        <span>
          <Words text={text} />
        </span>
        {level === "error" && (
          <div class="buttons">
            <Retry prompt={prompt} label="Retry" />
            <SetToken reason={text} />
          </div>
        )}
      </div>
    </div>
  );
}
