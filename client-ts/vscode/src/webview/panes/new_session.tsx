/**
 * The way to a new session: a button, and with agents in the settings a menu of them.
 *
 * Owns the keyboard of the menu, as the pattern of ARIA says.
 */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon, IconButton } from "../blocks/icon";
import { useModel } from "../model/context";
import { t } from "../messages";

export function NewSession() {
  const model = useModel();
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const menuId = useId();
  const { agents } = model.standing.host.value;
  useEffect(() => {
    if (open) items(menu.current)[0]?.focus();
  }, [open]);
  if (agents.length === 0) return <IconButton icon="add" label={t("New session")} onClick={() => model.newSession()} />;

  const choose = (agent?: string): void => {
    setOpen(false);
    model.newSession(agent);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const all = items(menu.current);
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = {
      ArrowDown: (at + 1) % all.length,
      ArrowUp: (at - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      all[to]?.focus();
    } else if (event.key === "Escape") {
      event.preventDefault();
      setOpen(false);
      button.current?.focus();
    } else if (event.key === "Tab") setOpen(false);
  };
  return (
    <div
      class="new-session"
      onFocusOut={(event) => {
        const to = event.relatedTarget as Node | null;
        if (to === null || !event.currentTarget.contains(to)) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        class="icon"
        title={t("New session")}
        aria-label={t("New session")}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? menuId : undefined}
        // A browser that gives buttons no focus on a click would close the menu by taking it away.
        onMouseDown={(event) => open && event.preventDefault()}
        onClick={() => setOpen(!open)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" || open) return;
          event.preventDefault();
          setOpen(true);
        }}
      >
        <Icon name="add" />
      </button>
      {open && (
        <div class="menu" id={menuId} ref={menu} role="menu" aria-label={t("New session")} onKeyDown={onKeyDown}>
          <button type="button" role="menuitem" tabindex={-1} onClick={() => choose()}>
            {t("New session")}
          </button>
          {agents.map((agent) => (
            <button key={agent} type="button" role="menuitem" tabindex={-1} onClick={() => choose(agent)}>
              {agent}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function items(menu: HTMLElement | null): HTMLElement[] {
  return [...(menu?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
}
