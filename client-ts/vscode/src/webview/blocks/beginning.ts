/**
 * Whether the beginning of a card was on the screen.
 *
 * Owns what counts as that: its head, or a part of it, since the card has this text. A card that is taller than the list comes
 * with its end, and what stands further up is a part of what is allowed.
 */
import { type RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** `unknown` until the browser has told. */
export type Beginning = "unknown" | "above" | "seen";

export function useBeginning(card: RefObject<HTMLElement | null>, text: string, wanted: boolean): Beginning {
  const [known, setKnown] = useState<{ readonly text: string; readonly is: Beginning }>({ text, is: "unknown" });
  const is = known.text === text ? known.is : "unknown";
  const looks = wanted && is !== "seen";
  useEffect(() => {
    const head = card.current?.querySelector("header");
    if (!looks || head == null) return;
    // Where nothing is laid out, nothing is above anything.
    if (typeof IntersectionObserver === "undefined") return setKnown({ text, is: "seen" });
    const observer = new IntersectionObserver((entries) => {
      setKnown({ text, is: entries.some(({ isIntersecting }) => isIntersecting) ? "seen" : "above" });
    });
    observer.observe(head);
    return () => observer.disconnect();
  }, [text, looks]);
  return is;
}
