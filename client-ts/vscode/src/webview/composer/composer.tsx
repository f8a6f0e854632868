/** Where prompts are typed: text, mentions, attachments, model, send and stop. */
import type { BlockOf } from "@breadboard-ls/sdk";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon, IconButton } from "../blocks/icon";
import { bytes } from "../blocks/tool_card";
import { useModel } from "../model/context";
import { AgentOptions, Usage } from "./agent_options";
import {
  agentChoices,
  type Choice,
  commandChoices,
  commandsOf,
  fileChoices,
  MOST_CHOICES,
  ownChoices,
  pathChoices,
  readCommand,
  resourceChoices,
  rootChoices,
  symbolChoices,
  symbolTyped,
  triggerAt,
  whereToLook,
  wordChoices,
} from "./completion";
import { ModelPicker } from "./model_picker";
import { ContextChips } from "./context_chips";
import { type Recall, recalled } from "./recall";
import { BranchHint } from "./branch_hint";
import { TakesNoPrompts } from "./takes_no_prompts";
import { t } from "../messages";

/**
 * Largest file that is pasted or dropped: it travels whole in one message. Larger ones are picked, and go by
 * reference.
 */
const MOST_PASTED = 10 * 1024 * 1024;

/** Characters from which on symbols are looked for: with fewer a workspace has thousands. */
const LEAST_OF_A_SYMBOL = 2;

export function Composer() {
  const model = useModel();
  const area = useRef<HTMLTextAreaElement>(null);
  const listId = useId();
  const [choices, setChoices] = useState<readonly Choice[]>([]);
  const [chosen, setChosen] = useState(0);
  const asked = useRef(0);
  const recall = useRef<Recall>(undefined);
  const { prompts, tabs, sentences, standing } = model;
  const draft = prompts.draft.value;
  const running = model.running.value;
  const { server, sendWithModifier } = standing.host.value;
  const noPrompts = model.noPrompts.value;
  const can = server === "running" && standing.booted.value && noPrompts === undefined;
  const focus = prompts.focus.value;
  const session = tabs.active.value;
  const ofAgent = session?.info.value.agent != null;
  // Until an agent has said what it offers, there is nothing of it to choose, and nothing of another engine either.
  const willBe = tabs.front.value?.agent !== undefined || standing.summary(session?.sessionId)?.agent != null;
  // An agent has commands of its own, whatever the engine of the settings is.
  const commands = ofAgent ? [] : commandsOf(standing.engine.value);

  useEffect(() => {
    if (focus > 0) area.current?.focus();
  }, [focus]);
  useEffect(() => {
    const element = area.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight + 2, 240)}px`;
  }, [draft.text]);
  // Another session has another prompt.
  useEffect(() => setChoices([]), [tabs.frontId.value]);

  const complete = async (text: string, cursor: number): Promise<void> => {
    const trigger = triggerAt(text, cursor);
    const turn = (asked.current += 1);
    const show = (found: readonly Choice[]): void => {
      if (asked.current !== turn) return;
      setChoices(found.slice(0, MOST_CHOICES));
      setChosen(0);
    };
    if (trigger === undefined) return show([]);
    if (trigger.kind === "command") {
      if (session === undefined) return show([...ownChoices(trigger.word), ...commandChoices(commands, trigger.word)]);
      // Agents and servers of tools name their commands when they like: what is known is shown, and read anew as the first sign
      // is typed.
      const known = (): Choice[] => [
        ...(ofAgent ? [] : ownChoices(trigger.word)),
        ...commandChoices(commands, trigger.word),
        ...agentChoices(session.info.value.commands ?? [], trigger.word),
      ];
      show(known());
      if (trigger.word !== "") return;
      await session.readInfo();
      return show(known());
    }
    if (model.reading.canFind()) return findNamed(trigger.word, show, () => asked.current === turn);
    const { roots } = standing.host.value;
    const where = whereToLook(trigger.word, roots);
    if ("roots" in where) return show(rootChoices(where.roots, roots));
    if ((await tabs.ensure()) === undefined) return show([]);
    try {
      const { entries } = await model.reading.listFiles(where.folder, where.root);
      const files = fileChoices(entries, where.part, where.root);
      show(files);
      if (!standing.offers("bb/mcp/list")) return;
      const resources = resourceChoices(await model.reading.resources(), trigger.word);
      if (resources.length > 0) show([...files, ...resources]);
    } catch {
      // A folder that is not there has no files to name.
      show([]);
    }
  };
  /** Everything that `@` names: what is here at once is shown at once. */
  const findNamed = async (
    word: string,
    show: (found: readonly Choice[]) => void,
    isAsked: () => boolean,
  ): Promise<void> => {
    const symbol = symbolTyped(word);
    const symbols = (query: string): Promise<readonly Choice[]> =>
      query.length < LEAST_OF_A_SYMBOL ? Promise.resolve([]) : model.reading.findSymbols(query).then(symbolChoices, () => []);
    if (symbol !== undefined) return show(await symbols(symbol));
    const words = wordChoices(word);
    const paths = await model.reading.findFiles(word, MOST_CHOICES).then(pathChoices, () => []);
    const resources = standing.offers("bb/mcp/list") ? resourceChoices(await model.reading.resources(), word) : [];
    show([...words, ...resources, ...paths]);
    const more = await symbols(word);
    // Who moved in the list meanwhile keeps what is chosen: symbols come last.
    if (more.length > 0 && isAsked()) setChoices((now) => [...now.slice(0, MOST_CHOICES - more.length), ...more]);
  };
  const take = (choice: Choice): void => {
    const element = area.current;
    if (element === null) return;
    const cursor = element.selectionStart;
    const trigger = triggerAt(element.value, cursor);
    if (trigger === undefined) return;
    const text = element.value.slice(0, trigger.from) + choice.insert + element.value.slice(cursor);
    const after = trigger.from + choice.insert.length;
    prompts.setDraft({ text });
    element.value = text;
    element.setSelectionRange(after, after);
    element.focus();
    if (choice.more === true) void complete(text, after);
    else setChoices([]);
  };
  const send = (): void => {
    if (!can) return;
    setChoices([]);
    const command = readCommand(draft.text, commands);
    if (command === undefined) void prompts.send();
    else {
      prompts.setDraft({ text: "" });
      void model.choices.command(command.command, command.args);
    }
  };
  /** Whether an arrow called a prompt back. */
  const callBack = (key: "ArrowUp" | "ArrowDown", { value, selectionStart }: HTMLTextAreaElement): boolean => {
    const sent = (session?.blocks("chat") ?? []).filter((block): block is BlockOf<"user"> => block.kind === "user");
    const found = recalled(key, { text: value, cursor: selectionStart }, recall.current, sent);
    if (found === undefined || (found.back === -1 && value === "")) return false;
    void sentences.attempt(async () => {
      const text = await prompts.recall(found.prompt);
      recall.current = { back: found.back, text };
    });
    return true;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (choices.length > 0) {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (step !== 0) {
        event.preventDefault();
        setChosen((chosen + step + choices.length) % choices.length);
        return;
      }
      const choice = choices[chosen];
      if ((event.key === "Enter" || event.key === "Tab") && choice !== undefined) {
        event.preventDefault();
        take(choice);
        return;
      }
      if (event.key === "Escape") {
        event.preventDefault();
        setChoices([]);
        return;
      }
    }
    const modifier = event.ctrlKey || event.metaKey;
    if ((event.key === "ArrowUp" || event.key === "ArrowDown") && !modifier && !event.shiftKey && !event.altKey) {
      if (callBack(event.key, event.currentTarget as HTMLTextAreaElement)) event.preventDefault();
      return;
    }
    if (event.key === "Enter" && !event.shiftKey && (sendWithModifier ? modifier : true)) {
      event.preventDefault();
      // A key that is still held down from a button, or from the last prompt, sends nothing.
      if (!event.repeat) send();
    }
    if (event.key === "Escape" && running) void prompts.stop();
  };
  const takeFiles = (files: FileList | undefined | null): void => {
    for (const file of files ?? []) {
      if (file.size > MOST_PASTED)
        sentences.alert(t("{0} is larger than 10 MiB; attach it with the paper clip.", file.name));
      else void toBase64(file).then((base64) => prompts.attach64(file.name, base64, file.type));
    }
  };
  /** From the explorer come addresses, from elsewhere files. */
  const takeDropped = (dropped: DataTransfer | null): void => {
    const uris = urisOf(dropped);
    if (uris.length === 0) return takeFiles(dropped?.files);
    void sentences.attempt(async () => {
      const text = await model.reading.mentionsOf(uris);
      if (text !== "") prompts.compose(text, " ");
    });
  };

  return (
    // No form: the editor's pages have none that is submitted.
    <section
      class="composer"
      aria-label={t("Composer")}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        takeDropped(event.dataTransfer);
      }}
    >
      {noPrompts !== undefined && <TakesNoPrompts why={noPrompts} />}
      {draft.before !== undefined && <BranchHint />}
      {draft.attachments.length > 0 && (
        <ul class="attachments" aria-label={t("Attachments")}>
          {draft.attachments.map((attachment) => (
            <li key={attachment.attachmentId}>
              <Icon name="attach" /> {attachment.name} <span class="hint">{bytes(attachment.bytes)}</span>
              <IconButton
                icon="close"
                label={t("Remove {0}", attachment.name)}
                onClick={() => prompts.setDraft({ attachments: draft.attachments.filter((one) => one !== attachment) })}
              />
            </li>
          ))}
        </ul>
      )}
      <ContextChips />
      {choices.length > 0 && (
        <ul class="choices" id={listId} role="listbox" aria-label={t("Completions")}>
          {choices.map((choice, at) => (
            <li
              key={choice.insert}
              id={`${listId}-${at}`}
              role="option"
              aria-selected={at === chosen}
              class={at === chosen ? "chosen" : ""}
              // Before the prompt loses the focus.
              onMouseDown={(event) => {
                event.preventDefault();
                take(choice);
              }}
            >
              <Icon name={choice.icon} /> {choice.label}{" "}
              {choice.detail !== undefined && <span class="hint">{choice.detail}</span>}
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={area}
        rows={2}
        value={draft.text}
        readOnly={noPrompts === "other_engine"}
        placeholder={
          noPrompts === "other_engine"
            ? t("This session takes no prompts")
            : running ? t("Write the next prompt; it waits its turn") : t("Ask, or say what to change (@ names a file)")
        }
        aria-label={t("Prompt")}
        aria-haspopup="listbox"
        aria-controls={choices.length > 0 ? listId : undefined}
        aria-activedescendant={choices.length > 0 ? `${listId}-${chosen}` : undefined}
        aria-autocomplete="list"
        onInput={(event) => {
          const { value, selectionStart } = event.currentTarget;
          prompts.setDraft({ text: value });
          void complete(value, selectionStart);
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setChoices([])}
        dir="auto"
        onPaste={(event) => {
          const files = event.clipboardData?.files;
          if (files !== undefined && files.length > 0) {
            event.preventDefault();
            takeFiles(files);
          }
        }}
      />
      <div class="composer-bar">
        <IconButton icon="attach" label={t("Attach files")} disabled={!can} onClick={() => void prompts.pickAttachments()} />
        <div class="pickers">
          {session !== undefined && <AgentOptions session={session} />}
          {!ofAgent && !willBe && noPrompts !== "other_engine" && <ModelPicker />}
        </div>
        {running && (
          <button type="button" class="secondary stop" onClick={() => void prompts.stop()} title={t("Stop (Escape)")}>
            <Icon name="debug-stop" />{" "}{t("Stop")}
          </button>
        )}
        <button
          type="button"
          class="primary"
          disabled={!can || draft.text.trim() === ""}
          onClick={send}
          title={sendWithModifier ? t("Send (Ctrl+Enter)") : t("Send (Enter)")}
        >
          <Icon name="send" /> {running ? t("Queue") : t("Send")}
        </button>
      </div>
      {session !== undefined && <Usage session={session} />}
    </section>
  );
}

/** The addresses of what was dropped: the editor's own list, or the one that browsers have. */
export function urisOf(dropped: Pick<DataTransfer, "getData"> | null): readonly string[] {
  const text = dropped?.getData("application/vnd.code.uri-list") || dropped?.getData("text/uri-list") || "";
  return text.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
}

async function toBase64(file: File): Promise<string> {
  const all = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < all.length; at += 0x8000) text += String.fromCharCode(...all.subarray(at, at + 0x8000));
  return btoa(text);
}
