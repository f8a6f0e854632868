/** A sentence of the server or the engine; where it says why a turn failed, with the ways on. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { ContinueTurn } from "./continue_turn";
import { Icon } from "./icon";
import { LogIn } from "./log_in";
import { Remedies } from "./remedies";
import { Retry } from "./retry";
import { Words } from "./words";
import { t } from "../messages";

export function NoticeRow({ block, prompt }: { block: BlockOf<"notice">; prompt?: BlockOf<"user"> | undefined }) {
  const { id, level, text, retry, login } = block;
  return (
    <div class={`notice ${level}`} role={level === "error" ? "alert" : undefined}>
      <Icon name={level === "info" ? "info" : level} />
      <div>
        <span>
          <Words text={text} />
        </span>
        {level !== "info" && (
          <div class="buttons">
            <LogIn login={login} session />
            {level === "error" && (
              <>
                {prompt !== undefined && <ContinueTurn after="exit" />}
                <Retry prompt={prompt} label={t("Retry")} advice={retry} noticeId={id} />
                <Remedies reason={text} />
              </>
            )}
          </div>
        )}
      </div>
    </div>
  );
}
