/**
 * The way to store a token, beside an error that says that one is missing or was refused.
 *
 * Owns which errors say so, and whose token it is. The token itself never comes to the page: the editor asks for it.
 */
import type { EngineStatus } from "@breadboard-ls/sdk";
import { useModel } from "../model/context";

const REFUSED = /\b40[13]\b|\bunauthori[sz]ed\b|\bcredentials\b/i;

export function SetToken({ reason }: { reason: string }) {
  const model = useModel();
  const session = model.tabs.active.value;
  const ofAgent = session?.info.value.agent != null || model.standing.summary(session?.sessionId)?.agent != null;
  const scope = ofAgent ? undefined : scopeOf(model.standing.engine.value);
  if (scope === undefined || !REFUSED.test(reason)) return null;
  return (
    <button type="button" class="secondary" onClick={() => void model.editor("editor.setToken", { scope })}>
      Set the token
    </button>
  );
}

/** Whose token the editor keeps for this engine; an agent has its own. */
function scopeOf(engine: EngineStatus | undefined): "engine" | "model" | undefined {
  if (engine === undefined || engine.kind === "acp") return undefined;
  return engine.kind === "embedded" ? "model" : "engine";
}
