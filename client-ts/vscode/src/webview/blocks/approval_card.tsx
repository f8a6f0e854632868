/**
 * An ask: exactly what would happen, and the answers.
 *
 * Owns that nothing else can be approved than what is seen: the digest of what is drawn goes with the answer, a card
 * never changes its place for another, a click in the moment that it appears is taken for one that was meant for
 * something else, and a key that is held down answers once. Owns where the focus goes when its buttons go.
 */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useModel } from "../model/context";
import { momentWords } from "../moment";
import { visible } from "../visible";
import { Diff } from "./diff";
import { Icon } from "./icon";
import { readable } from "./tool_card";

/** A hand that was on its way when the card came needs about this long to be held back. */
export const GRACE_MS = 350;

const STATUS = {
  pending: "waits for your answer",
  allowed: "allowed",
  denied: "denied",
  expired: "denied: the time ran out",
  cancelled: "cancelled",
} as const;

export function ApprovalCard({ block, patch }: { block: BlockOf<"permission">; patch?: BlockOf<"patch"> }) {
  const model = useModel();
  const { permission, status } = block;
  const section = useRef<HTMLElement>(null);
  const readyAt = useRef(performance.now() + GRACE_MS);
  const [ready, setReady] = useState(false);
  const [sending, setSending] = useState(false);
  const [ruling, setRuling] = useState<string | undefined>(undefined);
  const [pattern, setPattern] = useState(permission.rule?.pattern ?? "");
  const [scope, setScope] = useState<"session" | "workspace">(permission.rule?.scope ?? "session");
  const [details, setDetails] = useState<string | undefined>(undefined);
  const { trusted } = model.standing.host.value;
  const pending = status === "pending";
  const brought = model.asks.brought.value;
  const broughtAt = brought?.requestId === permission.requestId ? brought.at : undefined;

  // It can be answered a while after it came, and a while after the page itself put the focus on it.
  useLayoutEffect(() => {
    if (broughtAt !== undefined) readyAt.current = broughtAt + GRACE_MS;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      const left = readyAt.current - performance.now();
      setReady(left <= 0);
      if (left > 0) timer = setTimeout(look, Math.ceil(left));
    };
    look();
    return () => clearTimeout(timer);
  }, [broughtAt]);

  // Looked at while the buttons are still there: afterwards the focus is on nothing.
  const holds = (): boolean => section.current?.contains(document.activeElement) === true;
  const held = holds();
  const waited = useRef(pending);
  useLayoutEffect(() => {
    if (waited.current && !pending && held && !holds()) model.goOn();
    waited.current = pending;
  });

  const answer = async (decision: "allow_once" | "deny" | "allow_rule", optionId: string): Promise<void> => {
    if (sending || performance.now() < readyAt.current) return;
    setSending(true);
    const changed = {
      ...(pattern === permission.rule?.pattern ? {} : { pattern }),
      ...(scope === permission.rule?.scope ? {} : { scope }),
    };
    await model.asks.answer(
      permission,
      decision,
      optionId,
      decision === "allow_rule" && Object.keys(changed).length > 0 ? changed : undefined,
    );
    setSending(false);
  };
  const showDetails = async (): Promise<void> => {
    try {
      setDetails(visible(readable((await model.reading.eventBody(block.seq)).payload)));
    } catch (error) {
      model.sentences.alert(error);
    }
  };

  // Said, not enforced by the browser: a button that is switched off loses the focus.
  const busy = sending || !ready;

  return (
    <section
      ref={section}
      class={`card approval ${status}`}
      aria-label={`Request: ${permission.title}`}
      data-request={permission.requestId}
      onKeyDown={once}
    >
      <header>
        <Icon name={pending ? "shield" : status === "allowed" ? "pass" : "circle-slash"} />
        <span class="status">{pending ? "The agent asks to" : STATUS[status]}</span>
      </header>
      <pre class="asked" tabindex={0}>
        {permission.title}
      </pre>
      {patch?.diff != null && pending && <Diff text={patch.diff} label="What would be written" />}
      {pending && (
        <>
          {details !== undefined && (
            <pre class="input" tabindex={0} aria-label="Details">
              {details}
            </pre>
          )}
          {!trusted && (
            <p class="hint">
              This folder is not trusted, so nothing can be allowed.{" "}
              <button type="button" class="link" onClick={() => void model.editor("editor.manageTrust")}>
                Manage trust
              </button>
            </p>
          )}
          <div class="buttons">
            {permission.options.map((option) => (
              <button
                key={option.optionId}
                type="button"
                class={option.kind === "allow_once" ? "primary" : "secondary"}
                disabled={!trusted && option.kind !== "deny"}
                aria-disabled={busy}
                aria-expanded={option.kind === "allow_rule" ? ruling === option.optionId : undefined}
                onClick={() => {
                  if (option.kind === "allow_rule" && permission.rule != null)
                    setRuling(ruling === option.optionId ? undefined : option.optionId);
                  else void answer(option.kind, option.optionId);
                }}
              >
                {option.label}
                {option.kind === "allow_rule" && permission.rule != null ? "…" : ""}
              </button>
            ))}
            {details === undefined && (
              <button type="button" class="link" onClick={() => void showDetails()}>
                Details
              </button>
            )}
          </div>
          {ruling !== undefined && (
            <div class="rule" role="group" aria-label="The rule that would be saved">
              <label>
                Allow from now on
                <input
                  type="text"
                  value={pattern}
                  spellcheck={false}
                  onInput={(event) => setPattern(event.currentTarget.value)}
                />
              </label>
              <label>
                where
                <select
                  value={scope}
                  onChange={(event) => setScope(event.currentTarget.value as "session" | "workspace")}
                >
                  <option value="session">in this session</option>
                  {permission.rule?.scope === "workspace" && <option value="workspace">in this workspace</option>}
                </select>
              </label>
              <button
                type="button"
                class="primary"
                disabled={pattern.trim() === ""}
                aria-disabled={busy}
                onClick={() => void answer("allow_rule", ruling)}
              >
                Save the rule and allow
              </button>
            </div>
          )}
          {permission.expiresAt != null && (
            <p class="hint">Counts as denied after {momentWords(permission.expiresAt, Date.now())}.</p>
          )}
        </>
      )}
    </section>
  );
}

/** A key that is still held down from another button presses nothing here. */
function once(event: KeyboardEvent): void {
  if (event.repeat && event.target instanceof HTMLButtonElement && (event.key === "Enter" || event.key === " "))
    event.preventDefault();
}
