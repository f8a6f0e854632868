/**
 * What a sentence tells its reader to do, as far as it is a press away: a token, an address, a model, a new session.
 *
 * Owns which sentences say so, and whose token it is. The token itself never comes to the page: the editor asks for it.
 */
import type { EngineStatus } from "@breadboard-ls/sdk";
import { useModel } from "../model/context";
import { t } from "../messages";

/** Whoever is asked wants a token, or another one. What stands before it (403) is helped by none. */
const TOKEN = /\b(?:wants a|does not take our) (?:key|token)\b|\bHTTP 401\b|\bunauthori[sz]ed\b|\bcredentials\b/i;
/** An address, a name or a provider is wrong: these are settings. */
const SETTING = /\b(?:correct|check|give)\b[^.]*\b(?:address|provider)\b/;
/** What an answer without a model ends with, once in a session (src/host/planner/mod.rs). */
const WITHOUT_MODEL = t("To get answers from a model, choose one. Until then each answer is what searching finds.");
const ANEW = /\bbegin a new session\b/;

export function Remedies({ reason }: { reason: string }) {
  const model = useModel();
  const session = model.tabs.active.value;
  const ofAgent = session?.info.value.agent != null || model.standing.summary(session?.sessionId)?.agent != null;
  // An agent has its own tokens, addresses and models.
  if (ofAgent) return null;
  const scope = scopeOf(model.standing.engine.value);
  return (
    <>
      {scope !== undefined && TOKEN.test(reason) && (
        <button type="button" class="secondary" onClick={() => void model.editor("editor.setToken", { scope })}>
          {t("Set the token")}
        </button>
      )}
      {SETTING.test(reason) && (
        <button type="button" class="secondary" onClick={() => void model.editor("editor.openSettings")}>
          {t("Open the settings")}
        </button>
      )}
      {ANEW.test(reason) && (
        <button type="button" class="secondary" onClick={() => model.newSession()}>
          {t("New session")}
        </button>
      )}
    </>
  );
}

/** Below an answer that says that it has no model: where one is chosen, as long as there is none. */
export function ChooseModel({ answer }: { answer: string }) {
  const model = useModel();
  const engine = model.standing.engine.value;
  if (engine?.kind !== "embedded" || engine.model != null || !answer.trimEnd().endsWith(WITHOUT_MODEL)) return null;
  return (
    <button type="button" class="secondary" onClick={() => model.askWho()}>
      {t("Choose a model")}
    </button>
  );
}

/** Whose token the editor keeps for this engine; an agent has its own. */
function scopeOf(engine: EngineStatus | undefined): "engine" | "model" | undefined {
  if (engine === undefined || engine.kind === "acp") return undefined;
  return engine.kind === "embedded" ? "model" : "engine";
}
