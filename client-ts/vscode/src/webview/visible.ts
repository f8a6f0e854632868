/**
 * Text that the server did not make safe to show, for a place where somebody decides by it.
 *
 * What the server gives out to be shown (titles, rules, cards) has its marks already and never passes here: they would be
 * marked again. A raw payload does.
 */

import { t } from "./messages";

/** Not seen, or moves the text around it; spaces but the usual one. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** More blanks in a row than an indented text has. */
const FAR = / {81,}/g;

/** The text with everything in it that would not be seen written out, as the server does it. */
export function visible(text: string): string {
  return text
    .replace(/[⟨⟩]/g, mark)
    .replace(UNSEEN, (found) => (found === "\n" || found === "\t" ? found : mark(found)))
    .replace(FAR, (blanks) => t("⟨{0} spaces⟩", blanks.length));
}

function mark(character: string): string {
  const number = character.codePointAt(0) ?? 0;
  return `⟨U+${number.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
