/**
 * What an empty session shows: who answers, and questions that fit the open workspace; before anybody chose, the choice.
 *
 * Owns which questions. Nothing is sent by a click: an example goes into the prompt.
 */
import { useEffect } from "preact/hooks";
import { useModel } from "../model/context";
import { Setup } from "./setup";
import { t } from "../messages";

/** The first of these that a workspace has is where it begins. */
const BEGINNINGS = [
  /^(?:.*\/)?src\/main\.\w+$/,
  /^(?:.*\/)?(?:main|index|app|server|manage|__main__|program)\.\w+$/i,
  /^(?:.*\/)?src\/lib\.\w+$/,
  /^(?:.*\/)?(?:package\.json|cargo\.toml|pyproject\.toml|go\.mod|makefile)$/i,
];
const TESTS = /^(?:.*\/)?(?:tests?|spec|__tests__)\/$|[._-](?:test|spec)s?\.\w+$|(?:^|\/)test_\w+\.\w+$/i;

/** Questions about these files; `front`: the file in front of the user. */
export function examplesFor(paths: readonly string[], front: string | undefined): readonly string[] {
  const shallow = paths.toSorted((one, other) => depth(one) - depth(other) || one.length - other.length);
  const beginning = BEGINNINGS.map((look) => shallow.find((path) => look.test(path))).find((path) => path !== undefined);
  const tests = shallow.find((path) => TESTS.test(path));
  return [
    beginning === undefined ? t("Explain the main entry point of this project.") : t("Explain @{0} and what it starts.", beginning),
    front === undefined ? t("What does the open file do?") : t("What does @{0} do, and who uses it?", front),
    tests === undefined
      ? t("Which tests are there, and how are they run?")
      : t("How are the tests in @{0} run, and what do they leave out?", tests),
  ];
}

function depth(path: string): number {
  return path.replace(/\/$/, "").split("/").length;
}

export function Welcome() {
  const model = useModel();
  const { engine, host } = model.standing;
  const ofAgent = model.tabs.active.value?.info.value.agent != null;
  const generation = host.value.generation;
  const booted = model.standing.booted.value;
  useEffect(() => {
    if (booted) void model.reading.readExamples();
  }, [generation, booted]);
  if (host.value.unchosen === true && !ofAgent && host.value.server === "running") return <Setup />;
  const front = model.nextContext.chips.value.find(({ kind }) => kind === "active_editor")?.label;
  const fromPrompt = front === undefined || /[\s:]/.test(front) ? undefined : front;
  return (
    <div class="welcome">
      <h2>{t("Ask about this workspace")}</h2>
      {!ofAgent && engine.value?.kind === "embedded" && engine.value.model == null ? (
        <p>
          {t("No model is chosen, so answers are what searching the workspace finds.")}{" "}
          <button type="button" class="link" onClick={() => model.askWho()}>
            {t("Choose who answers")}
          </button>
        </p>
      ) : (
        <p>{t("The agent reads, proposes changes and asks before it acts.")}</p>
      )}
      <ul>
        {examplesFor(model.reading.paths.value, fromPrompt).map((text) => (
          <li key={text}>
            <button type="button" class="link" onClick={() => model.compose(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
      <p class="hint">{t("Type @ to name a file, a folder, a symbol or the problems. / has the commands.")}</p>
    </div>
  );
}
