/** Why a tab has no session: the sentence, and how one logs in where that is what is missing. */
import { BreadboardError, type Login, loginOf } from "@breadboard-ls/sdk";
import { sentenceOf } from "./sentences";

export interface TabFailure {
  readonly text: string;
  readonly login: Login | undefined;
}

export function tabFailureOf(error: unknown): TabFailure {
  return { text: sentenceOf(error), login: error instanceof BreadboardError ? loginOf(error.details) : undefined };
}
