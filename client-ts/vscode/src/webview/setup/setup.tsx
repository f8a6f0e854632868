/**
 * The first choice: who is to answer. Shown until somebody chose, and whenever it is asked for.
 *
 * Owns its words. No form: the editor's pages have none that is submitted. What is tried and kept is the model's; keys are typed into the editor's own dialog.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SetupAgent, SetupProvider, SetupWish } from "../../shared/setup";
import { Icon } from "../blocks/icon";
import { Words } from "../blocks/words";
import { useModel } from "../model/context";
import { t } from "../messages";

export function Setup() {
  const model = useModel();
  const { setup, standing } = model;
  const heading = useRef<HTMLHeadingElement>(null);
  const look = setup.look.value;
  const { generation, unchosen } = standing.host.value;
  const running = standing.host.value.server === "running";
  useEffect(() => {
    if (running) void setup.read();
  }, [generation, running]);
  useEffect(() => {
    if (setup.open.value) heading.current?.focus();
  }, [setup.open.value]);
  const agents = look?.agents ?? [];
  const there = agents.filter((agent) => agent.there);
  const absent = agents.filter((agent) => !agent.there);
  const providers = look?.providers ?? [];
  const withKey = providers.filter(({ needsKey, key }) => needsKey && typeof key === "object");
  const local = setup.local.value;
  return (
    <div class="setup" role="group" aria-label={t("Who is to answer?")}>
      <h2 ref={heading} tabindex={-1}>
        {t("Who is to answer?")}
      </h2>
      <p class="hint">
        {unchosen === true
          ? t("Choose one; each is tried before it is kept, and you can change it at any time.")
          : t("Now: {0}.", look?.now ?? "…")}
      </p>
      {look === undefined && (
        <p role="status">
          <Icon name="loading" spin />{" "}{t("Looking at what is on this machine…")}
        </p>
      )}
      {look !== undefined && (
        <>
          <h3>{t("On this machine")}</h3>
          <ul>
            {there.map((agent) => (
              <Agent key={agent.name} agent={agent} />
            ))}
            {local !== undefined && (local.models?.length ?? 0) > 0 && (
              <li>
                <Head name="Ollama" hint={t("answers here")}>
                  {null}
                </Head>
                <Models wish={{ kind: "model", provider: "ollama" }} models={local.models ?? []} />
              </li>
            )}
            {withKey.map((provider) => (
              <Provider key={provider.provider} provider={provider} />
            ))}
            {there.length === 0 && withKey.length === 0 && (local?.models?.length ?? 0) === 0 && (
              <li class="hint">{t("No agent, no Ollama and no key was found here.")}</li>
            )}
          </ul>
          <h3>{t("With a key")}</h3>
          <ul>
            {providers
              .filter((provider) => provider.needsKey && !withKey.includes(provider))
              .map((provider) => (
                <Provider key={provider.provider} provider={provider} />
              ))}
            <Elsewhere />
          </ul>
          <h3>{t("Elsewhere")}</h3>
          <ul>
            <Breadboard />
          </ul>
          {absent.length > 0 && (
            <details>
              <summary>{t("Agents that can be installed")}</summary>
              <ul>
                {absent.map((agent) => (
                  <Agent key={agent.name} agent={agent} />
                ))}
              </ul>
            </details>
          )}
          <div class="buttons">
            <button
              type="button"
              class="secondary"
              aria-disabled={setup.choosing.value}
              onClick={() => void setup.choose({ kind: "search" })}
            >
              {t("Only search, without a model")}
            </button>
            {setup.open.value && (
              <button type="button" class="link" onClick={() => setup.close()}>
                {t("Leave it as it is")}
              </button>
            )}
          </div>
        </>
      )}
    </div>
  );
}

function Head({ name, hint, children }: { name: string; hint?: string | undefined; children: ComponentChildren }) {
  return (
    <div class="setup-row">
      <span class="setup-name">
        {name} {hint !== undefined && <span class="hint">{hint}</span>}
      </span>
      {children}
    </div>
  );
}

/** An agent: tried by starting it, or how it is installed. */
function Agent({ agent }: { agent: SetupAgent }) {
  const model = useModel();
  const { setup } = model;
  const wish: SetupWish = { kind: "agent", name: agent.name };
  const row = `agent:${agent.name}`;
  const { install } = agent;
  return (
    <li>
      <Head name={agent.name} hint={agent.there ? "agent" : undefined}>
        {agent.there ? (
          <button type="button" class="secondary" aria-label={t("Try {0}", agent.name)} onClick={() => void setup.check(row, wish)}>
            {t("Try it")}
          </button>
        ) : (
          install !== undefined && (
            <button
              type="button"
              class="secondary"
              aria-label={t("Install {0} in a terminal", agent.name)}
              onClick={() => void model.editor("editor.openTerminal", { command: install })}
            >
              {t("Install…")}
            </button>
          )
        )}
      </Head>
      {!agent.there && install !== undefined && <code class="setup-install">{install}</code>}
      <Outcome row={row} anew={false}>
        {agent.login !== undefined && (
          <p class="hint">
            {t("Log in")}{" "}<Words text={agent.login} />.
          </p>
        )}
      </Outcome>
    </li>
  );
}

function Provider({ provider }: { provider: SetupProvider }) {
  const { setup } = useModel();
  const { provider: name, label, key } = provider;
  const row = `model:${name}`;
  const hint =
    typeof key === "object" ? t("key from {0}", key.variable) : key === "stored" ? t("key is stored") : undefined;
  return (
    <li>
      <Head name={label.split(",")[0] ?? label} hint={hint}>
        <button
          type="button"
          class="secondary"
          aria-label={`${key === undefined ? t("Enter the key of") : t("See the models of")} ${label}`}
          onClick={() => void setup.check(row, { kind: "model", provider: name })}
        >
          {key === undefined ? t("Enter the key…") : t("See the models")}
        </button>
      </Head>
      <Outcome row={row} anew />
    </li>
  );
}

interface AddressProps {
  /** Names the trial of this row. */
  readonly row: string;
  /** What the address stands for, in front of it. */
  readonly front: ComponentChildren;
  readonly label: string;
  readonly first?: string;
  readonly placeholder?: string;
  readonly wish: (url: string) => SetupWish;
}

/** An address that is typed, and tried by Enter or the button. */
function Address({ row, front, label, first = "", placeholder, wish }: AddressProps) {
  const { setup } = useModel();
  const [url, setUrl] = useState(first);
  const check = (): void => {
    if (url.trim() !== "") void setup.check(row, wish(url.trim()));
  };
  return (
    <li>
      <div class="setup-row" onKeyDown={(event) => isEnter(event) && check()}>
        {front}
        <input
          type="text"
          inputMode="url"
          placeholder={placeholder}
          aria-label={label}
          value={url}
          onInput={(event) => setUrl(event.currentTarget.value)}
        />
        <button type="button" class="secondary" disabled={url.trim() === ""} onClick={check}>
          {t("Try it")}
        </button>
      </div>
      <Outcome row={row} anew />
    </li>
  );
}

/** Not of a button, which is pressed by it. */
function isEnter(event: KeyboardEvent): boolean {
  return event.key === "Enter" && !event.isComposing && event.target instanceof HTMLInputElement;
}

/** An endpoint of one's own: a server of the company, another machine with Ollama. */
function Elsewhere() {
  const [provider, setProvider] = useState("openai");
  const speaks = (
    <select aria-label={t("What it speaks")} value={provider} onChange={(event) => setProvider(event.currentTarget.value)}>
      <option value="openai">{t("OpenAI compatible")}</option>
      <option value="ollama">{t("Ollama")}</option>
      <option value="anthropic">{t("Anthropic")}</option>
      <option value="gemini">{t("Gemini")}</option>
    </select>
  );
  return (
    <Address
      row="model:elsewhere"
      front={speaks}
      label={t("Address of the model")}
      placeholder="https://models.example/v1"
      wish={(url) => ({ kind: "model", provider, url })}
    />
  );
}

function Breadboard() {
  return (
    <Address
      row="breadboard"
      front={<span class="setup-name">{t("BreadBoard")}</span>}
      label={t("Address of BreadBoard")}
      first="http://127.0.0.1:9099"
      wish={(url) => ({ kind: "breadboard", url })}
    />
  );
}

/** What trying this row found, and what can be done then. `anew`: another key can be given. */
function Outcome({ row, anew, children }: { row: string; anew: boolean; children?: ComponentChildren }) {
  const { setup } = useModel();
  const trial = setup.trial.value;
  if (trial?.row !== row) return null;
  const { wish, found } = trial;
  if (found === undefined)
    return (
      <p class="hint" role="status">
        <Icon name="loading" spin />{" "}{t("Trying it…")}
      </p>
    );
  const models = found.models ?? [];
  return (
    <div class="setup-outcome">
      {found.problem !== undefined && (
        <div class="notice warning" role="alert">
          <Icon name="warning" />
          <span>
            <Words text={found.problem} />
          </span>
        </div>
      )}
      {!found.ok && children}
      {wish.kind === "model" && wish.name === undefined ? (
        // Another list is another choice.
        <Models key={models.join("\n")} wish={wish} models={models} />
      ) : (
        <div class="buttons">
          {found.ok && (
            <span class="hint">
              <Icon name="pass" />{" "}{t("It works.")}
            </span>
          )}
          <Use wish={wish} label={found.ok ? t("Use it") : t("Choose it all the same")} primary={found.ok} />
        </div>
      )}
      {anew && (
        <button type="button" class="link" onClick={() => void setup.check(row, wish, true)}>
          {found.ok ? t("With another key…") : t("Enter a key…")}
        </button>
      )}
    </div>
  );
}

/** Which of its models; where it has no list, a name can be typed. */
function Models({ wish, models }: { wish: SetupWish & { kind: "model" }; models: readonly string[] }) {
  const [name, setName] = useState(preferred(models) ?? "");
  return (
    <div class="setup-row">
      {models.length > 0 ? (
        <select aria-label={t("Which model")} value={name} onChange={(event) => setName(event.currentTarget.value)}>
          {models.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          aria-label={t("Name of the model")}
          placeholder={t("Name of the model")}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      )}
      <Use
        wish={{ ...wish, name: name.trim() }}
        label={models.length > 0 ? t("Use it") : t("Choose it all the same")}
        primary={models.length > 0}
        disabled={name.trim() === ""}
      />
    </div>
  );
}

function Use({ wish, label, primary, disabled = false }: { wish: SetupWish; label: string; primary: boolean; disabled?: boolean }) {
  const { setup } = useModel();
  return (
    <button
      type="button"
      class={primary ? "primary" : "secondary"}
      disabled={disabled}
      aria-disabled={setup.choosing.value}
      onClick={() => void setup.choose(wish)}
    >
      {label}
    </button>
  );
}

/** What most people take of a long list: no embedding, no speech, and of several the newest by name. */
function preferred(models: readonly string[]): string | undefined {
  const talks = models.filter((name) => !/embed|whisper|tts|audio|image|dall|moderation|realtime|transcribe|rerank/i.test(name));
  return talks.find((name) => /sonnet|opus|gpt-\d|gemini-\d.*(?:pro|flash)|coder|qwen/i.test(name)) ?? talks[0] ?? models[0];
}
