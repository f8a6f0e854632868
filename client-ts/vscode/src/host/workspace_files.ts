/**
 * Which file of the workspace a path means.
 *
 * Owns that it is inside, also after links are followed, and that the user says which where several fit.
 */
import { realpathSync, statSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import type { EnvelopeError } from "./gate";
import { l10n } from "vscode";

/** Most files that one is chosen from. */
const MOST_FOUND = 20;

/** The file of the workspace that is meant; where several fit, the user says which, or none. */
export async function fileNamed(relative: string, root: string | undefined): Promise<vscode.Uri | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const there = insideWorkspace(relative, root, folders);
  const found = there.length > 0 ? there : await endingIn(relative, root, folders);
  const [first, ...more] = found;
  if (first === undefined)
    throw refusal("not_found", l10n.t("There is no file `{0}` in this workspace; it may have been moved or deleted.", relative));
  if (more.length === 0) return first.uri;
  const picked = await vscode.window.showQuickPick(
    found.map(({ folder, uri }) => ({
      label: folder,
      description: there.length > 0 ? relative : vscode.workspace.asRelativePath(uri, false),
      uri,
    })),
    { placeHolder: there.length > 0 ? l10n.t("Several folders have {0}", relative) : l10n.t("Several files end in {0}", relative) },
  );
  return picked?.uri;
}

/**
 * Files whose paths end in this one. A compiler names a file from its package, and an agent often by its name alone.
 */
async function endingIn(
  relative: string,
  root: string | undefined,
  folders: readonly vscode.WorkspaceFolder[],
): Promise<Found[]> {
  const end = path.posix.normalize(relative);
  if (end.startsWith(".") || path.isAbsolute(end)) return [];
  const glob = `**/${end.replaceAll(/[[\]{}*?]/g, "[$&]")}`;
  const uris = await vscode.workspace.findFiles(glob, "**/node_modules/**", MOST_FOUND);
  return uris.flatMap((uri) => {
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    return folder === undefined || (root !== undefined && folder.name !== root)
      ? []
      : insideWorkspace(uri.fsPath, folder.name, folders);
  });
}

/** A file of the workspace and the folder that has it. */
export interface Found {
  readonly folder: string;
  readonly uri: vscode.Uri;
}

/**
 * The files of the workspace that a path means; also after links are followed. It may begin with the name of a folder of
 * the workspace.
 */
export function insideWorkspace(
  relative: string,
  root: string | undefined,
  folders: readonly vscode.WorkspaceFolder[],
): Found[] {
  const named = root === undefined ? folders : folders.filter(({ name }) => name === root);
  const inside: Found[] = [];
  const look = (folder: vscode.WorkspaceFolder, rest: string): void => {
    const wanted = path.resolve(folder.uri.fsPath, rest);
    const known = inside.some(({ uri }) => uri.fsPath === wanted);
    if (!known && within(real(wanted), real(folder.uri.fsPath)))
      inside.push({ folder: folder.name, uri: vscode.Uri.file(wanted) });
  };
  if (root === undefined)
    for (const folder of named)
      if (relative.startsWith(`${folder.name}/`)) look(folder, relative.slice(folder.name.length + 1));
  for (const folder of named) look(folder, relative);
  if (inside.length === 0)
    throw refusal("path_outside_workspace", l10n.t("`{0}` is not in this workspace, so it is not opened.", relative));
  const there = inside.filter(({ uri }) => isFile(uri.fsPath));
  // Of one folder the name says nothing where the path is right without it.
  return folders.length === 1 ? there.slice(-1) : there;
}

function isFile(file: string): boolean {
  try {
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function within(file: string, folder: string): boolean {
  return file === folder || file.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);
}

function real(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** Where a file that is not there yet would be: inside the first folder, by a path of its own. */
export function placeOfNew(relative: string, folders: readonly vscode.WorkspaceFolder[]): vscode.Uri | undefined {
  const [folder] = folders;
  if (folder === undefined || path.isAbsolute(relative)) return undefined;
  const wanted = path.resolve(folder.uri.fsPath, relative);
  // Its folder may be a link to elsewhere, as far as it is there.
  let parent = path.dirname(wanted);
  while (real(parent) === parent && !isThere(parent) && parent !== path.dirname(parent)) parent = path.dirname(parent);
  return within(wanted, folder.uri.fsPath) && within(real(parent), real(folder.uri.fsPath)) ? vscode.Uri.file(wanted) : undefined;
}

function isThere(file: string): boolean {
  try {
    statSync(file);
    return true;
  } catch {
    return false;
  }
}

export function refusal(code: string, message: string): Error & EnvelopeError {
  return Object.assign(new Error(message), { code });
}
