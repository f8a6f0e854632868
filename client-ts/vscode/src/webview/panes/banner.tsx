/** One line over the conversation that a person has to know. Knows nothing of what it says. */
import type { ComponentChildren } from "preact";
import { Icon } from "../blocks/icon";

interface BannerProps {
  readonly tone: "info" | "warning" | "error";
  readonly icon: string;
  readonly spin?: boolean;
  readonly children: ComponentChildren;
}

export function Banner({ tone, icon, spin = false, children }: BannerProps) {
  return (
    <div class={`banner ${tone}`} role={tone === "info" ? "status" : "alert"}>
      <Icon name={icon} spin={spin} />
      <div>{children}</div>
    </div>
  );
}
