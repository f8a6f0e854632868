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

/** Whether some changes of an edit were made and others left out: the engine was told no, and the server made them. */
export function isInPart({ permission, status, chosen }: Pick<BlockOf<"permission">, "permission" | "status" | "chosen">): boolean {
  const kind = permission.options.find(({ optionId }) => optionId === chosen?.optionId)?.kind;
  return status === "allowed" && chosen != null && (kind === undefined || kind === "deny");
}

/** What became of an ask. An answer is named where the request had several of its kind. */
export function askState({ permission, status, chosen }: BlockOf<"permission">): string {
  const policy = permission.policy;
  const isByPolicy = (policy?.answer === "always" && status === "allowed") || (policy?.answer === "never" && status === "denied");
  if (policy != null && isByPolicy && chosen == null) return visible(policy.reason).replace(/^./, (first) => first.toLowerCase()).replace(/\.$/, "");
  const rule = chosen?.rule;
  if (rule != null) {
    const keeper = rule.keptBy == null ? `the ${rule.holder}` : visible(rule.keptBy);
    const where = rule.scope == null ? "" : WHERE[rule.scope];
    return `allowed, and kept by ${keeper}${lies(rule)}${where}${rule.holder === "server" ? "" : "; take it back there"}`;
  }
  const kind = permission.options.find(({ optionId }) => optionId === chosen?.optionId)?.kind;
  const alike = kind === undefined ? 0 : permission.options.filter((option) => option.kind === kind).length;
  if (chosen != null && isInPart({ permission, status, chosen })) return `${STATUS[status]}: “${chosen.label}”`;
  return chosen != null && alike > 1 ? `${STATUS[status]}: “${chosen.label}”` : STATUS[status];
}
