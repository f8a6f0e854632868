/**
 * The editor's own extension for git, as far as it is used.
 *
 * Owns which repository is meant. Changes none.
 */
import * as vscode from "vscode";
import { l10n } from "vscode";

/** A branch or a commit. */
interface GitRef {
  readonly name?: string;
  readonly remote?: string;
  readonly commit?: string;
}

export interface GitRepository {
  readonly rootUri: vscode.Uri;
  readonly inputBox: { value: string };
  readonly state: { readonly HEAD?: GitRef };
  /** What is staged, or what is not, as a diff. */
  diff(cached: boolean): Promise<string>;
  /** The files that differ between two commits. */
  diffBetween(one: string, other: string): Promise<readonly { readonly uri: vscode.Uri }[]>;
  /** One file of them, as a diff. */
  diffBetween(one: string, other: string, path: string): Promise<string>;
  getMergeBase(one: string, other: string): Promise<string | undefined>;
  /** The branch that one was begun from, where git knows; older editors do not ask it. */
  getBranchBase?(name: string): Promise<GitRef | undefined>;
}
interface GitApi {
  readonly repositories: readonly GitRepository[];
}

/** The repository that a view of it names, or the first one. */
export async function repositoryOf(from: unknown): Promise<GitRepository> {
  const extension = vscode.extensions.getExtension<{ getAPI(version: 1): GitApi }>("vscode.git");
  if (extension === undefined) throw new Error(l10n.t("The editor's extension for git is switched off."));
  const { repositories } = (extension.isActive ? extension.exports : await extension.activate()).getAPI(1);
  const root = (from as { rootUri?: { toString(): string } } | undefined)?.rootUri?.toString();
  const found = repositories.find(({ rootUri }) => rootUri.toString() === root) ?? repositories[0];
  if (found === undefined) throw new Error(l10n.t("No git repository is open."));
  return found;
}

/** A diff in a fence that nothing in it closes, of at most so many characters. */
export function fencedDiff(diff: string, most: number): string {
  const cut = diff.length > most ? `${diff.slice(0, most)}\n… the rest is left out` : diff;
  const fence = "`".repeat(Math.max(3, ...[...cut.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `${fence}diff\n${cut}\n${fence}\n`;
}
