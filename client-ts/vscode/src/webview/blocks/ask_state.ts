/** How an ask stands, in words. Says what the block says and nothing else. */
import { type BlockOf, isKnownOption, type Permission } from "@breadboard-ls/sdk";
import { visible } from "../visible";
import { lies } from "./kept_in";
import { said, t } from "../messages";
import { wordOf } from "../../shared/word_of";

const STATUS = {
  pending: t("waits for your answer"),
  saving: t("saving what is unsaved, then it runs"),
  allowed: t("allowed"),
  denied: t("denied"),
  expired: t("denied: the time ran out"),
  cancelled: t("cancelled"),
} as const;

const WHERE = { session: t(" for this session"), workspace: t(" for this workspace") } as const;

const HOLDER = { server: t("the server"), engine: t("the engine"), agent: t("the agent") } as const;

/** The labels of our own server; those of an agent are its own words. */
export const LABELS: Readonly<Record<string, string>> = {
  "Allow once": t("Allow once"),
  "Allow for this session": t("Allow for this session"),
  "Allow in this workspace": t("Allow in this workspace"),
  "Always allow in this workspace": t("Always allow in this workspace"),
  "Allow all edits of this session": t("Allow all edits of this session"),
  "Save and run": t("Save and run"),
  "Run anyway": t("Run anyway"),
  Accept: t("Accept"),
  Decline: t("Decline"),
  Deny: t("Deny"),
};

export function labelWords(label: string): string {
  return LABELS[label] ?? label;
}

/** What an ask is called: in our words where its subject says the same, for a title may be an agent's. */
export function titleWords({ title, subject }: Pick<Permission, "title" | "subject">): string {
  const [file, ...others] = subject.kind === "edit" ? subject.files : [];
  if (file === undefined || others.length > 0) return title;
  const names = [file.filePath, `${file.root ?? ""}/${file.filePath}`];
  const name = names.find((one) => title.endsWith(` ${one}`));
  if (name !== undefined && title === `Write ${name}`) return t("Write {0}", name);
  if (name !== undefined && title === `Delete ${name}`) return t("Delete {0}", name);
  return title;
}

/** Who keeps a rule, where it gave no name. */
export function holderWords(holder: string): string {
  return HOLDER[holder as keyof typeof HOLDER] ?? holder;
}

/** Whether some changes of an edit were made and others left out: the engine was told no, and the server made them. */
export function isInPart({ permission, status, chosen }: Pick<BlockOf<"permission">, "permission" | "status" | "chosen">): boolean {
  const kind = permission.options.find(({ optionId }) => optionId === chosen?.optionId)?.kind;
  return status === "allowed" && chosen != null && (kind === undefined || kind === "deny");
}

/** What became of an ask. An answer is named where the request had several of its kind, or where its kind says nothing here. */
export function askState({ permission, status, chosen }: BlockOf<"permission">): string {
  const policy = permission.policy;
  const isByPolicy = (policy?.answer === "always" && status === "allowed") || (policy?.answer === "never" && status === "denied");
  if (policy != null && isByPolicy && chosen == null) return visible(said(policy.reason)).replace(/^./, (first) => first.toLowerCase()).replace(/\.$/, "");
  const rule = chosen?.rule;
  if (rule != null) {
    const keeper = rule.keptBy == null ? holderWords(rule.holder) : visible(rule.keptBy);
    const where = rule.scope == null ? "" : wordOf(WHERE, rule.scope, "");
    return t("allowed, and kept by {0}{1}{2}{3}", keeper, lies(rule), where, rule.holder === "server" ? "" : t("; take it back there"));
  }
  const kind = permission.options.find(({ optionId }) => optionId === chosen?.optionId)?.kind;
  const isUnknown = kind !== undefined && !isKnownOption({ kind });
  const alike = kind === undefined ? 0 : permission.options.filter((option) => option.kind === kind).length;
  const stands = wordOf(STATUS, status);
  if (chosen != null && isInPart({ permission, status, chosen })) return `${stands}: “${labelWords(chosen.label)}”`;
  return chosen != null && (alike > 1 || isUnknown) ? `${stands}: “${labelWords(chosen.label)}”` : stands;
}
