/** What is allowed without being asked: the saved rules, who keeps each, and how it is taken back. */
import type { RuleHolder, RuleScope } from "@breadboard-ls/sdk";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../blocks/icon";
import { lies } from "../blocks/kept_in";
import { useModel } from "../model/context";
import { visible } from "../visible";
import { t } from "../messages";
import { wordOf } from "../../shared/word_of";
import { holderWords } from "../blocks/ask_state";

/** Where a rule is taken back that cannot be taken back here. */
const TAKEN_BACK: Readonly<Record<RuleHolder, string>> = {
  server: t("It cannot be taken back here."),
  engine: t("It is taken back at the engine, which keeps it."),
  agent: t("It is taken back at the agent, which keeps it."),
};

/** What is done without a question, besides what the rules say. */
const MODES = {
  ask: t("Everything is asked."),
  reads: t("Commands that only read run without a question, in this workspace."),
  edits: t("Commands that only read, and edits in this workspace, are done without a question."),
  listed: t("What your list names is done without a question."),
} as const;

export function Rules() {
  const model = useModel();
  const list = useRef<HTMLElement>(null);
  const known = model.standing.host.value.methods.includes("bb/permission/list");
  const rules = model.asks.rules.value;
  const approvals = model.asks.approvals.value;
  useEffect(() => {
    if (known) void model.asks.readRules();
  }, [known, model.tabs.activeId.value]);
  if (!known) return null;
  const choose = async (): Promise<void> => {
    await model.editor("editor.chooseApprovals");
    await model.asks.readRules();
  };
  const revoke = async (ruleId: string, pattern: string): Promise<void> => {
    await model.asks.revokeRule(ruleId, pattern);
    // Its button went with it.
    list.current?.focus();
  };
  return (
    <section aria-label={t("Rules")} ref={list} tabIndex={-1}>
      <h2>{t("Rules")}</h2>
      {approvals != null && (
        <p class="approvals">
          <Icon name="shield" />
          <span>{wordOf(MODES, approvals.mode)}</span>
          <button type="button" class="link" onClick={() => void choose()}>
            {t("Change…")}
          </button>
        </p>
      )}
      {rules === undefined && <p class="empty">{t("They are being read.")}</p>}
      {rules?.length === 0 && <p class="hint">{t("None is saved: every request that needs your word is asked.")}</p>}
      <ul class="files">
        {rules?.map(({ ruleId, pattern, scope, sessionId, holder, keptBy, keptIn, revocable }) => (
          <li key={ruleId}>
            <Icon name="pass" />
            <code class="path">{pattern}</code>
            <span class="hint">{[holds(scope, sessionId), t("kept by {0}{1}", keptBy == null ? holderWords(holder) : visible(keptBy), lies({ keptIn }))]
                .filter(Boolean)
                .join(", ")}</span>
            {revocable && !model.standing.offers("bb/permission/revoke") ? null : revocable ? (
              <button
                type="button"
                class="link"
                aria-label={t("Take back the rule {0}", pattern)}
                onClick={() => void revoke(ruleId, pattern)}
              >
                {t("Take back")}
              </button>
            ) : (
              <span class="hint">{TAKEN_BACK[holder]}</span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );

  function holds(scope: RuleScope | null | undefined, sessionId: string | null | undefined): string {
    if (scope == null) return "";
    if (scope === "workspace") return t("in this workspace");
    if (sessionId == null || sessionId === model.tabs.activeId.value) return t("in this session");
    return t("in the session {0}", model.standing.summary(sessionId)?.title || t("without a title"));
  }
}
