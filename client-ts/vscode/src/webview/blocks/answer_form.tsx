/** The fields that a question asks to be filled in. Owns their drawing; what is in them is the card's. */
import { useId } from "preact/hooks";
import type { Faults, Field, Filled } from "../model/answer_form";
import { t } from "../messages";

export function AnswerForm({
  fields,
  filled,
  faults,
  fill,
}: {
  fields: readonly Field[];
  filled: Filled;
  faults: Faults;
  fill: (name: string, value: string) => void;
}) {
  const id = useId();
  return (
    <div class="form" role="group" aria-label={t("What is to be filled in")}>
      {fields.map((field, at) => {
        const fault = faults.get(field.name);
        const notes = `${id}-${at}`;
        return (
          <div key={field.name} class="field">
            <label>
              <span>
                {field.label}
                {field.required ? t(" (required)") : ""}
              </span>
              <Control
                field={field}
                value={filled.get(field.name) ?? field.first}
                fill={(value) => fill(field.name, value)}
                notes={notes}
                wrong={fault !== undefined}
              />
            </label>
            <div id={notes}>
              {field.hint !== undefined && <p class="hint">{field.hint}</p>}
              {fault !== undefined && (
                <p class="fault" role="alert">
                  {fault}
                </p>
              )}
            </div>
          </div>
        );
      })}
    </div>
  );
}

function Control({
  field,
  value,
  fill,
  notes,
  wrong,
}: {
  field: Field;
  value: string;
  fill: (value: string) => void;
  notes: string;
  wrong: boolean;
}) {
  const { kind } = field;
  const common = {
    name: field.name,
    "aria-describedby": notes,
    "aria-invalid": wrong,
    "aria-required": field.required,
  };
  switch (kind.type) {
    case "flag":
      return (
        <input
          {...common}
          type="checkbox"
          checked={value === "true"}
          onChange={(event) => fill(String(event.currentTarget.checked))}
        />
      );
    case "choice":
      return (
        <select {...common} value={value} onChange={(event) => fill(event.currentTarget.value)}>
          <option value="">{t("Choose")}</option>
          {kind.choices.map(({ label }, at) => (
            <option key={at} value={String(at)}>
              {label}
            </option>
          ))}
        </select>
      );
    case "other":
      return <span class="hint">{t("This cannot be filled in here.")}</span>;
    default:
      return (
        <input
          {...common}
          type="text"
          inputMode={kind.type === "number" ? "decimal" : "text"}
          value={value}
          spellcheck={false}
          onInput={(event) => fill(event.currentTarget.value)}
        />
      );
  }
}
