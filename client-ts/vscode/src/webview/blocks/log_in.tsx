/**
 * The ways to log in at an agent, beside the sentence that says that it wants that first.
 *
 * Owns that nothing is run: what belongs in a shell is typed into a terminal and no more.
 */
import type { Login, LoginMethod } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { useModel } from "../model/context";
import { t } from "../messages";

/** How far a login is. */
type LoginProgress = "idle" | "asked" | "done";

/** The buttons. `session`: whether there is one in which the agent can be told to log in. */
export function LogIn({ login, session }: { login: Login | null | undefined; session: boolean }) {
  const model = useModel();
  const [progress, setProgress] = useState<LoginProgress>("idle");
  if (login == null) return null;
  const methods = login.methods ?? [];
  const ofAgent = session ? methods.filter(({ by }) => by === "agent") : [];
  const told = [login.command, ...methods.filter(({ by }) => by === "terminal").map(({ command }) => command)];
  const commands = [...new Set(told.filter((command) => command != null))];
  const logIn = async ({ id }: LoginMethod): Promise<void> => {
    if (progress === "asked") return;
    setProgress("asked");
    setProgress((await model.choices.logIn(id)) ? "done" : "idle");
  };
  return (
    <>
      {ofAgent.map((method) => (
        <button
          key={method.id}
          type="button"
          class="secondary"
          title={method.description ?? undefined}
          aria-disabled={progress === "asked"}
          onClick={() => void logIn(method)}
        >
          {t("Log in: {0}", method.name.trim() === "" ? method.id : method.name)}
        </button>
      ))}
      {commands.map((command) => (
        <button
          key={command}
          type="button"
          class="secondary"
          onClick={() => void model.editor("editor.openTerminal", { command })}
        >
          {t("Open a terminal with")}{" "}<code>{command}</code>
        </button>
      ))}
      {progress !== "idle" && (
        <span class="hint" role="status">
          {progress === "asked" ? t("Logging in; a browser may open.") : t("Logged in; send the prompt again.")}
        </span>
      )}
    </>
  );
}
