/** What is allowed without being asked: the saved rules, each of which can be taken back. */
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../blocks/icon";
import { useModel } from "../model/context";

export function Rules() {
  const model = useModel();
  const list = useRef<HTMLElement>(null);
  const known = model.standing.host.value.methods.includes("bb/permission/list");
  const rules = model.asks.rules.value;
  useEffect(() => {
    if (known) void model.asks.readRules();
  }, [known, model.tabs.activeId.value]);
  if (!known) return null;
  const revoke = async (ruleId: string, pattern: string): Promise<void> => {
    await model.asks.revokeRule(ruleId, pattern);
    // Its button went with it.
    list.current?.focus();
  };
  return (
    <section aria-label="Rules" ref={list} tabIndex={-1}>
      <h2>Rules</h2>
      {rules === undefined && <p class="empty">They are being read.</p>}
      {rules?.length === 0 && <p class="hint">None is saved: every request that needs your word is asked.</p>}
      <ul class="files">
        {rules?.map(({ ruleId, pattern, scope, sessionId }) => (
          <li key={ruleId}>
            <Icon name="pass" />
            <code class="path">{pattern}</code>
            <span class="hint">{holds(scope, sessionId ?? undefined)}</span>
            <button
              type="button"
              class="link"
              aria-label={`Take back the rule ${pattern}`}
              onClick={() => void revoke(ruleId, pattern)}
            >
              Take back
            </button>
          </li>
        ))}
      </ul>
    </section>
  );

  function holds(scope: "session" | "workspace", sessionId: string | undefined): string {
    if (scope === "workspace") return "in this workspace";
    if (sessionId === undefined || sessionId === model.tabs.activeId.value) return "in this session";
    return `in the session ${model.standing.summary(sessionId)?.title || "without a title"}`;
  }
}
