/** The elements of `@vscode-elements/elements` that are used. */
import type { HTMLAttributes } from "preact";

declare module "preact" {
  namespace JSX {
    interface IntrinsicElements {
      "vscode-badge": HTMLAttributes<HTMLElement> & { variant?: "default" | "counter" };
    }
  }
}
