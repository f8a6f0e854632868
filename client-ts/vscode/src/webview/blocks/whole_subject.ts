/**
 * The whole of what an ask is about, where the view has only a part.
 *
 * Owns when it is read and that what came for another ask, or too late, is not used. Never answers anything.
 */
import type { Permission, Subject } from "@breadboard-ls/sdk";
import { useEffect, useState } from "preact/hooks";
import { isCut } from "../model/asks";
import { useModel } from "../model/context";
import { saidOf } from "../messages";

export interface WholeSubject {
  /** The whole as soon as it is there; until then what the view has. */
  readonly subject: Subject;
  /** The whole is not there: it is being read, or could not be. */
  readonly missing: { readonly failure?: string } | undefined;
  /** Reads it, or reads it again. */
  readonly read: () => void;
}

type Read =
  | { readonly state: "reading" }
  | { readonly state: "read"; readonly digest: string; readonly subject: Subject }
  | { readonly state: "failed"; readonly sentence: string };

export function useWhole(permission: Permission, pending: boolean): WholeSubject {
  const model = useModel();
  const [read, setRead] = useState<Read>({ state: "reading" });
  const [attempt, setAttempt] = useState(0);
  const { requestId, digest } = permission;
  const cut = pending && isCut(permission.subject);
  useEffect(() => {
    if (!cut) return;
    let wanted = true;
    setRead({ state: "reading" });
    model.asks.whole(permission).then(
      (subject) => wanted && setRead({ state: "read", digest, subject }),
      (error: unknown) => wanted && setRead({ state: "failed", sentence: sentenceOf(error) }),
    );
    return () => {
      wanted = false;
    };
  }, [cut, requestId, digest, attempt]);
  const again = (): void => setAttempt(attempt + 1);
  if (!cut) return { subject: permission.subject, missing: undefined, read: again };
  if (read.state === "read" && read.digest === digest)
    return { subject: read.subject, missing: undefined, read: again };
  return {
    subject: permission.subject,
    missing: read.state === "failed" ? { failure: read.sentence } : {},
    read: again,
  };
}

function sentenceOf(error: unknown): string {
  const text = saidOf(error).trim();
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
