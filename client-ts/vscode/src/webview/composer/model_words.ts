/** What a model can and costs, as far as it is known, in the words of the picker. */
import type { ModelsListResult } from "@breadboard-ls/sdk";
import { t } from "../messages";
import { rounded, short } from "./amounts";

type Model = ModelsListResult["models"][number];

/** Its name, what it reads at once, whether it sees, and its price for a million tokens. */
export function modelWords({ name, contextWindow, images, price }: Model): string {
  const words = [name];
  if (contextWindow != null) words.push(t("{0} tokens", short(contextWindow)));
  if (images != null) words.push(images ? t("sees images") : t("no images"));
  if (price != null) words.push(t("{0} in, {1} out", rounded(price.input), rounded(price.output)));
  return words.join(" · ");
}
