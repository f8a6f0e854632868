/** The rule that one answer would save, before it is saved. Owns its drawing; what was changed in it is the card's. */
import type { OfferedRule, RuleScope } from "@breadboard-ls/sdk";
import { lies } from "./kept_in";
import { t } from "../messages";

/** A rule as it was changed; what is absent is as it was offered. */
export interface RuleEdit {
  readonly pattern?: string;
  readonly scope?: RuleScope;
}

/** What an answer says of its rule; `undefined` where it is the one that was offered. */
export function updateOf(rule: OfferedRule, edit: RuleEdit): RuleEdit | undefined {
  const update: RuleEdit = {
    ...(edit.pattern === undefined || edit.pattern === rule.pattern ? {} : { pattern: edit.pattern }),
    ...(edit.scope === undefined || edit.scope === rule.scope ? {} : { scope: edit.scope }),
  };
  return Object.keys(update).length === 0 ? undefined : update;
}

/**
 * Whether a narrower pattern would be taken: the server compares its own rules whole, and only an engine reads a last `*`
 * as whatever follows.
 */
function narrows({ holder, pattern }: OfferedRule): boolean {
  return holder === "engine" && pattern.endsWith("*");
}

export function OfferedRuleView({
  rule,
  edit,
  change,
  busy,
  save,
}: {
  rule: OfferedRule;
  edit: RuleEdit;
  change: (edit: RuleEdit) => void;
  busy: boolean;
  save: () => void;
}) {
  const pattern = edit.pattern ?? rule.pattern;
  return (
    <div class="rule" role="group" aria-label={t("The rule that would be saved")}>
      <label>
        {t("Allow from now on")}
        <input
          type="text"
          value={pattern}
          spellcheck={false}
          readOnly={!narrows(rule)}
          onInput={(event) => change({ ...edit, pattern: event.currentTarget.value })}
        />
      </label>
      {rule.scope != null && (
        <label>
          {t("where")}
          <select
            value={edit.scope ?? rule.scope}
            onChange={(event) => change({ ...edit, scope: event.currentTarget.value as RuleScope })}
          >
            <option value="session">{t("in this session")}</option>
            {rule.scope === "workspace" && <option value="workspace">{t("in this workspace")}</option>}
          </select>
        </label>
      )}
      {rule.holder === "engine" && (
        <p class="hint">
          {t("The engine keeps this rule{0}{1}.", lies(rule), narrows(rule) ? t("; a * at its end stands for whatever follows") : "")}
        </p>
      )}
      <button type="button" class="primary" disabled={pattern.trim() === ""} aria-disabled={busy} onClick={save}>
        {t("Save the rule and allow")}
      </button>
    </div>
  );
}
