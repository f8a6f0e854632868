/** Why the session in front takes no prompts, and what can be done instead. Said before somebody types. */
import { Icon } from "../blocks/icon";
import { useModel } from "../model/context";
import type { NoPrompts } from "../model/standing";
import { t } from "../messages";

const WHY: Readonly<Record<NoPrompts, { readonly icon: string; readonly words: string }>> = {
  other_engine: {
    icon: "circle-slash",
    words: t("This session belongs to another engine than the one in use. It can be read; it takes no prompts."),
  },
  other_window: {
    icon: "multiple-windows",
    words: t("Another window works on this session. It can be followed and stopped here; prompts wait until its turn is over."),
  },
};

/** How the engine in use is called. */
const ENGINE: Readonly<Record<string, string>> = {
  embedded: t("the built-in agent"),
  breadboard: "BreadBoard",
  desktop: t("the desktop host"),
  acp: t("the agent in use"),
};

export function TakesNoPrompts({ why }: { why: NoPrompts }) {
  const model = useModel();
  const { icon, words } = WHY[why];
  const sessionId = model.tabs.activeId.value;
  return (
    <div class="hint no-prompts" role="status">
      <Icon name={icon} /> {words}
      {why === "other_engine" && (
        <div class="buttons">
          {sessionId !== undefined && model.standing.offers("bb/session/branch") && (
            <button type="button" class="primary" onClick={() => void model.continueWith(sessionId, {})}>
              {t("Continue with {0}", ENGINE[model.standing.engine.value?.kind ?? ""] ?? t("this engine"))}
            </button>
          )}
          <button type="button" class="secondary" onClick={() => model.newSession()}>
            {t("New session")}
          </button>
          <button type="button" class="link" onClick={() => model.askWho()}>
            {t("Choose the engine")}
          </button>
        </div>
      )}
    </div>
  );
}
