/**
 * One block, by its kind. What has no kind here is shown as text and nothing else.
 *
 * Owns that a block which did not change is not drawn again: blocks are never changed in place.
 */
import type { BlockOf } from "@breadboard-ls/sdk";
import { Component, type ComponentChild } from "preact";
import { useModel } from "../model/context";
import type { Row } from "../transcript/rows";
import { Answer } from "./answer";
import { ApprovalCard } from "./approval_card";
import { Icon } from "./icon";
import { readable } from "./arguments";
import { UserActions } from "./user_actions";
import { NoticeRow } from "./notice_row";
import { PatchCard } from "./patch_card";
import { ToolCard } from "./tool_card";
import { verbsOf } from "./tool_words";
import { TurnChangesRow } from "./turn_changes";
import { TurnEnd, TurnStart } from "./turn_marks";
import { WentAlong } from "./went_along";
import { t } from "../messages";
import { statusWords } from "../status_words";

export class BlockView extends Component<Row> {
  override shouldComponentUpdate(next: Row): boolean {
    const { block, patch, call, refused, prompt } = this.props;
    return (
      next.block !== block ||
      next.patch !== patch ||
      next.call !== call ||
      next.refused !== refused ||
      next.prompt !== prompt
    );
  }

  override render({ block, patch, call, refused, prompt }: Row): ComponentChild {
    switch (block.kind) {
      case "user":
        return (
          <section class="user" aria-label={t("You")}>
            <UserActions block={block} />
            <div class="text" dir="auto">
              {block.text}
            </div>
            {(block.attachmentIds?.length ?? 0) > 0 && (
              <div class="hint">
                <Icon name="attach" />{" "}
                {block.attachmentIds?.length === 1 ? t("one attachment") : t("{0} attachments", block.attachmentIds?.length)}
              </div>
            )}
            <WentAlong block={block} />
          </section>
        );
      case "turn-start":
        return <TurnStart block={block} />;
      case "turn-end":
        return <TurnEnd block={block} prompt={prompt} />;
      case "assistant":
        return <Answer block={block} />;
      case "reasoning":
        return <Thought text={block.text} streaming={block.streaming} />;
      case "tool":
        return <ToolCard block={block} refused={refused} />;
      case "permission":
        return <ApprovalCard block={block} patch={patch} call={call} refused={refused} />;
      case "plan":
        return (
          <section class="card plan" aria-label={t("Plan")}>
            <header>
              <Icon name="checklist" />{" "}{t("Plan")}
            </header>
            <ol>
              {block.steps.map((step, at) => (
                <li key={at} class={step.status ?? ""}>
                  <Icon name={STEP[step.status ?? ""] ?? "circle-outline"} />
                  <span>{step.text}</span>
                  {step.status != null && <span class="visually-hidden">({statusWords(step.status)})</span>}
                </li>
              ))}
            </ol>
          </section>
        );
      case "patch":
        return <PatchCard block={block} call={call} refused={refused} />;
      case "changes":
        return <TurnChangesRow block={block} />;
      case "command":
        return (
          <p class="meta">
            <Icon name="terminal" /> <code>{block.command}</code> {statusWords(block.status)}
          </p>
        );
      case "task":
        return (
          <p class={`meta task ${block.status}`}>
            <Icon name="tasklist" /> {block.title} <span class="status">{statusWords(block.status)}</span>
          </p>
        );
      case "checkpoint":
        return (
          <p class="meta">
            <Icon name="history" /> {block.title} <span class="status">{statusWords(block.status)}</span>
          </p>
        );
      case "link":
        return <LinkRow block={block} />;
      case "summary":
        return (
          <section class={`card summary ${block.success ? "ok" : "failed"}`} aria-label={t("How the turn ended")}>
            <header>
              <Icon name={block.success ? "pass" : "error"} /> {block.text}
            </header>
            {block.details != null && <Facts value={block.details} />}
          </section>
        );
      case "notice":
        return <NoticeRow block={block} prompt={prompt} />;
      case "unknown":
        return <UnknownBlock type={block.type} preview={block.preview} seq={block.seq} />;
      default:
        return (
          <UnknownBlock
            type={`block ${String((block as { kind?: unknown }).kind)}`}
            preview={readable(block)}
            seq={(block as { seq: number }).seq}
          />
        );
    }
  }
}

const STEP: Readonly<Record<string, string>> = {
  done: "pass",
  completed: "pass",
  running: "sync",
  in_progress: "sync",
  failed: "error",
  pending: "circle-outline",
  cancelled: "circle-slash",
};

/** What was thought, under its first line. */
function Thought({ text, streaming }: { text: string; streaming: boolean }) {
  const thought = text.trim();
  return (
    <details class="reasoning" open={streaming && thought !== ""}>
      <summary>
        {streaming ? <Icon name="loading" spin /> : <Icon name="lightbulb" />}{" "}
        {firstLine(thought)}
      </summary>
      <div class="text">{thought}</div>
    </details>
  );
}

function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line === "" ? t("Thinking") : line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

/** Something that we have no word for: its raw text, never its markup. */
function UnknownBlock({ type, preview, seq }: { type: string; preview: string; seq: number }) {
  const model = useModel();
  const open = (): Promise<void> =>
    model.sentences.attempt(async () => {
      const event = await model.reading.eventBody(seq);
      await model.editor("editor.openText", { title: type, text: JSON.stringify(event, null, 2), language: "json" });
    });
  return (
    <details class="unknown">
      <summary>
        <Icon name="question" /> <code>{type}</code>
      </summary>
      <pre tabindex={0}>{preview}</pre>
      <button type="button" class="link" onClick={() => void open()}>
        {t("Show all")}
      </button>
    </details>
  );
}

function LinkRow({ block }: { block: BlockOf<"link"> }) {
  const model = useModel();
  const open = (): void => {
    if (/^(?:https?|mailto|file):/i.test(block.uri)) void model.editor("editor.openLink", { uri: block.uri });
    else void model.editor("editor.openArtifact", { sessionId: model.tabs.activeId.value, artifactPath: block.uri });
  };
  // An image runs no script, whatever it is a picture of.
  if (block.picture?.startsWith("data:image/"))
    return (
      <figure class="picture">
        <img src={block.picture} alt={block.label} />
        <figcaption>{block.label}</figcaption>
      </figure>
    );
  if (block.uri === "")
    return (
      <p class="meta">
        <Icon name="file-media" /> {block.label}
      </p>
    );
  return (
    <p class="meta">
      <Icon name="link" />{" "}
      <button type="button" class="link" title={block.uri} onClick={open}>
        {block.label}
      </button>
    </p>
  );
}

/** Counts that the engine gave, as lines of names and values. What the sentence above says already is left out. */
export function Facts({ value }: { value: unknown }) {
  const facts = factsOf(value);
  if (facts.length === 0) return null;
  return (
    <dl class="facts">
      {facts.map(([name, fact]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{fact}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Names and values; what is nested has the names around it in front. */
function factsOf(value: unknown, around = ""): [string, string][] {
  const name = around.trim();
  if (Array.isArray(value) && value.every((one) => typeof one !== "object" || one === null))
    return [[name, value.join(", ") || "–"]];
  if (typeof value !== "object" || value === null) return value == null || name === "" ? [] : [[name, worded(value)]];
  return Object.entries(value)
    .filter(([key]) => around !== "" || (key !== "success" && key !== "cancelled"))
    .flatMap(([key, fact]) =>
      key === "tools_used" && isTexts(fact)
        ? [[t("tools used"), verbsOf(fact) || "–"] as [string, string]]
        : factsOf(fact, `${around} ${key.replaceAll(/[_-]/g, " ")}`),
    );
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function worded(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? value.toLocaleString("en") : String(value);
}
