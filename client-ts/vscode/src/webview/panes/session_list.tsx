/** The list of all sessions: open one, delete one. */
import { useState } from "preact/hooks";
import { IconButton } from "../blocks/icon";
import { useModel } from "../model/context";

export function SessionList({ onDone }: { onDone: () => void }) {
  const model = useModel();
  const [asking, setAsking] = useState<string | undefined>(undefined);
  const { sessions } = model.standing.state.value;
  return (
    <ul class="sessions" aria-label="All sessions" onKeyDown={(event) => event.key === "Escape" && onDone()}>
      {sessions.length === 0 && <li class="hint">There is none yet.</li>}
      {sessions.map(({ sessionId, title, status, updatedAt, agent, pendingPermissionCount, heldBy }) => (
        <li key={sessionId}>
          <button
            type="button"
            class="link"
            onClick={() => {
              onDone();
              void model.tabs.select(sessionId);
            }}
          >
            {title || "New session"}
          </button>
          <span class="hint">
            {status}
            {agent != null && ` · ${agent}`}
            {(pendingPermissionCount ?? 0) > 0 && ` · ${pendingPermissionCount} waiting`}
            {heldBy === "other_window" && " · in another window"}
            {updatedAt != null && ` · ${when(updatedAt)}`}
          </span>
          {asking === sessionId ? (
            <span class="confirm" role="alertdialog" aria-label="Delete the session">
              Delete it for good?{" "}
              <button type="button" class="secondary" onClick={() => void model.deleteSession(sessionId)}>
                Delete
              </button>
              <button type="button" class="link" onClick={() => setAsking(undefined)}>
                Keep
              </button>
            </span>
          ) : (
            <IconButton icon="trash" label={`Delete ${title || "the session"}`} onClick={() => setAsking(sessionId)} />
          )}
        </li>
      ))}
    </ul>
  );
}

function when(time: number): string {
  const date = new Date(time);
  return date.toDateString() === new Date().toDateString()
    ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleDateString();
}
