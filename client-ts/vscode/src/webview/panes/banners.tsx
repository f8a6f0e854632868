/** What the user has to know of the link: server, trust, connection, events that are missing. */
import { Remedies } from "../blocks/remedies";
import { Words } from "../blocks/words";
import { useModel } from "../model/context";
import { sayResume } from "../model/open_session";
import { t } from "../messages";
import { Banner } from "./banner";
import { OlderServer } from "./older_server";

export function Banners() {
  const model = useModel();
  const { server, sentence, trusted } = model.standing.host.value;
  const active = model.tabs.active.value;
  const agent = active?.info.value.agent;
  const link = active?.connection.value ?? model.standing.connection.value;
  const gap = active?.gap.value;
  const lost = active?.failure.value;
  const lookFurther = (
    <>
      <button type="button" class="link" onClick={() => void model.editor("editor.showLog")}>
        {t("Show the log")}
      </button>{" "}
      <button type="button" class="link" onClick={() => void model.editor("editor.openSettings")}>
        {t("Settings")}
      </button>
    </>
  );
  return (
    <div class="banners">
      {server === "starting" && (
        <Banner tone="info" icon="loading" spin>
          {t("The server is starting.")}
        </Banner>
      )}
      {server === "waiting" && (
        <Banner tone="warning" icon="sync" spin>
          <Words text={sentence ?? t("The server is started again.")} />{" "}
          {lookFurther}
        </Banner>
      )}
      {(server === "failed" || server === "stopped") && (
        <Banner tone="error" icon="error">
          <Words text={sentence ?? t("The server is stopped.")} />{" "}
          <button type="button" class="link" onClick={() => void model.editor("editor.restart")}>
            {t("Restart")}
          </button>{" "}
          {lookFurther}
        </Banner>
      )}
      <OlderServer />
      {!trusted && (
        <Banner tone="info" icon="workspace-untrusted">
          {t("Restricted mode: this folder is read and searched, and nothing is written or run.")}{" "}
          <button type="button" class="link" onClick={() => void model.editor("editor.manageTrust")}>
            {t("Manage trust")}
          </button>
        </Banner>
      )}
      {link?.status === "connecting" && (
        <Banner tone="warning" icon="sync" spin>
          {(link.retryCount ?? 0) > 0
            ? t("Reconnecting to the engine (try {0}).", link.retryCount)
            : t("Connecting to the engine.")}{" "}
          <Words text={link.lastError ?? ""} />
        </Banner>
      )}
      {link?.status === "error" && agent == null && (
        <Banner tone="error" icon="debug-disconnect">
          <EngineError why={link.lastError ?? ""} answered={link.cause === "session_ended"} />
        </Banner>
      )}
      {active?.exited.value === true && agent != null && (
        <Banner tone="error" icon="debug-disconnect">
          <Words text={link?.lastError ?? t("The agent {0} ended; restart it, or send a prompt.", agent.name)} />{" "}
          {model.standing.offers("bb/agent/restart") && (
            <button
              type="button"
              class="link"
              disabled={model.choices.restarting.value}
              onClick={() => void model.choices.restartAgent(agent.name)}
            >
              {t("Restart")}
            </button>
          )}
        </Banner>
      )}
      {gap !== undefined && active !== undefined && (
        <Banner tone="warning" icon="warning">
          <strong>{t("This conversation may have holes.")}</strong>{" "}
          {gap.outcome ??
            (gap.resume === undefined ? t("Events are missing.") : t("What is known: {0}", sayResume(gap.resume)))}{" "}
          {gap.outcome === undefined && model.standing.offers("bb/rebuild") && (
            <button type="button" class="link" onClick={() => void model.reading.rebuild()}>
              {t("Rebuild from the run's artifacts")}
            </button>
          )}{" "}
          <button type="button" class="link" onClick={() => (active.gap.value = undefined)}>
            {t("Dismiss")}
          </button>
        </Banner>
      )}
      {lost !== undefined && active !== undefined && (
        <Banner tone="error" icon="error">
          {t("This session could not be read:")}{" "}<Words text={lost} />{" "}
          <button type="button" class="link" onClick={() => void model.tabs.select(active.sessionId)}>
            {t("Try again")}
          </button>
        </Banner>
      )}
      {model.sentences.alertsOver(model.tabs.frontId.value).map(({ id, text }) => (
        <Banner key={id} tone="error" icon="error">
          <Words text={text} />{" "}
          <button type="button" class="link" onClick={() => model.sentences.dismiss(id)}>
            {t("Dismiss")}
          </button>
        </Banner>
      ))}
    </div>
  );
}

/** What the engine said last: where it ended the session itself, it did answer. */
function EngineError({ why, answered }: { why: string; answered: boolean }) {
  return (
    <>
      {!answered && t("The engine does not answer. ")}
      <Words text={why} /> <Remedies reason={why} />
    </>
  );
}
