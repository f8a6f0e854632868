/** The open tabs, the way to a new one, and the list of all sessions. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, IconButton } from "../blocks/icon";
import { useModel } from "../model/context";
import type { Model } from "../model/model";
import type { OpenTab } from "../model/open_tab";
import { NewSession } from "./new_session";
import { SessionList } from "./session_list";
import { t } from "../messages";

/** Left and right move in a list of tabs, as the pattern of ARIA says. */
export function moveFocus(event: KeyboardEvent): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (step === 0) return;
  const tabs = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>("[role=tab]")];
  const at = tabs.indexOf(document.activeElement as HTMLElement);
  if (at < 0) return;
  event.preventDefault();
  tabs[(at + step + tabs.length) % tabs.length]?.focus();
}

export function SessionStrip() {
  const model = useModel();
  /** A tab that is to be closed while its turn runs. */
  const [closing, setClosing] = useState<string | undefined>(undefined);
  const { tabs, standing } = model;
  const listing = model.listing.value;
  const close = (tab: OpenTab): void => {
    if (standing.runs(tab.sessionId)) setClosing(tab.tabId);
    else void tabs.close(tab.tabId);
  };
  const strip = useRef<HTMLDivElement>(null);
  const keep = (): void => {
    setClosing(undefined);
    strip.current?.querySelector<HTMLElement>("[role=tab][aria-selected=true]")?.focus();
  };
  const asked = tabs.all.value.find(({ tabId }) => tabId === closing);
  return (
    <div class="strip-area" ref={strip}>
      <div class="strip">
        <div class="tabs" role="tablist" aria-label={t("Open sessions")} onKeyDown={moveFocus}>
          {tabs.all.value.map((tab) => (
            <Tab key={tab.tabId} tab={tab} onClose={() => close(tab)} />
          ))}
        </div>
        <NewSession />
        <IconButton icon="history" label={t("All sessions")} pressed={listing} onClick={() => (model.listing.value = !listing)} />
      </div>
      {asked !== undefined && (
        <CloseQuestion
          title={describe(model, asked).title}
          onClose={() => {
            setClosing(undefined);
            void tabs.close(asked.tabId);
          }}
          onKeep={keep}
        />
      )}
      {listing && <SessionList onDone={() => (model.listing.value = false)} />}
    </div>
  );
}

function Tab({ tab, onClose }: { tab: OpenTab; onClose: () => void }) {
  const model = useModel();
  const active = tab.tabId === model.tabs.frontId.value;
  const { title, word, icon, spin, inactive } = describe(model, tab);
  const whole = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tab = whole.current;
    if (!active || tab === null) return;
    // A strip of many tabs is scrolled; there is none where nothing is laid out.
    const show = (): void => tab.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    show();
    // The view gets narrower.
    if (typeof ResizeObserver === "undefined" || tab.parentElement === null) return;
    const observer = new ResizeObserver(show);
    observer.observe(tab.parentElement);
    return () => observer.disconnect();
  }, [active]);
  return (
    <div ref={whole} class={`tab${active ? " active" : ""}${inactive === true ? " inactive" : ""}`}>
      <button
        type="button"
        role="tab"
        aria-selected={active}
        aria-keyshortcuts="Delete"
        aria-label={`${title}${word}`}
        tabindex={active ? 0 : -1}
        title={inactive === true ? `${title}${word}` : title}
        onClick={() => void model.tabs.toFront(tab.tabId)}
        onKeyDown={(event) => {
          if (event.key === "Delete") onClose();
        }}
      >
        {icon !== undefined && <Icon name={icon} spin={spin} />}
        <span class="title">{title}</span>
      </button>
      <button
        type="button"
        class="icon close"
        // For a mouse: a list of tabs has tabs and nothing else, and Delete closes the one that is on.
        tabindex={-1}
        aria-hidden="true"
        title={t("Close the tab (its history stays in the list)")}
        aria-label={t("Close the tab {0}", title)}
        onClick={onClose}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}

interface Description {
  readonly title: string;
  /** How it stands, for who cannot see the icon. */
  readonly word: string;
  readonly icon?: string;
  readonly spin: boolean;
  /** It takes no prompts here. */
  readonly inactive?: boolean;
}

/** What a tab is called and how it stands. */
function describe(model: Model, tab: OpenTab): Description {
  const session = tab.session.value;
  if (session === undefined) {
    const what = tab.agent ?? "a session";
    return tab.failure.value === undefined
      ? { title: t("Starting {0}…", what), word: "", icon: "loading", spin: true }
      : { title: tab.agent ?? t("New session"), word: t(", could not be started"), icon: "error", spin: false };
  }
  const summary = model.standing.summary(session.sessionId);
  const named = summary?.title || (summary?.agent ? t("New session ({0})", summary.agent) : t("New session"));
  // A narrow tab has room for what tells it from others, so its icon says what it is.
  const from = summary?.branchedFrom;
  const title = from == null ? named : named.replace(/^(Branch|Continued): /, "");
  const noPrompts = model.noPromptsOf(session);
  if (noPrompts === "other_engine")
    return { title, word: t(", belongs to another engine"), icon: "circle-slash", spin: false, inactive: true };
  if (noPrompts === "other_window")
    return { title, word: t(", another window works on it"), icon: "multiple-windows", spin: false, inactive: true };
  if (model.sentences.hasAlert(tab.tabId) && tab.tabId !== model.tabs.frontId.value)
    return { title, word: t(", has a message for you"), icon: "warning", spin: false };
  if (session.exited.value) return { title, word: t(", its agent ended"), icon: "error", spin: false };
  if (summary?.status === "waiting") return { title, word: t(", waits for your answer"), icon: "bell-dot", spin: false };
  if (summary?.status === "running") return { title, word: t(", running"), icon: "loading", spin: true };
  if (from != null)
    return from.before == null
      ? { title, word: t(", continues another session"), icon: "arrow-swap", spin: false }
      : { title, word: t(", a branch of another session"), icon: "git-branch", spin: false };
  return { title, word: "", spin: false };
}

function CloseQuestion({ title, onClose, onKeep }: { title: string; onClose: () => void; onKeep: () => void }) {
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  return (
    <div
      class="confirm"
      role="alertdialog"
      aria-label={t("Close the tab")}
      onKeyDown={(event) => event.key === "Escape" && onKeep()}
    >
      {t("A turn is running in “{0}”; closing the tab stops it.", title)}{" "}
      <button type="button" class="secondary" onClick={onClose}>
        {t("Stop and close")}
      </button>{" "}
      <button type="button" class="link" ref={keep} onClick={onKeep}>
        {t("Keep it open")}
      </button>
    </div>
  );
}
