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

export function TakesNoPrompts({ why }: { why: NoPrompts }) {
  const model = useModel();
  const { icon, words } = WHY[why];
  return (
    <div class="hint no-prompts" role="status">
      <Icon name={icon} /> {words}
      {why === "other_engine" && (
        <div class="buttons">
          <button type="button" class="primary" onClick={() => model.newSession()}>
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
