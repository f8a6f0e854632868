/**
 * One block, by its kind. What has no kind here is shown as text and nothing else.
 *
 * Owns that a block which did not change is not drawn again: blocks are never changed in place.
 */
import type { Block, BlockOf } from "@breadboard-ls/sdk";
import { Component, type ComponentChild } from "preact";
import { useModel } from "../model/context";
import { Answer } from "./answer";
import { ApprovalCard } from "./approval_card";
import { Icon } from "./icon";
import { PatchCard } from "./patch_card";
import { readable, ToolCard } from "./tool_card";

interface BlockProps {
  readonly block: Block;
  /** For a patch: its diff stands in the ask that waits for it. */
  readonly inAsk?: boolean;
}

export class BlockView extends Component<BlockProps> {
  override shouldComponentUpdate(next: BlockProps): boolean {
    return next.block !== this.props.block || next.inAsk !== this.props.inAsk;
  }

  override render({ block, inAsk = false }: BlockProps): ComponentChild {
    switch (block.kind) {
      case "user":
        return (
          <section class="user" aria-label="You">
            <div class="text">{block.text}</div>
            {(block.attachmentIds?.length ?? 0) > 0 && (
              <div class="hint">
                <Icon name="attach" />{" "}
                {block.attachmentIds?.length === 1 ? "one attachment" : `${block.attachmentIds?.length} attachments`}
              </div>
            )}
          </section>
        );
      case "assistant":
        return <Answer block={block} />;
      case "reasoning":
        return (
          <details class="reasoning" open={block.streaming}>
            <summary>
              {block.streaming ? <Icon name="loading" spin /> : <Icon name="lightbulb" />} {firstLine(block.text)}
            </summary>
            <div class="text">{block.text}</div>
          </details>
        );
      case "tool":
        return <ToolCard block={block} />;
      case "permission":
        return <ApprovalCard block={block} />;
      case "plan":
        return (
          <section class="card plan" aria-label="Plan">
            <header>
              <Icon name="checklist" /> Plan
            </header>
            <ol>
              {block.steps.map((step, at) => (
                <li key={at} class={step.status ?? ""}>
                  <Icon name={STEP[step.status ?? ""] ?? "circle-outline"} />
                  <span>{step.text}</span>
                  {step.status != null && <span class="visually-hidden">({step.status})</span>}
                </li>
              ))}
            </ol>
          </section>
        );
      case "patch":
        return <PatchCard block={block} inAsk={inAsk} />;
      case "command":
        return (
          <p class="meta">
            <Icon name="terminal" /> <code>{block.command}</code> {block.status}
          </p>
        );
      case "task":
        return (
          <p class={`meta task ${block.status}`}>
            <Icon name="tasklist" /> {block.title} <span class="status">{block.status}</span>
          </p>
        );
      case "checkpoint":
        return (
          <p class="meta">
            <Icon name="history" /> {block.title} <span class="status">{block.status}</span>
          </p>
        );
      case "link":
        return <LinkRow block={block} />;
      case "summary":
        return (
          <section class={`card summary ${block.success ? "ok" : "failed"}`} aria-label="How the turn ended">
            <header>
              <Icon name={block.success ? "pass" : "error"} /> {block.text}
            </header>
            {block.details != null && <Facts value={block.details} />}
          </section>
        );
      case "notice":
        return (
          <div class={`notice ${block.level}`} role={block.level === "error" ? "alert" : undefined}>
            <Icon name={block.level === "info" ? "info" : block.level} /> <span>{block.text}</span>
          </div>
        );
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

function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line === "" ? "Thinking" : line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

/** Something that we have no word for: its raw text, never its markup. */
function UnknownBlock({ type, preview, seq }: { type: string; preview: string; seq: number }) {
  const model = useModel();
  const open = async (): Promise<void> => {
    try {
      const event = await model.reading.eventBody(seq);
      await model.editor("editor.openText", { title: type, text: JSON.stringify(event, null, 2), language: "json" });
    } catch (error) {
      model.sentences.alert(error);
    }
  };
  return (
    <details class="unknown">
      <summary>
        <Icon name="question" /> <code>{type}</code>
      </summary>
      <pre tabindex={0}>{preview}</pre>
      <button type="button" class="link" onClick={() => void open()}>
        Show all
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
  return (
    <p class="meta">
      <Icon name="link" />{" "}
      <button type="button" class="link" title={block.uri} onClick={open}>
        {block.label}
      </button>
    </p>
  );
}

/** Counts that the engine gave, as they are. */
export function Facts({ value }: { value: unknown }) {
  if (typeof value !== "object" || value === null) return <p>{readable(value)}</p>;
  return (
    <dl class="facts">
      {Object.entries(value).map(([name, fact]) => (
        <div key={name}>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>
            {Array.isArray(fact) && fact.every((one) => typeof one === "string")
              ? fact.join(", ") || "–"
              : readable(fact)}
          </dd>
        </div>
      ))}
    </dl>
  );
}
