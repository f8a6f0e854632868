/** A tool call: what it does to what, how it stands, what came of it, and the way to the whole. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { useModel } from "../model/context";
import { plain } from "./ansi";
import { Arguments } from "./arguments";
import { Diff } from "./diff";
import { Icon } from "./icon";
import { isDiff, ToolResult } from "./tool_result";
import { deedOf, exitCodeOf, resultText, wholeResult } from "./tool_words";
import { t } from "../messages";
import { wordOf } from "../../shared/word_of";

/** A whole result up to this many characters is shown in the card; a larger one opens in an editor. */
export const MOST_INLINE = 200_000;

type Call = BlockOf<"tool">;
/** How an ask keeps a call from running. */
export type Refusal = "pending" | "denied" | "expired";

interface Standing {
  readonly icon: string;
  readonly word: string;
  /** Class of its card. */
  readonly look: string;
}

const STATUS: Readonly<Record<string, Standing>> = {
  running: { icon: "loading", word: t("running"), look: "running" },
  ok: { icon: "check", word: t("done"), look: "ok" },
  failed: { icon: "error", word: t("failed"), look: "failed" },
  cancelled: { icon: "circle-slash", word: t("cancelled"), look: "cancelled" },
  denied: { icon: "circle-slash", word: t("denied"), look: "denied" },
};
const REFUSED: Readonly<Record<Refusal, Standing>> = {
  pending: { icon: "shield", word: t("waits for your answer"), look: "waiting" },
  denied: { icon: "circle-slash", word: t("denied"), look: "denied" },
  expired: { icon: "circle-slash", word: t("denied: the time ran out"), look: "denied" },
};

/** How long a command in the background runs. */
const IN_BACKGROUND: Readonly<Record<NonNullable<Call["background"]>, string>> = {
  turn: t("runs in the background"),
  kept: t("runs on after the turn"),
};

/** How a call stands; one that was not allowed did not fail, whatever its engine has for a word. One that ran ran. */
export function standingOf(
  { status, preview, exitCode, background }: Pick<Call, "status" | "preview" | "exitCode" | "background">,
  refused: Refusal | undefined,
): Standing {
  if (refused !== undefined && status !== "ok") return REFUSED[refused];
  if (status === "running" && background != null) return { icon: "loading", word: wordOf(IN_BACKGROUND, background), look: "running" };
  const standing = STATUS[status] ?? { icon: "question", word: status, look: "cancelled" };
  // The built-in engine tells it in the words of the result only.
  const code = exitCode ?? exitCodeOf(preview ?? "");
  if (code === 0) return standing;
  // It ran, and that may be all that was wanted of it; but well it did not end.
  if (status === "ok") return { icon: "warning", word: t("exit code {0}", code), look: "ok" };
  return status === "failed" ? { ...standing, word: t("failed: exit code {0}", code) } : standing;
}

/** What the server puts in the place of output that went to a terminal. */
const IN_TERMINAL = /^\[terminal [^\]\n]*\]$/;

export function ToolCard({ block, refused }: { block: Call; refused?: Refusal | undefined }) {
  const { verb, to } = deedOf(block);
  const { icon, word, look } = standingOf(block, refused);
  return (
    <details class={`card tool ${look}`} open={look === "running" || look === "failed"}>
      <summary>
        <Icon name={icon} spin={look === "running"} />
        <span class="title" title={to === undefined ? verb : `${verb} ${to}`}>
          {verb}
          {to !== undefined && (
            <>
              {" "}
              <code>{to}</code>
            </>
          )}
        </span>
        <span class="status">{word}</span>
      </summary>
      <Arguments value={block.input} />
      <Outcome block={block} refused={refused} />
    </details>
  );
}

/** What came of a call, or why nothing did. */
export function Outcome({ block, refused }: { block: Call; refused?: Refusal | undefined }) {
  const model = useModel();
  const [whole, setWhole] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const { verb, to } = deedOf(block);
  const title = to === undefined ? verb : `${verb} ${to}`;
  const showAll = async (): Promise<void> => {
    setBusy(true);
    await model.sentences.attempt(async () => {
      const event = await model.reading.eventBody(block.resultSeq ?? block.seq);
      const text = wholeResult(event.payload);
      if (text.length > MOST_INLINE) await model.editor("editor.openText", { title, text: plain(text) });
      else setWhole(text);
    });
    setBusy(false);
  };
  const { look } = standingOf(block, refused);
  const result = whole ?? resultText(block.preview ?? "");
  const inTerminal = IN_TERMINAL.test(result);
  // Of a call that was not allowed what it would have changed says something; what its model was told does not.
  const text = inTerminal || (look === "denied" && !isDiff(result)) ? "" : result;
  return (
    <>
      {text === "" && look === "denied" && <p class="hint">{t("It was not allowed, so nothing was done.")}</p>}
      {inTerminal && <p class="hint">{t("Its output went to a terminal.")}</p>}
      {text === "" && look === "failed" && !inTerminal && <p class="hint">{t("It gave no reason.")}</p>}
      {block.diff != null && <Diff text={block.diff} label={t("Changes")} />}
      {text !== "" && <ToolResult text={text} label={block.status === "running" ? t("Output so far") : t("Result")} />}
      <div class="actions">
        {block.status === "running" && block.background != null && block.toolCallId != null && (
          <button
            type="button"
            class="link"
            onClick={() => void model.choices.command("stop_command", { toolCallId: block.toolCallId })}
          >
            {t("Stop this command")}
          </button>
        )}
        {block.truncated === true && whole === undefined && look !== "denied" && (
          <button type="button" class="link" disabled={busy} onClick={() => void showAll()}>
            {t("Show all{0}", block.bytes == null ? "" : ` (${bytes(block.bytes)})`)}
          </button>
        )}
        {(block.diff ?? text) !== "" && (
          <button
            type="button"
            class="link"
            onClick={() =>
              void model.editor("editor.openText", { title, text: [block.diff, plain(text)].filter(Boolean).join("\n") })
            }
          >
            {t("Open in editor")}
          </button>
        )}
        {block.artifact != null && (
          <button
            type="button"
            class="link"
            onClick={() =>
              void model.editor("editor.openArtifact", {
                sessionId: model.tabs.activeId.value,
                artifactPath: block.artifact,
              })
            }
          >
            {t("Open the whole output")}
          </button>
        )}
      </div>
    </>
  );
}

/** A size for people. */
export function bytes(count: number): string {
  if (count < 1024) return t("{0} bytes", count);
  return count < 1024 * 1024 ? t("{0} KiB", (count / 1024).toFixed(1)) : t("{0} MiB", (count / 1024 / 1024).toFixed(1));
}
