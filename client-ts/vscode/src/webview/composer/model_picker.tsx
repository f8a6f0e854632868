/** Which model answers. Asked for when somebody looks, since it may ask a provider. */
import { useModel } from "../model/context";
import { t } from "../messages";
import { modelWords } from "./model_words";

export function ModelPicker() {
  const model = useModel();
  const engine = model.standing.engine.value;
  if (engine === undefined || !engine.capabilities.includes("models")) return null;
  const listed = model.choices.models.value;
  const current = listed?.current ?? engine.model ?? "";
  const known = listed?.models ?? [];
  const chosen = known.find(({ id, provider }) => id === current || `${provider}/${id}` === current);
  return (
    <select
      class="model"
      aria-label={t("Model")}
      title={current === "" ? t("No model is chosen") : t("Model: {0}", current)}
      value={chosen?.id ?? ""}
      onFocus={() => {
        if (listed === undefined) void model.choices.readModels();
      }}
      onChange={(event) => {
        const { value } = event.currentTarget;
        if (value === ":who") {
          event.currentTarget.value = chosen?.id ?? "";
          model.askWho();
        }
        else if (value !== "") void model.choices.setModel(value);
      }}
    >
      {chosen === undefined && <option value="">{current === "" ? t("No model") : engine.kind === "embedded" ? nameOf(current) : current}</option>}
      {known.map((entry) => (
        <option key={`${entry.provider}/${entry.id}`} value={entry.id} title={modelWords(entry)}>
          {modelWords(entry)}
        </option>
      ))}
      <option value=":who">{t("Another model or agent…")}</option>
    </select>
  );
}

/** A model of the built-in engine without its provider, as the list names it: there is room for one of them. */
function nameOf(model: string): string {
  return model.slice(model.indexOf("/") + 1) || model;
}
