/** The line above a conversation that began in another session; it leads there. */
import { Icon } from "../blocks/icon";
import { useModel } from "../model/context";
import type { OpenSession } from "../model/open_session";

export function Origin({ session }: { session: OpenSession }) {
  const model = useModel();
  const from = model.standing.summary(session.sessionId)?.branchedFrom;
  if (from == null) return null;
  const there = model.standing.summary(from.sessionId);
  const title = there?.title ?? from.title ?? "another session";
  return (
    <p class="origin">
      <Icon name={from.before == null ? "arrow-swap" : "git-branch"} /> {from.before == null ? "Continues" : "Branch of"}{" "}
      {there === undefined ? (
        <span>“{title}”, which was deleted</span>
      ) : (
        <button type="button" class="link" onClick={() => void model.tabs.select(from.sessionId)}>
          {title}
        </button>
      )}
    </p>
  );
}
