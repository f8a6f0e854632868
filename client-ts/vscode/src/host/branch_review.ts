/**
 * A prompt that has the agent review what the branch changes.
 *
 * Owns what that is: the commits since the branch began, and nothing that is not committed.
 */
import * as vscode from "vscode";
import { l10n } from "vscode";
import { fencedDiff, type GitRepository, repositoryOf } from "./git";

/** Longest diff that goes along, in characters; what is behind it the agent can read by its name. */
const MOST_DIFF = 60_000;
/** Most files that are named. */
const MOST_FILES = 200;
/** Where a branch usually begins, best first. */
const TRUNKS = ["origin/HEAD", "origin/main", "origin/master", "main", "master"];

/** `from`: what the view of the repository says about itself. */
export async function branchReview(from: unknown): Promise<string> {
  const repository = await repositoryOf(from);
  const { name, commit } = repository.state.HEAD ?? {};
  if (commit === undefined) throw new Error(l10n.t("There is no commit yet that could be reviewed."));
  const [trunk, base] = await beginningOf(repository, name);
  const changes = await repository.diffBetween(base, "HEAD");
  if (changes.length === 0) throw new Error(l10n.t("The branch changes nothing since {0}; commit something first.", trunk));
  const paths = changes.map(({ uri }) => vscode.workspace.asRelativePath(uri, false));
  const diffs: string[] = [];
  let room = MOST_DIFF;
  for (const { uri } of changes) {
    if (room <= 0) break;
    const diff = await repository.diffBetween(base, "HEAD", uri.fsPath);
    diffs.push(diff);
    room -= diff.length;
  }
  const left = paths.length - MOST_FILES;
  return (
    `Review what the branch \`${name ?? "HEAD"}\` changes since \`${trunk}\`: mistakes first, the worst of them at the top, each with its ` +
    "path:line and why it is one; then what is missing, such as a test. Change nothing.\n\n" +
    `Files:\n${paths.slice(0, MOST_FILES).map((path) => `- ${path}\n`).join("")}${left > 0 ? `- and ${left} more\n` : ""}\n` +
    fencedDiff(diffs.join("\n"), MOST_DIFF)
  );
}

/** What the branch began from, and the commit where it did. */
async function beginningOf(repository: GitRepository, name: string | undefined): Promise<[trunk: string, base: string]> {
  const told = name === undefined ? undefined : await repository.getBranchBase?.(name).catch(() => undefined);
  const known = told?.name === undefined ? [] : [told.remote === undefined ? told.name : `${told.remote}/${told.name}`];
  for (const trunk of [...known, ...TRUNKS.filter((one) => one !== name)]) {
    const base = await repository.getMergeBase(trunk, "HEAD").catch(() => undefined);
    if (base !== undefined && base !== "") return [trunk, base];
  }
  throw new Error(l10n.t("It is not known what this branch began from: there is no main or master to compare it with."));
}
