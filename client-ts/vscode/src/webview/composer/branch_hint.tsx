/** What sending a changed prompt does: said before it is sent, with the other way. */
import { Icon } from "../blocks/icon";
import { useModel } from "../model/context";
import { t } from "../messages";

export function BranchHint() {
  const { prompts } = useModel();
  return (
    <div class="hint branch-hint" role="status">
      <Icon name="git-branch" />{" "}{t("Sent, this begins a branch from before the prompt that you change; this session stays as it is, and so do the files.")}{" "}
      <button type="button" class="link" onClick={() => prompts.sendHere()}>
        {t("Send it here instead")}
      </button>
    </div>
  );
}
