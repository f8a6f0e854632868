/** Names and values: arguments of a tool, variables of a command. Only what is nested is written as JSON. */

import { t } from "../messages";

export function Arguments({ value }: { value: unknown }) {
  if (value === undefined || value === null) return null;
  if (typeof value === "object" && !Array.isArray(value)) {
    const values = value as Record<string, unknown>;
    return Object.keys(values).length === 0 ? null : <Lines label={t("Arguments")} values={values} />;
  }
  return (
    <pre class="asked" tabindex={0} aria-label={t("Arguments")}>
      {readable(value)}
    </pre>
  );
}

export function Lines({ label, values }: { label: string; values: Readonly<Record<string, unknown>> }) {
  return (
    <dl class="lines" aria-label={label}>
      {Object.entries(values).map(([name, value]) => (
        <div key={name}>
          <dt>
            <code>{name}</code>
          </dt>
          <dd>{lineOf(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function lineOf(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object" || one === null))
    return value.map((one) => readable(one)).join("\n");
  return readable(value);
}

/** A value as text: text stays as it is, everything else is JSON. */
export function readable(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
