/** The words of the server and of engines for how something stands, as a person reads them; a word that is not known stays. */
import { t } from "./messages";

const WORDS: Readonly<Record<string, string>> = {
  allowed: t("allowed"),
  cancelled: t("cancelled"),
  completed: t("completed"),
  created: t("created"),
  denied: t("denied"),
  connected: t("connected"),
  connecting: t("connecting"),
  disconnected: t("disconnected"),
  done: t("done"),
  failed: t("failed"),
  idle: t("idle"),
  in_progress: t("in progress"),
  ok: t("done"),
  pending: t("pending"),
  queued: t("queued"),
  restored: t("restored"),
  running: t("running"),
  stopped: t("stopped"),
  unknown: t("unknown"),
  waiting: t("waiting"),
};

export function statusWords(status: string | null | undefined): string {
  return status == null ? "" : (WORDS[status] ?? status);
}
