/** The list of all sessions: find one by its title or agent, open it, call it otherwise, delete it. */
import { useRef, useState } from "preact/hooks";
import { IconButton } from "../blocks/icon";
import { useModel } from "../model/context";
import type { State } from "../model/standing";

type Summary = State["sessions"][number];

/** From so many sessions on the list has a field to find one. */
const MANY = 6;

/** Sessions whose titles or agents have all of these words in them. */
export function titled(sessions: readonly Summary[], query: string): readonly Summary[] {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return sessions.filter(({ title, agent }) => {
    const text = `${title ?? ""} ${agent ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function SessionList({ onDone }: { onDone: () => void }) {
  const model = useModel();
  const [query, setQuery] = useState("");
  const { sessions } = model.standing.state.value;
  const shown = titled(sessions, query);
  return (
    <div class="sessions" onKeyDown={(event) => event.key === "Escape" && onDone()}>
      {sessions.length >= MANY && (
        <input
          type="text"
          placeholder="Find a session"
          aria-label="Find a session"
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
      )}
      <ul aria-label="All sessions">
        {sessions.length === 0 && <li class="hint">There is none yet.</li>}
        {sessions.length > 0 && shown.length === 0 && <li class="hint">No title has these words.</li>}
        {shown.map((summary) => (
          <Entry key={summary.sessionId} summary={summary} onDone={onDone} />
        ))}
      </ul>
    </div>
  );
}

function Entry({ summary, onDone }: { summary: Summary; onDone: () => void }) {
  const model = useModel();
  const { sessionId, title, status, updatedAt, agent, pendingPermissionCount, heldBy } = summary;
  const [asking, setAsking] = useState(false);
  const [name, setName] = useState<string | undefined>(undefined);
  /** A field that goes loses the focus too, and that is no word of the user's. */
  const open = useRef(false);
  const close = (wanted?: string): void => {
    if (!open.current) return;
    open.current = false;
    const given = wanted?.trim() ?? "";
    if (given !== "" && given !== title) void model.renameSession(sessionId, given);
    setName(undefined);
  };
  const edit = (): void => {
    open.current = true;
    setName(title ?? "");
  };
  return (
    <li>
      {name === undefined ? (
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
      ) : (
        <input
          type="text"
          aria-label="Title of the session"
          value={name}
          ref={(field) => {
            if (document.activeElement !== field) field?.focus();
          }}
          onInput={(event) => setName(event.currentTarget.value)}
          onBlur={(event) => close(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.isComposing) return;
            if (event.key === "Enter") close(event.currentTarget.value);
            if (event.key === "Escape") {
              event.stopPropagation();
              close();
            }
          }}
        />
      )}
      <span class="hint">
        {status}
        {agent != null && ` · ${agent}`}
        {(pendingPermissionCount ?? 0) > 0 && ` · ${pendingPermissionCount} waiting`}
        {heldBy === "other_window" && " · in another window"}
        {updatedAt != null && ` · ${when(updatedAt)}`}
      </span>
      {model.standing.offers("bb/session/rename") && heldBy !== "other_window" && name === undefined && (
        <IconButton icon="edit" label={`Rename ${title || "the session"}`} onClick={edit} />
      )}
      {asking ? (
        <span class="confirm" role="alertdialog" aria-label="Delete the session">
          Delete it for good?{" "}
          <button type="button" class="secondary" onClick={() => void model.deleteSession(sessionId)}>
            Delete
          </button>
          <button type="button" class="link" onClick={() => setAsking(false)}>
            Keep
          </button>
        </span>
      ) : (
        <IconButton icon="trash" label={`Delete ${title || "the session"}`} onClick={() => setAsking(true)} />
      )}
    </li>
  );
}

function when(time: number): string {
  const date = new Date(time);
  return date.toDateString() === new Date().toDateString()
    ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleDateString();
}
