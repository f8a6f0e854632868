/** The page: strip, panes, banners, the pane in front. */
import { Icon } from "./blocks/icon";
import { LogIn } from "./blocks/log_in";
import { Remedies } from "./blocks/remedies";
import { Words } from "./blocks/words";
import { Banners } from "./panes/banners";
import { DebugPane } from "./panes/debug";
import { FilesPane } from "./panes/files";
import { RunPane } from "./panes/run";
import { moveFocus, SessionStrip } from "./panes/strip";
import { TasksPane } from "./panes/tasks";
import { Composer } from "./composer/composer";
import { QueueList } from "./composer/queue_list";
import { useModel } from "./model/context";
import type { OpenSession } from "./model/open_session";
import type { OpenTab } from "./model/open_tab";
import { PANES, type PaneName } from "./model/saved_state";
import { Setup } from "./setup/setup";
import { Welcome } from "./setup/welcome";
import { Transcript } from "./transcript/transcript";
import { t, tOf } from "./messages";

const LABEL: Readonly<Record<PaneName, string>> = {
  chat: t("Chat"),
  tasks: t("Tasks"),
  files: t("Files"),
  run: tOf("Run", "the pane"),
  debug: t("Debug"),
};

export function App() {
  const model = useModel();
  const active = model.tabs.active.value;
  const front = model.tabs.front.value;
  const pane = model.pane.value;
  return (
    <div class="app" data-generation={model.standing.host.value.generation}>
      <SessionStrip />
      <div class="panes" role="tablist" aria-label={t("Panes")} onKeyDown={moveFocus}>
        {PANES.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`pane-tab-${name}`}
            aria-selected={name === pane}
            aria-controls="pane"
            tabindex={name === pane ? 0 : -1}
            class={name === pane ? "active" : ""}
            onClick={() => void model.showPane(name)}
          >
            {LABEL[name]}
            <Badge name={name} active={active} />
          </button>
        ))}
      </div>
      {model.running.value && (
        <div class="progress" role="progressbar" aria-label={t("A turn is running")}>
          <div />
        </div>
      )}
      <Banners />
      {pane === "chat" && active !== undefined && (
        <button type="button" class="secondary skip" onClick={() => (model.prompts.focus.value += 1)}>
          {t("Skip to the prompt")}
        </button>
      )}
      <div class="body" id="pane" role="tabpanel" aria-labelledby={`pane-tab-${pane}`}>
        {front !== undefined && active === undefined ? (
          <Unmade key={front.tabId} tab={front} />
        ) : (
          <PaneBody pane={pane} active={active} />
        )}
      </div>
      {pane === "chat" && active !== undefined && (
        <button type="button" class="secondary skip" onClick={() => document.getElementById(`pane-tab-${pane}`)?.focus()}>
          {t("Skip to the panes")}
        </button>
      )}
      {pane === "chat" && (
        <footer>
          {active !== undefined && <QueueList session={active} />}
          <Composer />
        </footer>
      )}
      <div class="visually-hidden" role="status" aria-live="polite">
        {model.sentences.spoken.value}
      </div>
    </div>
  );
}

function Badge({ name, active }: { name: PaneName; active: OpenSession | undefined }) {
  if (active === undefined) return null;
  const count =
    name === "chat"
      ? active.pending().length
      : name === "tasks"
        ? active.blocks("tasks").filter((block) => block.kind === "task" && block.status === "running").length
        : 0;
  return count === 0 ? null : <vscode-badge variant="counter">{count}</vscode-badge>;
}

/** A tab whose session is being made, or could not be. */
function Unmade({ tab }: { tab: OpenTab }) {
  const model = useModel();
  const what = tab.agent ?? t("a session");
  const failure = tab.failure.value;
  if (failure === undefined)
    return (
      <p class="empty" role="status">
        <Icon name="loading" spin />{" "}{t("Starting {0}…", what)}
      </p>
    );
  return (
    <div class="pane">
      <div class="notice error" role="alert">
        <Icon name="error" />
        <span>
          {t("{0} could not be started.", tab.agent === undefined ? t("The session") : tab.agent)}{" "}
          <Words text={failure.text} />
        </span>
      </div>
      <div class="buttons">
        <LogIn login={failure.login} session={false} />
        {tab.agent === undefined && <Remedies reason={failure.text} />}
        <button type="button" class="primary" onClick={() => model.tabs.retry(tab.tabId)}>
          {t("Retry")}
        </button>
        <button type="button" class="secondary" onClick={() => void model.tabs.close(tab.tabId)}>
          {t("Close")}
        </button>
      </div>
    </div>
  );
}

function PaneBody({ pane, active }: { pane: PaneName; active: OpenSession | undefined }) {
  const { setup } = useModel();
  if (pane === "chat" && setup.open.value)
    return (
      <div class="pane">
        <Setup />
      </div>
    );
  if (active === undefined) return pane === "chat" ? <Welcome /> : <p class="empty">{t("No session is open.")}</p>;
  // A session of its own draws anew: rows that were measured and texts that were typed are not another's.
  const key = active.sessionId;
  switch (pane) {
    case "chat":
      return <Transcript key={key} session={active} />;
    case "tasks":
      return <TasksPane key={key} session={active} />;
    case "files":
      return <FilesPane key={key} session={active} />;
    case "run":
      return <RunPane key={key} session={active} />;
    case "debug":
      return <DebugPane key={key} session={active} />;
  }
}
