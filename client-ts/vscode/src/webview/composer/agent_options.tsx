/** What the agent of a session offers to choose from, and what it has used. */
import type { OpenSession, SessionInfo } from "../model/open_session";
import { useModel } from "../model/context";
import { t } from "../messages";
import { money, rounded, short } from "./amounts";

type Option = NonNullable<SessionInfo["configOptions"]>[number];

/**
 * Mode, model and options of the agent. Where an agent names its modes or models twice, as options and in the older
 * way, the options count.
 */
export function AgentOptions({ session }: { session: OpenSession }) {
  const model = useModel();
  const { modes, models, configOptions } = session.info.value;
  const options = configOptions ?? [];
  const has = (category: string) => options.some((option) => option.category === category);
  return (
    <>
      {models != null && !has("model") && (
        // Agents that name their models in the older way are told of another one in their own settings.
        <Picker
          label={t("Model")}
          hint={t("The agent chooses its model in its own settings")}
          current={models.currentModelId ?? ""}
          choices={(models.availableModels ?? []).map(({ modelId, name }) => ({ value: modelId, name: name ?? "" }))}
        />
      )}
      {modes != null && !has("mode") && (
        <Picker
          label={t("Mode")}
          current={modes.currentModeId ?? ""}
          {...hintOf((modes.availableModes ?? []).find(({ id }) => id === modes.currentModeId)?.description)}
          choices={(modes.availableModes ?? []).map(({ id, name }) => ({ value: id, name: name ?? "" }))}
          onChoose={(value) => void model.choices.setMode(value)}
        />
      )}
      {options.map((option) => (
        <ConfigOption key={option.id} option={option} />
      ))}
    </>
  );
}

const hintOf = (hint: string | null | undefined) => (hint == null ? {} : { hint });

/** An option: a choice, or a switch. One of another kind is not shown, since nobody could set it. */
function ConfigOption({ option }: { option: Option }) {
  const model = useModel();
  const { id, type, currentValue, description } = option;
  const label = option.name || id;
  if (type === "boolean")
    return (
      <label class="switch" title={description ?? label}>
        <input
          type="checkbox"
          checked={currentValue === true}
          onChange={(event) => void model.choices.setOption(id, event.currentTarget.checked)}
        />
        {label}
      </label>
    );
  if (type !== "select") return null;
  return (
    <Picker
      label={label}
      {...(description == null ? {} : { hint: description })}
      current={typeof currentValue === "string" ? currentValue : ""}
      choices={(option.options ?? []).map(({ value, name, group }) => ({
        value,
        name: name ?? "",
        ...(group == null ? {} : { group }),
      }))}
      onChoose={(value) => void model.choices.setOption(id, value)}
    />
  );
}

interface PickerChoice {
  readonly value: string;
  readonly name: string;
  readonly group?: string;
}

function Picker({
  label,
  hint,
  current,
  choices,
  onChoose,
}: {
  label: string;
  hint?: string;
  current: string;
  choices: readonly PickerChoice[];
  onChoose?: (value: string) => void;
}) {
  const chosen = choices.find(({ value }) => value === current);
  return (
    <select
      class="model"
      aria-label={label}
      title={`${label}: ${chosen?.name || current || t("not chosen")}${hint === undefined ? "" : `. ${hint}`}`}
      value={current}
      disabled={onChoose === undefined}
      onChange={(event) => {
        const { value } = event.currentTarget;
        // Until the agent has taken it, the other one is in use.
        event.currentTarget.value = current;
        if (value !== "" && value !== current) onChoose?.(value);
      }}
    >
      {chosen === undefined && <option value={current}>{current === "" ? label : current}</option>}
      {choices.map(({ value, name, group }) => (
        <option key={value} value={value}>
          {group === undefined ? name || value : `${group}: ${name || value}`}
        </option>
      ))}
    </select>
  );
}

/** How full the agent's context is and what the session cost, where the agent counts it; closer as a tooltip. */
export function Usage({ session }: { session: OpenSession }) {
  const { usage } = session.info.value;
  if (usage == null) return null;
  const { used, size, cost } = usage;
  const share = size > 0 ? ` (${Math.round((used / size) * 100)} %)` : "";
  const tokens = (count: (tokens: number) => string) =>
    t("Context: {0}{1} tokens", count(used), size > 0 ? t(" of {0}", count(size)) : "");
  const price = (amount: (amount: number) => string) =>
    cost == null ? "" : `${amount(cost.amount)} ${cost.currency}`.trimEnd();
  return (
    <p class="usage hint" title={`${tokens(String)}${cost == null ? "" : t("; cost so far: {0}", price(rounded))}`}>
      {`${tokens(short)}${share}${cost == null ? "" : ` · ${price(money)}`}`}
    </p>
  );
}
