/** Sentences for people: what stands in backticks is code, and a place of the workspace opens. */
import type { ComponentChildren } from "preact";
import { useModel } from "../model/context";
import { type Place, partsOf, type Which } from "../places";
import { said, t } from "../messages";

/** A sentence of the server, of an engine or of ours. */
export function Words({ text }: { text: string }): ComponentChildren {
  return codeOf(said(text)).map(({ code, words }, at) =>
    code ? (
      <code key={at}>
        <Places text={words} />
      </code>
    ) : (
      <Places key={at} text={words} />
    ),
  );
}

/** The same in a page that opens no files. */
export function PlainWords({ text }: { text: string }): ComponentChildren {
  return codeOf(text).map(({ code, words }, at) => (code ? <code key={at}>{words}</code> : words));
}

/** A sentence in pieces, those in backticks without them. */
function codeOf(text: string): { readonly code: boolean; readonly words: string }[] {
  return text
    .split(/(`[^`\n]+`)/)
    .map((piece, at) => (at % 2 === 1 ? { code: true, words: piece.slice(1, -1) } : { code: false, words: piece }));
}

/** A text with the places in it as links. */
export function Places({ text, which = "with_line" }: { text: string; which?: Which }): ComponentChildren {
  return partsOf(text, which).map((part, at) =>
    typeof part === "string" ? part : <PlaceLink key={at} place={part.place} text={part.text} />,
  );
}

function PlaceLink({ place, text }: { place: Place; text: string }) {
  const model = useModel();
  return (
    <button
      type="button"
      class="link place"
      title={t("Open {0}", text)}
      onClick={(event) => {
        // A line that opens and closes what it stands on does not move.
        event.preventDefault();
        event.stopPropagation();
        void model.editor("editor.openFile", { ...place });
      }}
    >
      {text}
    </button>
  );
}
