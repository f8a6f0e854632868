/**
 * What a page may have done in the editor (`editor.*`).
 *
 * Owns what is allowed: files inside the workspace, links of the web after the editor asked, documents that are not
 * saved. Params were checked by the gate. Gives no secret out.
 */
import * as path from "node:path";
import { type Requests, resultFault } from "@breadboard-ls/sdk";
import * as vscode from "vscode";
import type { EditorMethod } from "../shared/page_methods";
import type { SetupWish } from "../shared/setup";
import { pickAgent } from "./agent_picker";
import { chooseApprovals } from "./approvals_picker";
import type { CodeDocuments } from "./apply_code";
import { type Ask, closeDiff, showDiff } from "./diffs";
import type { Remembered } from "./remembered";
import type { Choice } from "./review_desk";
import type { SetupDesk } from "./setup_desk";
import type { TurnOf } from "./turn_diffs";
import { findSymbols, mentionsOf } from "./named_things";
import { fileNamed, refusal } from "./workspace_files";
import { l10n } from "vscode";

/** Largest text that is opened as a document: beyond it an editor of a web stack stalls. */
const MOST_OPENED = 20 * 1024 * 1024;
/** Most files in one go: each is read by the server. */
const MOST_ATTACHED = 20;

/** What the actions need. */
export interface ActionPorts {
  readonly ask: Ask;
  status(): Record<string, unknown>;
  readonly remembered: Remembered;
  restart(): Promise<void>;
  showLog(): void;
  /** Code of an answer that goes into a file. */
  readonly code: Pick<CodeDocuments, "apply">;
  /** Who answers. */
  readonly setup: Pick<SetupDesk, "look" | "check" | "choose">;
  /** The edits that wait, change by change. */
  readonly review: ReviewActions;
  /** Compares a file of a turn, or all of them, with what was before. */
  turnDiff(of: TurnOf, filePath?: string, root?: string): Promise<void>;
  /** Has the user give a token; it never comes to the page. */
  setToken(scope: "engine" | "model"): Promise<void>;
}

/** What a page may do with an edit that waits. */
export interface ReviewActions {
  show(sessionId: string, patchId: string, hunkId?: string): Promise<void>;
  choices(sessionId: string, patchId: string): Promise<readonly { id: string; choice: Choice }[]>;
  choose(patchId: string, hunkId: string, choice: Choice | undefined): void;
}

type Params = Record<string, unknown>;

/** Does one of them. */
export async function act(ports: ActionPorts, method: EditorMethod, params: Params): Promise<unknown> {
  switch (method) {
    case "editor.status": {
      const remembered = await ports.remembered.read();
      return { ...ports.status(), ...(remembered === undefined ? {} : { remembered }) };
    }
    case "editor.remember":
      return ports.remembered.write(params["state"] as string);
    case "editor.copy":
      return void (await vscode.env.clipboard.writeText(params["text"] as string));
    case "editor.findSymbols":
      return { symbols: await findSymbols(params["query"] as string) };
    case "editor.mention":
      return { text: mentionsOf(params["uris"] as readonly string[]) };
    case "editor.insert":
      return insert(params["text"] as string);
    case "editor.applyCode":
      return ports.code.apply(params["text"] as string, (params["path"] as string | null | undefined) ?? undefined);
    case "editor.openText":
      return openText(params["title"] as string, params["text"] as string, params["language"] as string | undefined);
    case "editor.openFile":
      return openFile(
        params["path"] as string,
        params["root"] as string | undefined,
        params["line"] as number | undefined,
        params["column"] as number | undefined,
      );
    case "editor.openLink":
      return openLink(params["uri"] as string);
    case "editor.openTerminal":
      return openTerminal(params["command"] as string);
    case "editor.showDiff":
      return showDiff(ports.ask, params as Requests["bb/openDiff"]["params"]);
    case "editor.closeDiff":
      return closeDiff(params["afterRef"] as string);
    case "editor.review":
      return ports.review.show(
        params["sessionId"] as string,
        params["patchId"] as string,
        (params["hunkId"] as string | null | undefined) ?? undefined,
      );
    case "editor.hunkChoices":
      return { choices: await ports.review.choices(params["sessionId"] as string, params["patchId"] as string) };
    case "editor.chooseHunk": {
      const choice = params["choice"] as Choice | "none";
      return ports.review.choose(params["patchId"] as string, params["hunkId"] as string, choice === "none" ? undefined : choice);
    }
    case "editor.turnDiff":
    case "editor.turnDiffs":
      return ports.turnDiff(
        { sessionId: params["sessionId"] as string, turn: params["turn"] as number },
        params["filePath"] as string | undefined,
        (params["root"] as string | null | undefined) ?? undefined,
      );
    case "editor.openArtifact":
      return openArtifact(ports.ask, params);
    case "editor.pickAttachments":
      return pickAttachments(ports.ask, params["sessionId"] as string);
    case "editor.setToken":
      return ports.setToken(params["scope"] as "engine" | "model");
    case "editor.setupLook":
      return ports.setup.look();
    case "editor.setupCheck":
      return ports.setup.check(params["wish"] as SetupWish, params["anew"] as boolean);
    case "editor.setupChoose":
      return ports.setup.choose(params["wish"] as SetupWish);
    case "editor.manageTrust":
      return void (await vscode.commands.executeCommand("workbench.trust.manage"));
    case "editor.pickAgent":
      return pickAgent(params["title"] as string | undefined);
    case "editor.chooseApprovals":
      return chooseApprovals(ports.ask);
    case "editor.restart":
      return ports.restart();
    case "editor.showLog":
      return ports.showLog();
    case "editor.openSettings":
      return void (await vscode.commands.executeCommand("workbench.action.openSettings", "breadboard"));
  }
}

async function insert(text: string): Promise<void> {
  const editor =
    vscode.window.activeTextEditor ??
    vscode.window.visibleTextEditors.find(({ document }) => document.uri.scheme === "file");
  if (editor === undefined)
    throw refusal("unsupported", l10n.t("No editor is open to insert into; open a file and try again."));
  // Not a snippet: what an agent wrote may hold `$` and `}`.
  const done = await editor.edit((edit) => editor.selections.forEach((selection) => edit.replace(selection, text)));
  if (!done) throw refusal("conflict", l10n.t("The editor did not take the text; it may be read-only."));
}

async function openText(title: string, text: string, language: string | undefined): Promise<void> {
  if (text.length > MOST_OPENED)
    throw refusal("too_large", l10n.t("{0} is larger than 20 MiB; save it as an artifact instead.", title));
  const document = await vscode.workspace
    .openTextDocument({ content: text, ...(language === undefined ? {} : { language }) })
    .then(
      (opened) => opened,
      // A language that the editor does not know.
      () => vscode.workspace.openTextDocument({ content: text }),
    );
  await vscode.window.showTextDocument(document, { preview: true });
}

async function openFile(
  relative: string,
  root: string | undefined,
  line: number | undefined,
  column: number | undefined,
): Promise<void> {
  const uri = await fileNamed(relative, root);
  if (uri === undefined) return;
  const at = new vscode.Position(Math.max(0, (line ?? 1) - 1), Math.max(0, (column ?? 1) - 1));
  await vscode.window.showTextDocument(uri, {
    preview: true,
    ...(line === undefined ? {} : { selection: new vscode.Range(at, at) }),
  });
}

async function openLink(uri: string): Promise<void> {
  const parsed = vscode.Uri.parse(uri, true);
  if (parsed.scheme === "http" || parsed.scheme === "https" || parsed.scheme === "mailto") {
    await vscode.env.openExternal(parsed);
    return;
  }
  if (parsed.scheme === "file") {
    const file = await fileNamed(parsed.fsPath, undefined);
    if (file !== undefined) await vscode.window.showTextDocument(file);
    return;
  }
  throw refusal("unsupported", l10n.t("Links of the kind `{0}:` are not opened.", parsed.scheme));
}

/** Types a command and runs nothing: the user reads it there and presses Enter, or does not. */
function openTerminal(command: string): void {
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f-\u009f]/.test(command))
    throw refusal("unsupported", l10n.t("What is typed into a terminal is one line; type it there yourself."));
  const terminal = vscode.window.createTerminal({ name: "BreadBoard" });
  terminal.show();
  terminal.sendText(command, false);
}

async function openArtifact(ask: Ask, params: Params): Promise<void> {
  const result = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: l10n.t("Fetching the artifact"), cancellable: true },
    (_progress, token) => ask("bb/downloadArtifact", params, token),
  );
  const fault = resultFault("bb/downloadArtifact", result);
  if (fault !== undefined) throw new Error(`The server's answer about the artifact does not fit: ${fault}.`);
  const uri = vscode.Uri.parse((result as Requests["bb/downloadArtifact"]["result"]).uri, true);
  if (uri.scheme !== "file") throw new Error(l10n.t("The server stored the artifact somewhere that is not a file."));
  await vscode.commands.executeCommand("vscode.open", uri);
}

async function pickAttachments(ask: Ask, sessionId: string): Promise<unknown> {
  const picked = await vscode.window.showOpenDialog({
    canSelectMany: true,
    openLabel: l10n.t("Attach"),
    title: l10n.t("Attach files to the next prompt"),
  });
  const attachments: { attachmentId: string; name: string; bytes: number }[] = [];
  for (const uri of (picked ?? []).slice(0, MOST_ATTACHED)) {
    const name = path.basename(uri.fsPath);
    const result = await ask("bb/attachment/put", { sessionId, name, uri: uri.toString() });
    const fault = resultFault("bb/attachment/put", result);
    if (fault !== undefined) throw new Error(`The server's answer about the attachment does not fit: ${fault}.`);
    const { attachmentId, bytes } = result as Requests["bb/attachment/put"]["result"];
    attachments.push({ attachmentId, name, bytes });
  }
  return { attachments, leftOut: Math.max(0, (picked?.length ?? 0) - MOST_ATTACHED) };
}
