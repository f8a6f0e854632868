/**
 * An ask: exactly what would happen, and the answers.
 *
 * Owns that nothing else can be approved than what is seen: the digest of what is drawn goes with the answer, what the
 * server cut or the card folded cannot be allowed before the whole of it was shown, a card never changes its place for another, a click in
 * the moment that it appears is taken for one that was meant for something else, and a key that is held down answers
 * once. An option of a kind that is not known here stands under its label and is held to what allowing is held to. Owns where the
 * focus goes when its buttons go, and what was changed in the rule of each answer.
 */
import { type BlockOf, isKnownOption, type PermissionOption } from "@breadboard-ls/sdk";
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { answerOf, type Faults, fieldsOf } from "../model/answer_form";
import type { AnswerDetails } from "../model/asks";
import { useModel } from "../model/context";
import { momentWords } from "../moment";
import { visible } from "../visible";
import { readable } from "./arguments";
import { AnswerForm } from "./answer_form";
import { askState, isInPart, labelWords, titleWords } from "./ask_state";
import { useBeginning } from "./beginning";
import { useFolds } from "./folds";
import { countHunks, SendHunks, useHunks } from "./hunk_choice";
import { Icon } from "./icon";
import { OfferedRuleView, type RuleEdit, updateOf } from "./offered_rule";
import { SettledEdit } from "./settled_edit";
import { askedFor, SubjectView } from "./subject";
import { TakeBack } from "./take_back";
import { type Refusal, standingOf } from "./tool_card";
import { useWhole } from "./whole_subject";
import { said, t } from "../messages";

/** A hand that was on its way when the card came needs about this long to be held back. */
export const GRACE_MS = 350;

const NO_FAULTS: Faults = new Map();

/** A label of which the server left out the middle or the end: the rule has all of it. */
const CUT = /⟨… \d+ more characters/;

interface ApprovalCardProps {
  readonly block: BlockOf<"permission">;
  /** The patch and the call that it is about: one edit is one card. */
  readonly patch?: BlockOf<"patch"> | undefined;
  readonly call?: BlockOf<"tool"> | undefined;
  readonly refused?: Refusal | undefined;
}

export function ApprovalCard({ block, patch, call, refused }: ApprovalCardProps) {
  const model = useModel();
  const { permission, status, problem, client } = block;
  const section = useRef<HTMLElement>(null);
  const readyAt = useRef(performance.now() + GRACE_MS);
  const [ready, setReady] = useState(false);
  const [sending, setSending] = useState(false);
  const [ruling, setRuling] = useState<string | undefined>(undefined);
  const [edits, setEdits] = useState<ReadonlyMap<string, RuleEdit>>(new Map());
  const [filled, setFilled] = useState<ReadonlyMap<string, string>>(new Map());
  const [faults, setFaults] = useState(NO_FAULTS);
  const [details, setDetails] = useState<string | undefined>(undefined);
  const { trusted } = model.standing.host.value;
  // What is saved first can still be answered otherwise: an editor may never say that it saved.
  const pending = status === "pending" || status === "saving";
  const { subject, missing, read } = useWhole(permission, pending);
  const folds = useFolds(subject, permission.digest, patch);
  const unseen = missing === undefined ? folds.unseen : undefined;
  const beginning = useBeginning(section, permission.digest, pending);
  const isHeld = missing !== undefined || unseen !== undefined || beginning !== "seen";
  const byHunk =
    pending && missing === undefined && permission.patchId != null && model.standing.offers("bb/patch/decide");
  const several = byHunk && countHunks(subject, patch) > 1;
  const hunks = useHunks(permission, subject, several);
  const isParted = hunks !== undefined && hunks.left < hunks.all;
  // Its call has a card with all of it; the answer needs no more than a line.
  const inCall = !pending && call !== undefined && subject.kind !== "edit";
  const note = useId();
  const form = subject.kind === "question" ? subject.input : undefined;
  const fields = useMemo(() => fieldsOf(form?.schema), [form]);
  const brought = model.asks.brought.value;
  const broughtAt = brought?.requestId === permission.requestId ? brought.at : undefined;

  // It can be answered a while after it came, after the rest of it came, and after the page put the focus on it.
  const drawn = useRef({ subject, unseen });
  useLayoutEffect(() => {
    if (broughtAt !== undefined) readyAt.current = Math.max(readyAt.current, broughtAt + GRACE_MS);
    if (drawn.current.subject !== subject || drawn.current.unseen !== unseen)
      readyAt.current = performance.now() + GRACE_MS;
    drawn.current = { subject, unseen };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      const left = readyAt.current - performance.now();
      setReady(left <= 0);
      if (left > 0) timer = setTimeout(look, Math.ceil(left));
    };
    look();
    return () => clearTimeout(timer);
  }, [broughtAt, subject, unseen]);

  // Looked at while the buttons are still there: afterwards the focus is on nothing.
  const holds = (): boolean => section.current?.contains(document.activeElement) === true;
  const held = holds();
  const waited = useRef(pending);
  useLayoutEffect(() => {
    if (waited.current && !pending && held && !holds()) model.goOn();
    // What the editor compares is a proposal no more.
    if (waited.current && !pending && patch !== undefined)
      void model.editor("editor.closeDiff", { afterRef: `patch:${patch.patchId}` });
    waited.current = pending;
  });

  const answer = async (option: PermissionOption, details: AnswerDetails = {}): Promise<void> => {
    const allows = option.kind !== "deny";
    if (sending || performance.now() < readyAt.current || (allows && isHeld)) return;
    let content: Record<string, unknown> | undefined;
    if (allows && form?.schema != null) {
      const made = answerOf(fields, filled);
      setFaults(made.ok ? NO_FAULTS : made.faults);
      if (!made.ok) return;
      content = made.content;
    }
    setSending(true);
    await model.asks.answer(permission, option, { ...details, content });
    setSending(false);
  };
  // The button goes while it is read; the focus stays in the card.
  const readAgain = (): void => {
    section.current?.querySelector<HTMLElement>(".buttons button:not(:disabled)")?.focus();
    read();
  };
  const showAll = (): void => {
    section.current?.querySelector<HTMLElement>(".diff pre, .buttons button")?.focus({ preventScroll: true });
    folds.openAll();
  };
  const showBeginning = (): void => {
    section.current?.querySelector<HTMLElement>(".subject pre, .buttons button")?.focus({ preventScroll: true });
    section.current?.scrollIntoView({ block: "start" });
  };
  const press = (option: PermissionOption): void => {
    if (isOurs(option)) setRuling(ruling === option.optionId ? undefined : option.optionId);
    else void answer(option);
  };
  const showDetails = (): Promise<void> =>
    model.sentences.attempt(async () => {
      setDetails(visible(readable((await model.reading.eventBody(block.seq)).payload)));
    });

  const review = (): void => {
    const sessionId = model.tabs.activeId.value;
    void model.editor("editor.review", { sessionId, patchId: permission.patchId });
  };

  // Said, not enforced by the browser: a button that is switched off loses the focus.
  const busy = sending || !ready;
  // One button stands out: where a command could run on an old file, the one that saves it first.
  const first = permission.options.find(({ kind }) => kind === "allow_once");
  const ruled = permission.options.find((option) => option.optionId === ruling && isOurs(option));

  return (
    <section
      ref={section}
      class={`card approval ${status}${inCall ? " settled" : ""}`}
      aria-label={t("Request: {0}", titleWords(permission))}
      data-request={permission.requestId}
      onKeyDown={once}
    >
      <header>
        <Icon name={pending ? "shield" : status === "allowed" ? "pass" : "circle-slash"} />
        <span class="status" title={client == null ? undefined : t("Answered in {0}", client.name)}>
          {status === "pending" ? askedFor(subject) : askState(block)}
        </span>
        {inCall && <code class="title">{titleWords(permission)}</code>}
        {status === "allowed" && !isInPart(block) && subject.kind === "edit" && call !== undefined && call.status !== "ok" && (
          <span class="status">, {standingOf(call, refused).word}</span>
        )}
      </header>
      {pending && problem != null && (
        <p class="fault" role="alert">
          {visible(said(problem))}
        </p>
      )}
      {pending ? (
        <SubjectView subject={subject} title={titleWords(permission)} patch={patch} folds={folds} hunks={hunks} />
      ) : (
        !inCall && <p class="asked">{titleWords(permission)}</p>
      )}
      {!pending && subject.kind === "edit" && (patch !== undefined || call !== undefined) && (
        <SettledEdit
          files={subject.files}
          patch={patch}
          call={call}
          refused={refused}
          inPart={isInPart(block)}
          applied={status === "allowed" && (call === undefined || call.status === "ok" || isInPart(block))}
        />
      )}
      {status === "allowed" && <TakeBack permission={permission} />}
      {pending && (
        <>
          {details !== undefined && (
            <pre class="input" tabindex={0} aria-label={t("Details")}>
              {details}
            </pre>
          )}
          {!trusted && (
            <p class="hint">
              {t("This folder is not trusted, so nothing can be allowed.")}{" "}
              <button type="button" class="link" onClick={() => void model.editor("editor.manageTrust")}>
                {t("Manage trust")}
              </button>
            </p>
          )}
          {fields.length > 0 && (
            <AnswerForm
              fields={fields}
              filled={filled}
              faults={faults}
              fill={(name, value) => {
                setFilled(new Map(filled).set(name, value));
                setFaults(new Map([...faults].filter(([wrong]) => wrong !== name)));
              }}
            />
          )}
          {missing !== undefined && (
            <p class={missing.failure === undefined ? "hint" : "fault"} id={note} role="status">
              {missing.failure === undefined ? (
                t("This is not all of it. The rest is being read; it can be allowed once all of it stands here.")
              ) : (
                <>
                  {t("This is not all of it, and the rest could not be read: {0} Until then it can only be denied.", missing.failure)}{" "}
                  <button type="button" class="link" onClick={readAgain}>
                    {t("Try again")}
                  </button>
                </>
              )}
            </p>
          )}
          {unseen !== undefined && !isParted && (
            <p class="hint" id={note} role="status">
              {t("Folded away and not shown yet: {0}. It can be allowed once all of it was shown.", unseen)}{" "}
              <button type="button" class="link" onClick={showAll}>
                {t("Show all of it")}
              </button>
            </p>
          )}
          {missing === undefined && unseen === undefined && beginning === "above" && (
            <p class="hint" id={note} role="status">
              {t("It begins further up, which was not on the screen yet. It can be allowed once it was.")}{" "}
              <button type="button" class="link" onClick={showBeginning}>
                {t("Show its beginning")}
              </button>
            </p>
          )}
          {isParted && <SendHunks hunks={hunks} trusted={trusted} />}
          <div class="buttons" hidden={isParted}>
            {permission.options.map((option) => (
              <button
                key={option.optionId}
                type="button"
                class={option === first ? "primary" : "secondary"}
                disabled={!trusted && option.kind !== "deny"}
                aria-disabled={busy || (isHeld && option.kind !== "deny")}
                aria-describedby={isHeld && option.kind !== "deny" ? note : undefined}
                aria-expanded={isOurs(option) ? ruling === option.optionId : undefined}
                onClick={() => press(option)}
              >
                {labelWords(option.label)}
                {isOurs(option) ? "…" : ""}
              </button>
            ))}
            {several && (
              <button type="button" class="secondary" onClick={review}>
                {t("Review in the editor")}
              </button>
            )}
            {details === undefined && (
              <button type="button" class="link" onClick={() => void showDetails()}>
                {t("Details")}
              </button>
            )}
          </div>
          {permission.options
            .filter((option) => !isKnownOption(option))
            .map(({ optionId, label }) => (
              <p key={optionId} class="hint">
                {t("What “{0}” does is not known here; update the extension, or choose another answer if you are not sure.", labelWords(label))}
              </p>
            ))}
          {permission.options.map(
            ({ optionId, label, rule }) =>
              rule?.holder === "agent" && (
                <p key={optionId} class="hint kept">
                  {!CUT.test(label) && `${label}: `}{t("the agent keeps this rule")}
                  {rule.pattern !== label && (
                    <>
                      , <code>{rule.pattern}</code>
                    </>
                  )}
                </p>
              ),
          )}
          {ruled?.rule != null && (
            <OfferedRuleView
              key={ruled.optionId}
              rule={ruled.rule}
              edit={edits.get(ruled.optionId) ?? {}}
              change={(edit) => setEdits(new Map(edits).set(ruled.optionId, edit))}
              busy={busy || isHeld}
              save={() =>
                void answer(ruled, {
                  ruleUpdate: ruled.rule == null ? undefined : updateOf(ruled.rule, edits.get(ruled.optionId) ?? {}),
                })
              }
            />
          )}
          {permission.policy != null && <p class="hint">{visible(said(permission.policy.reason))}</p>}
          {permission.expiresAt != null && (
            <p class="hint">{t("Counts as denied after {0}.", momentWords(permission.expiresAt, Date.now()))}</p>
          )}
        </>
      )}
    </section>
  );
}

/** Whether the option saves a rule that can be narrowed first. What the agent keeps, it keeps as it is. */
function isOurs({ kind, rule }: PermissionOption): boolean {
  return kind === "allow_rule" && rule != null && rule.holder !== "agent";
}

/** A key that is still held down from another button presses nothing here. */
function once(event: KeyboardEvent): void {
  if (event.repeat && event.target instanceof HTMLButtonElement && (event.key === "Enter" || event.key === " "))
    event.preventDefault();
}
