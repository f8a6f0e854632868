/** How an ask stands, in words. Says what the block says and nothing else. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { visible } from "../visible";
import { lies } from "./kept_in";

const STATUS = {
  pending: "waits for your answer",
  saving: "saving what is unsaved, then it runs",
  allowed: "allowed",
  denied: "denied",
  expired: "denied: the time ran out",
  cancelled: "cancelled",
} as const;

const WHERE = { session: " for this session", workspace: " for this workspace" } as const;

/** What became of an ask. An answer is named where the request had several of its kind. */
export function askState({ permission, status, chosen }: BlockOf<"permission">): string {
  const rule = chosen?.rule;
  if (rule != null) {
    const keeper = rule.keptBy == null ? `the ${rule.holder}` : visible(rule.keptBy);
    const where = rule.scope == null ? "" : WHERE[rule.scope];
    return `allowed, and kept by ${keeper}${lies(rule)}${where}${rule.holder === "server" ? "" : "; take it back there"}`;
  }
  const kind = permission.options.find(({ optionId }) => optionId === chosen?.optionId)?.kind;
  const alike = kind === undefined ? 0 : permission.options.filter((option) => option.kind === kind).length;
  return chosen != null && alike > 1 ? `${STATUS[status]}: “${chosen.label}”` : STATUS[status];
}
