/**
 * A server that lacks some of what this extension does: what does not work with it, and what to do.
 *
 * Owns what each method of the server is to a person. Nothing is offered or refused here: whoever needs a method looks for it.
 */
import { useModel } from "../model/context";
import { t } from "../messages";
import { Banner } from "./banner";

/** What a person misses where a server lacks the method. What every server of this version of the wire has is not here. */
export const FEATURES: Readonly<Record<string, string>> = {
  "bb/session/rename": t("renaming sessions"),
  "bb/session/pin": t("pinning sessions"),
  "bb/session/branch": t("branching a conversation"),
  "bb/findFiles": t("finding files with @"),
  "bb/context/preview": t("showing what goes along with a prompt"),
  "bb/permission/get": t("reading a long request to its end"),
  "bb/permission/revoke": t("taking rules back"),
  "bb/approvals/set": t("changing without a restart what is done without asking"),
  "bb/patch/list": t("deciding on an edit change by change"),
  "bb/patch/get": t("deciding on an edit change by change"),
  "bb/patch/decide": t("deciding on an edit change by change"),
  "bb/patch/revert": t("taking an edit back"),
  "bb/turn/changes": t("showing and taking back what a turn changed"),
  "bb/turn/revert": t("showing and taking back what a turn changed"),
  "bb/turn/review": t("showing and taking back what a turn changed"),
  "bb/createSpec/ready": t("creating specs"),
  "bb/createSpec/autosave": t("creating specs"),
  "bb/createSpec/submit": t("creating specs"),
  "bb/createSpec/closeAttempt": t("creating specs"),
  "bb/createSpec/discard": t("creating specs"),
  "bb/createSpec/importMarkdown": t("creating specs"),
  "bb/createSpec/attachImages": t("creating specs"),
  "bb/models/providers": t("trying a model before it is chosen"),
  "bb/models/check": t("trying a model before it is chosen"),
  "bb/mcp/list": t("MCP servers"),
  "bb/mcp/allow": t("MCP servers"),
  "bb/mcp/restart": t("MCP servers"),
  "bb/mcp/set": t("MCP servers"),
};

/** What does not work with a server that has these methods; each once. */
export function missingIn(methods: readonly string[]): readonly string[] {
  const offered = new Set(methods);
  return [...new Set(Object.entries(FEATURES).flatMap(([method, words]) => (offered.has(method) ? [] : [words])))];
}

export function OlderServer() {
  const model = useModel();
  const { server, methods, program, generation } = model.standing.host.value;
  if (server !== "running" || program === undefined || model.standing.dismissed.value === generation) return null;
  const missing = missingIn(methods);
  if (missing.length === 0) return null;
  return (
    <Banner tone="warning" icon="versions">
      {t("The server {0} is older than this extension, and some things do not work with it.", program.name)}{" "}
      {program.from === "setting"
        ? t("Update it, or clear the setting breadboard.server.path to use the one that comes with the extension.")
        : t("Update it, or name a newer one in the setting breadboard.server.path.")}{" "}
      <details>
        <summary>{t("What does not work")}</summary>
        <ul>
          {missing.map((words) => (
            <li key={words}>{words}</li>
          ))}
        </ul>
      </details>
      <button type="button" class="link" onClick={() => void model.editor("editor.openSettings")}>
        {t("Settings")}
      </button>{" "}
      <button type="button" class="link" onClick={() => (model.standing.dismissed.value = generation)}>
        {t("Dismiss")}
      </button>
    </Banner>
  );
}
