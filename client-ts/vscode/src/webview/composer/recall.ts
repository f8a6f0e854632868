/**
 * The prompts of a session, called back into an empty prompt with the arrow keys, as a shell does.
 *
 * Pure. Owns the order and when an arrow is for this and not for the cursor: in what was called back and not changed, at
 * its first line upwards and at its last line downwards.
 */

/** Where one stands in the prompts that were sent. */
export interface Recall {
  /** How far back: 0 is the last one. */
  readonly back: number;
  readonly text: string;
}

export interface Prompted {
  readonly text: string;
}

/**
 * What the arrow calls back: a prompt, an empty prompt after the last one (`back` -1), or nothing. `sent`: oldest first;
 * one that was sent twice in a row counts once.
 */
export function recalled<P extends Prompted>(
  key: "ArrowUp" | "ArrowDown",
  { text, cursor }: { readonly text: string; readonly cursor: number },
  now: Recall | undefined,
  sent: readonly P[],
): { readonly back: number; readonly prompt?: P } | undefined {
  const standing = now !== undefined && now.text === text ? now.back : text === "" ? -1 : undefined;
  if (standing === undefined) return undefined;
  const onEdge = key === "ArrowUp" ? !text.slice(0, cursor).includes("\n") : !text.slice(cursor).includes("\n");
  if (!onEdge) return undefined;
  const back = standing + (key === "ArrowUp" ? 1 : -1);
  if (back < -1) return undefined;
  if (back === -1) return { back };
  const distinct = sent.filter((one, at) => one.text !== sent[at + 1]?.text);
  const prompt = distinct.at(-1 - back);
  return prompt === undefined ? undefined : { back, prompt };
}
