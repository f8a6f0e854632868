/** Sentences for people: what stands in backticks is code, and a place of the workspace opens. */
import type { ComponentChildren } from "preact";
import { useModel } from "../model/context";
import { type Place, partsOf, type Which } from "../places";

/** A sentence of the server, of an engine or of ours. */
export function Words({ text }: { text: string }): ComponentChildren {
  return text
    .split(/(`[^`\n]+`)/)
    .map((piece, at) =>
      at % 2 === 1 ? (
        <code key={at}>
          <Places text={piece.slice(1, -1)} />
        </code>
      ) : (
        <Places key={at} text={piece} />
      ),
    );
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
      title={`Open ${text}`}
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
