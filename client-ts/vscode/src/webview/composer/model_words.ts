/** What a model can and costs, as far as it is known, in the words of the picker. */
import type { ModelsListResult } from "@breadboard-ls/sdk";
import { LOCALE, t } from "../messages";

type Model = ModelsListResult["models"][number];

/** Its name, what it reads at once, whether it sees, and its price for a million tokens. */
export function modelWords({ name, contextWindow, images, price }: Model): string {
  const words = [name];
  if (contextWindow != null) words.push(t("{0} tokens", short(contextWindow)));
  if (images != null) words.push(images ? t("sees images") : t("no images"));
  if (price != null) words.push(t("{0} in, {1} out", amount(price.input), amount(price.output)));
  return words.join(" · ");
}

function short(tokens: number): string {
  return new Intl.NumberFormat(LOCALE ?? "en", { notation: "compact", maximumFractionDigits: 0 }).format(tokens);
}

function amount(value: number): string {
  return new Intl.NumberFormat(LOCALE ?? "en", { maximumFractionDigits: 2 }).format(value);
}
