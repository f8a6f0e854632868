/** The run: summaries, usage, rules, checkpoints, artifacts. */
import type { Block, BlockOf } from "@breadboard-ls/sdk";
import { useState } from "preact/hooks";
import { engineWords } from "../blocks/turn_marks";
import { BlockView } from "../blocks/block_view";
import { Icon } from "../blocks/icon";
import { useModel } from "../model/context";
import type { OpenSession } from "../model/open_session";
import { Rules } from "./rules";
import { t } from "../messages";
import { statusWords } from "../status_words";

export function RunPane({ session }: { session: OpenSession }) {
  const model = useModel();
  const agent = session.info.value.agent;
  const engine = model.standing.engine.value;
  const blocks = session.blocks("run");
  const checkpoints = blocks.filter((block): block is BlockOf<"checkpoint"> => block.kind === "checkpoint");
  const links = blocks.filter((block): block is BlockOf<"link"> => block.kind === "link");
  const rest = blocks.filter((block) => block.kind !== "checkpoint" && block.kind !== "link");
  const canList = engine?.kind === "breadboard" && engine.capabilities.includes("commands");
  return (
    <div class="pane">
      <section aria-label={t("Engine")}>
        <h2>{t("Engine")}</h2>
        <p>
          {agent == null ? (engine === undefined ? t("none") : engineWords(engine.kind)) : `${agent.title ?? agent.name} ${agent.version ?? ""}`.trim()}
          {agent == null && engine?.model != null && ` · ${engine.model}`} ·{" "}
          {statusWords(
            agent?.status ?? (session.connection.value ?? model.standing.connection.value)?.status ?? engine?.status ?? "unknown",
          )}
        </p>
        {model.standing.offers("bb/agent/restart") && (engine?.kind === "acp" || agent != null) && (
          <button
            type="button"
            class="link"
            disabled={model.choices.restarting.value}
            onClick={() => void model.choices.restartAgent(agent?.name)}
          >
            {t("Restart the agent")}
          </button>
        )}
      </section>
      {(checkpoints.length > 0 || canList) && (
        <section aria-label={t("Checkpoints")}>
          <h2>{t("Checkpoints")}</h2>
          {canList && (
            <button type="button" class="link" onClick={() => void model.choices.command("list_checkpoints")}>
              {t("Read the list")}
            </button>
          )}
          <ul class="checkpoints">
            {checkpoints.map((block) => (
              <Checkpoint key={block.id} block={block} />
            ))}
          </ul>
        </section>
      )}
      <Rules />
      {links.length > 0 && (
        <section aria-label={t("Artifacts")}>
          <h2>{t("Artifacts and logs")}</h2>
          {links.map((block) => (
            <BlockView key={block.id} block={block} />
          ))}
        </section>
      )}
      <section aria-label={t("Turns")}>
        <h2>{t("Turns")}</h2>
        {session.hasMore("run") && (
          <button type="button" class="link" onClick={() => void model.reading.loadOlder("run")}>
            {t("Show older")}
          </button>
        )}
        {rest.length === 0 && <p class="empty">{t("No turn has ended yet.")}</p>}
        {rest.map((block: Block) => (
          <BlockView key={block.id} block={block} />
        ))}
      </section>
    </div>
  );
}

const MODES = { code: t("the files"), conversation: t("the conversation"), both: t("files and conversation") } as const;

/** A checkpoint. Going back overwrites files, so it is said first, and done only when it is said again. */
function Checkpoint({ block }: { block: BlockOf<"checkpoint"> }) {
  const model = useModel();
  const [asking, setAsking] = useState(false);
  const [mode, setMode] = useState<keyof typeof MODES>("code");
  const { trusted } = model.standing.host.value;
  return (
    <li class="checkpoint">
      <Icon name="history" /> <span>{block.title}</span> <span class="status">{statusWords(block.status)}</span>
      {!asking && (
        <button type="button" class="link" disabled={!trusted} onClick={() => setAsking(true)}>
          {t("Restore…")}
        </button>
      )}
      {asking && (
        <div class="confirm" role="alertdialog" aria-label={t("Restore the checkpoint")}>
          <p>
            <Icon name="warning" />{" "}{t("Restoring overwrites what was changed in tracked files since, also what is not committed. Later checkpoints go. This cannot be undone here.")}
          </p>
          <label>
            {t("Restore")}{" "}
            <select value={mode} onChange={(event) => setMode(event.currentTarget.value as keyof typeof MODES)}>
              {Object.entries(MODES).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <div class="buttons">
            <button
              type="button"
              class="primary"
              onClick={() => {
                setAsking(false);
                void model.choices.command("restore_checkpoint", { checkpoint_id: block.checkpointId, mode });
              }}
            >
              {t("Overwrite and restore")}
            </button>
            <button type="button" class="secondary" onClick={() => setAsking(false)}>
              {t("Cancel")}
            </button>
          </div>
        </div>
      )}
    </li>
  );
}
