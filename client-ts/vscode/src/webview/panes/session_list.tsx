/** The list of all sessions: find one by its title, its agent or what was said in it, open it, call it otherwise, delete it. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { Icon, IconButton } from "../blocks/icon";
import { useModel } from "../model/context";
import type { FoundSessions } from "../model/model";
import type { State } from "../model/standing";
import { LOCALE, t } from "../messages";
import { statusWords } from "../status_words";
import { momentWords } from "../moment";

type Summary = State["sessions"][number];

/** How long a word may be typed on before it is looked for, in milliseconds. */
const PAUSE = 150;

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
  const found = useFound(query);
  // At once what the titles say, then what was said.
  const shown = found?.sessions ?? titled(sessions, query);
  return (
    <div class="sessions" onKeyDown={(event) => event.key === "Escape" && onDone()}>
      {sessions.length > 0 && (
        <input
          type="text"
          placeholder={t("Find what was said, or a title")}
          aria-label={t("Find a session")}
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
      )}
      <ul aria-label={t("All sessions")}>
        {sessions.length === 0 && <li class="hint">{t("There is none yet.")}</li>}
        {sessions.length > 0 && shown.length === 0 && (
          <li class="hint">
            {found === undefined ? t("No title has these words.") : t("Nothing was said with these words, and no title has them.")}
          </li>
        )}
        {shown.map((summary) => (
          <Entry key={summary.sessionId} summary={summary} onDone={onDone}>
            {found !== undefined && <Passages found={found} sessionId={summary.sessionId} onDone={onDone} />}
          </Entry>
        ))}
      </ul>
      {found !== undefined && found.unsearched > 0 && (
        <p class="hint">{t("Of {0} older sessions only the titles were looked at.", found.unsearched)}</p>
      )}
    </div>
  );
}

/** What a search found; `undefined` before it is known, and where the server cannot say. */
function useFound(query: string): FoundSessions | undefined {
  const model = useModel();
  const [found, setFound] = useState<FoundSessions | undefined>(undefined);
  useEffect(() => {
    if (query.trim() === "") {
      setFound(undefined);
      return undefined;
    }
    let outdated = false;
    const asking = setTimeout(() => {
      void model.sentences.attempt(async () => {
        const answer = await model.findSessions(query);
        if (!outdated) setFound(answer);
      });
    }, PAUSE);
    return () => {
      outdated = true;
      clearTimeout(asking);
    };
  }, [query]);
  return found;
}

/** Where in a session the words stand; each leads there. */
function Passages({ found, sessionId, onDone }: { found: FoundSessions; sessionId: string; onDone: () => void }) {
  const model = useModel();
  return (
    <>
      {(found.found[sessionId] ?? []).map(({ blockId, by, text }) => (
        <button
          key={blockId}
          type="button"
          class="link passage"
          onClick={() => {
            onDone();
            void model.showFound(sessionId, found.query);
          }}
        >
          <span class="hint">{by === "prompt" ? t("asked") : t("answered")}</span> <span dir="auto">{text}</span>
        </button>
      ))}
    </>
  );
}

interface EntryProps {
  readonly summary: Summary;
  readonly onDone: () => void;
  readonly children?: ComponentChildren;
}

function Entry({ summary, onDone, children }: EntryProps) {
  const model = useModel();
  const { sessionId, title, status, updatedAt, agent, pendingPermissionCount, heldBy, pinned, branchedFrom } = summary;
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
          {title || t("New session")}
        </button>
      ) : (
        <input
          type="text"
          aria-label={t("Title of the session")}
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
        {branchedFrom != null && (
          <>
            <Icon name={branchedFrom.before == null ? "arrow-swap" : "git-branch"} />{" "}
          </>
        )}
        {status === "waiting" && pendingPermissionCount === 1 ? t("waits for your answer") : statusWords(status)}
        {agent != null && ` · ${agent}`}
        {(pendingPermissionCount ?? 0) > (status === "waiting" ? 1 : 0) && t(" · {0} waiting", pendingPermissionCount)}
        {heldBy === "other_window" && t(" · in another window")}
        {updatedAt != null && ` · ${when(updatedAt)}`}
      </span>
      <span class="entry-actions">
        {model.standing.offers("bb/session/rename") && heldBy !== "other_window" && name === undefined && (
          <IconButton icon="edit" label={t("Rename {0}", title || t("the session"))} onClick={edit} />
        )}
        {model.standing.offers("bb/session/pin") && heldBy !== "other_window" && (
          <IconButton
            icon={pinned === true ? "pinned" : "pin"}
            label={pinned === true ? t("Unpin {0}", title || t("the session")) : t("Pin {0}", title || t("the session"))}
            pressed={pinned === true}
            onClick={() => void model.pinSession(sessionId, pinned !== true)}
          />
        )}
        {model.standing.offers("bb/session/branch") && (
          <IconButton
            icon="arrow-swap"
            label={t("Continue {0} with another agent", title || t("the session"))}
            onClick={() => void model.continueWith(sessionId)}
          />
        )}
        {asking ? (
          <span class="confirm" role="alertdialog" aria-label={t("Delete the session")}>
            {t("Delete it for good?")}{" "}
            <button type="button" class="secondary" onClick={() => void model.deleteSession(sessionId)}>
              {t("Delete")}
            </button>
            <button type="button" class="link" onClick={() => setAsking(false)}>
              {t("Keep")}
            </button>
          </span>
        ) : (
          <IconButton icon="trash" label={t("Delete {0}", title || t("the session"))} onClick={() => setAsking(true)} />
        )}
      </span>
      {children}
    </li>
  );
}

function when(time: number): string {
  const date = new Date(time);
  return date.toDateString() === new Date().toDateString()
    ? momentWords(time, Date.now())
    : date.toLocaleDateString(LOCALE);
}
