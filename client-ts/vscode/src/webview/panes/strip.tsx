/** The open sessions, and the list of all. */
import { useState } from "preact/hooks";
import { Icon, IconButton } from "../blocks/icon";
import { useModel } from "../model/context";

/** Left and right move in a list of tabs, as the pattern of ARIA says. */
export function moveFocus(event: KeyboardEvent): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (step === 0) return;
  const tabs = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>("[role=tab]")];
  const at = tabs.indexOf(document.activeElement as HTMLElement);
  if (at < 0) return;
  event.preventDefault();
  tabs[(at + step + tabs.length) % tabs.length]?.focus();
}

export function SessionStrip() {
  const model = useModel();
  const [listing, setListing] = useState(false);
  const open = model.open.value;
  return (
    <div class="strip-area">
      <div class="strip">
        <div class="tabs" role="tablist" aria-label="Open sessions" onKeyDown={moveFocus}>
          {open.map(({ sessionId }) => {
            const summary = model.summary(sessionId);
            const title = summary?.title || "New session";
            const active = sessionId === model.activeId.value;
            const status = summary?.status;
            const word = status === "waiting" ? ", waits for your answer" : status === "running" ? ", running" : "";
            return (
              <div key={sessionId} class={`tab${active ? " active" : ""}`}>
                <button
                  type="button"
                  role="tab"
                  aria-selected={active}
                  aria-keyshortcuts="Delete"
                  aria-label={`${title}${word}`}
                  tabindex={active ? 0 : -1}
                  title={title}
                  onClick={() => void model.select(sessionId)}
                  onKeyDown={(event) => {
                    if (event.key === "Delete") model.close(sessionId);
                  }}
                >
                  {status === "running" && <Icon name="loading" spin />}
                  {status === "waiting" && <Icon name="bell-dot" />}
                  <span class="title">{title}</span>
                </button>
                <button
                  type="button"
                  class="icon close"
                  // For a mouse: a list of tabs has tabs and nothing else, and Delete closes the one that is on.
                  tabindex={-1}
                  aria-hidden="true"
                  title="Close the tab (the session stays)"
                  aria-label={`Close the tab ${title}`}
                  onClick={() => model.close(sessionId)}
                >
                  <Icon name="close" />
                </button>
              </div>
            );
          })}
        </div>
        <IconButton icon="add" label="New session" onClick={() => void model.newSession()} />
        <IconButton icon="history" label="All sessions" pressed={listing} onClick={() => setListing(!listing)} />
      </div>
      {listing && <SessionList onDone={() => setListing(false)} />}
    </div>
  );
}

function SessionList({ onDone }: { onDone: () => void }) {
  const model = useModel();
  const [asking, setAsking] = useState<string | undefined>(undefined);
  const { sessions } = model.state.value;
  return (
    <ul class="sessions" aria-label="All sessions" onKeyDown={(event) => event.key === "Escape" && onDone()}>
      {sessions.length === 0 && <li class="hint">There is none yet.</li>}
      {sessions.map(({ sessionId, title, status, updatedAt, pendingPermissionCount }) => (
        <li key={sessionId}>
          <button
            type="button"
            class="link"
            onClick={() => {
              onDone();
              void model.select(sessionId);
            }}
          >
            {title || "New session"}
          </button>
          <span class="hint">
            {status}
            {(pendingPermissionCount ?? 0) > 0 && ` · ${pendingPermissionCount} waiting`}
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
