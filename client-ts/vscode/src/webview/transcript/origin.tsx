/** The line above a conversation that began in another session; it leads there. */
import { Icon } from "../blocks/icon";
import { useModel } from "../model/context";
import type { OpenSession } from "../model/open_session";
import { t } from "../messages";

export function Origin({ session }: { session: OpenSession }) {
  const model = useModel();
  const from = model.standing.summary(session.sessionId)?.branchedFrom;
  if (from == null) return null;
  const there = model.standing.summary(from.sessionId);
  const title = there?.title ?? from.title ?? t("another session");
  return (
    <p class="origin">
      <Icon name={from.before == null ? "arrow-swap" : "git-branch"} /> {from.before == null ? t("Continues") : t("Branch of")}{" "}
      {there === undefined ? (
        <span>{t("“{0}”, which was deleted", title)}</span>
      ) : (
        <button type="button" class="link" onClick={() => void model.tabs.select(from.sessionId)}>
          {title}
        </button>
      )}
    </p>
  );
}
