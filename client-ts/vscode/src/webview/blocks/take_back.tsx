/** Taking back an edit that was allowed. Owns that nobody does so by one press; the server looks what still stands in the files. */
import type { Permission } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { useModel } from "../model/context";
import { t } from "../messages";

export function TakeBack({ permission }: { readonly permission: Permission }) {
  const model = useModel();
  const [asking, setAsking] = useState(false);
  const { subject, patchId } = permission;
  const { trusted } = model.standing.host.value;
  const changesText = subject.kind === "edit" && subject.unknown !== true && subject.files.every(({ change }) => change === "modify");
  if (!changesText || patchId == null || !trusted || !model.standing.offers("bb/patch/revert")) return null;
  const takeBack = (): void => {
    setAsking(false);
    void model.asks.revert(patchId);
  };
  if (!asking)
    return (
      <button type="button" class="link" onClick={() => setAsking(true)}>
        {t("Take back…")}
      </button>
    );
  return (
    <div class="take-back" role="group" aria-label={t("Take back this edit")}>
      <p class="hint">
        {t("What was made of this edit is taken out of the files again. What you changed elsewhere in them stays, and a file in which the lines themselves have changed since is left as it is.")}
      </p>
      <div class="buttons">
        <button type="button" class="primary" onClick={takeBack}>
          {t("Take back")}
        </button>
        <button type="button" class="link" onClick={() => setAsking(false)}>
          {t("Leave it")}
        </button>
      </div>
    </div>
  );
}
