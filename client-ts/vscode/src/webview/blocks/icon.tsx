/** An icon of the editor's own font; never read aloud, its button or label is. */
export function Icon({ name, spin = false }: { name: string; spin?: boolean }) {
  return <i class={`codicon codicon-${name}${spin ? " codicon-modifier-spin" : ""}`} aria-hidden="true" />;
}

/** A button with an icon only; its label is its tooltip too. */
export function IconButton({
  icon,
  label,
  onClick,
  disabled = false,
  pressed,
}: {
  icon: string;
  label: string;
  onClick: () => void;
  disabled?: boolean;
  pressed?: boolean;
}) {
  return (
    <button
      type="button"
      class="icon"
      title={label}
      aria-label={label}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
