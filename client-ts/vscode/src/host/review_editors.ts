/**
 * Proposed changes in the editor: a document for each file of an edit that waits, with what goes and what comes in its
 * place, and lenses to decide.
 *
 * Owns these documents (scheme `bb-review:`), how they look, which change a command means, and that no change is accepted
 * before its end was on the screen. They are read-only, follow what is typed into the file, and close when the edit was
 * answered, by whomever. Never writes a file.
 */
import * as vscode from "vscode";
import { type Ask, closeDiff, showDiff, sidesOf } from "./diffs";
import { insideWorkspace } from "./workspace_files";
import { changeLook, type ChangeLook } from "./review_look";
import { type Choice, countsOf, type PatchFile, type Review, type ReviewDesk, sendWords } from "./review_desk";
import { type PlacedChange, type ReviewText, reveal as revealed, reviewText } from "./review_text";
import { l10n } from "vscode";

export const REVIEW_SCHEME = "bb-review";

/** So long a review waits for more to be typed before it is drawn anew. */
const TYPING_MS = 150;
/** So long a sentence stands in the status bar: a while longer than it is read. */
const SAID_MS = 8_000;
/** A reader has seen a line that was on the screen; this many are kept above a change that is gone to. */
const LINES_ABOVE = 3;

interface Shown {
  readonly review: Review;
  readonly at: number;
  readonly file: PatchFile;
  readonly text: ReviewText;
}

export interface EditorsPorts {
  readonly ask: Ask;
  readonly desk: ReviewDesk;
}

export class ReviewEditors implements vscode.TextDocumentContentProvider, vscode.CodeLensProvider, vscode.Disposable {
  private readonly drawn = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.drawn.event;
  private readonly lenses = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.lenses.event;
  private readonly look: ChangeLook = changeLook();
  private readonly shown = new Map<string, Shown>();
  /** How far each change was on the screen: the line behind the last one, counted from the first of the change. */
  private readonly seen = new Map<string, number>();
  /** The file of each document that is shown. */
  private readonly targets = new Map<string, string>();
  private typing: NodeJS.Timeout | undefined;
  private said: vscode.Disposable | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly ports: EditorsPorts) {
    this.subscriptions = [
      this.drawn,
      this.lenses,
      this.look,
      vscode.workspace.registerTextDocumentContentProvider(REVIEW_SCHEME, this),
      vscode.languages.registerCodeLensProvider([{ scheme: REVIEW_SCHEME }, { scheme: "file" }], this),
      vscode.window.onDidChangeVisibleTextEditors(() => this.paint()),
      vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => this.note(textEditor)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.typed(document)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        this.shown.delete(uri.toString());
        this.targets.delete(uri.toString());
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.typing);
    for (const one of this.subscriptions) one.dispose();
  }

  /** Something was chosen of an edit, or it came, or it waits no more. */
  changed(patchId: string): void {
    this.lenses.fire();
    if (this.ports.desk.get(patchId) !== undefined) return this.paint();
    this.said?.dispose();
    void this.close(patchId);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const named = nameOf(uri);
    const review = named && (await this.ports.desk.open(named.sessionId, named.patchId));
    const file = review?.patch.files[named?.at ?? 0];
    if (named === undefined || review === undefined || file === undefined)
      return l10n.t("This edit waits for no answer any more; close this tab.\n");
    const target = targetOf(file);
    const text = reviewText(await textOf(target), file.hunks);
    if (target !== undefined) this.targets.set(uri.toString(), target.toString());
    this.shown.set(uri.toString(), { review, at: named.at, file, text });
    // The editor takes the text first.
    setTimeout(() => this.paint(), 0);
    return text.text;
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    if (document.uri.scheme !== REVIEW_SCHEME) return this.lensesOfFile(document);
    const shown = this.of(document.uri);
    if (shown === undefined) return [];
    const { review, file, text } = shown;
    const counts = countsOf(review);
    const on = (line: number, title: string, command = "", ...args: unknown[]) =>
      new vscode.CodeLens(new vscode.Range(line, 0, line, 0), { title, command, arguments: args });
    const doc = document.uri.toString();
    const head = [
      on(0, counts.left > 0 ? sendWords(counts) : `$(check-all) ${sendWords(counts)}`, "breadboard.applyReview", doc),
      ...(file.hunks.length > 1
        ? [
            on(0, l10n.t("Accept file"), "breadboard.acceptFile", doc),
            on(0, l10n.t("Reject file"), "breadboard.rejectFile", doc),
          ]
        : []),
      on(0, l10n.t("Side by side"), "breadboard.compareProposal", doc),
      ...(review.patch.files.length > 1 ? [on(0, l10n.t("All files"), "breadboard.reviewAllFiles", doc)] : []),
    ];
    const all = review.patch.files.flatMap(({ hunks }) => hunks.map(({ id }) => id));
    return [
      ...head,
      ...text.changes.flatMap((change) => {
        const { start } = change.lines;
        const number = l10n.t("Change {0} of {1}", all.indexOf(change.id) + 1, all.length);
        const choice = review.choices.get(change.id);
        const decide =
          choice === undefined
            ? [
                change.fits
                  ? on(start, l10n.t("$(check) Accept"), "breadboard.acceptHunk", doc, change.id)
                  : on(start, l10n.t("$(warning) Does not fit the file any more")),
                on(start, l10n.t("$(close) Reject"), "breadboard.rejectHunk", doc, change.id),
              ]
            : [
                on(start, choice === "accepted" ? l10n.t("$(check) Accepted") : l10n.t("$(close) Rejected")),
                on(start, l10n.t("Decide anew"), "breadboard.undecideHunk", doc, change.id),
              ];
        return [
          on(start, number),
          ...decide,
          on(start, l10n.t("$(arrow-up) Previous"), "breadboard.previousHunk", doc, change.id),
          on(start, l10n.t("$(arrow-down) Next"), "breadboard.nextHunk", doc, change.id),
        ];
      }),
    ];
  }

  /** In the file itself: where something is proposed for it. */
  private lensesOfFile(document: vscode.TextDocument): vscode.CodeLens[] {
    const own = document.uri.toString();
    return this.ports.desk.all().flatMap(({ sessionId, patch }) =>
      patch.files.flatMap((file, at) => {
        if (targetOf(file)?.toString() !== own) return [];
        return reviewText(document.getText(), file.hunks).changes.map(
          ({ id, at: line }) =>
            new vscode.CodeLens(new vscode.Range(Math.min(line, document.lineCount - 1), 0, Math.min(line, document.lineCount - 1), 0), {
              title: l10n.t("$(edit) A change is proposed here: review it"),
              command: "breadboard.reviewEdit",
              arguments: [sessionId, patch.patchId, at, id],
            }),
        );
      }),
    );
  }

  /** Shows a file of an edit at one of its changes; the first that is to be decided, where none is named. */
  async show(sessionId: string, patchId: string, at?: number, hunkId?: string): Promise<void> {
    const review = await this.ports.desk.open(sessionId, patchId);
    if (review === undefined) throw new Error(l10n.t("This edit waits for no answer any more."));
    const { files } = review.patch;
    const open = files.findIndex(({ hunks }) => hunks.some(({ id }) => !review.choices.has(id)));
    const index = at ?? (hunkId === undefined ? Math.max(0, open) : files.findIndex(({ hunks }) => hunks.some(({ id }) => id === hunkId)));
    const file = files[index];
    if (file === undefined) throw new Error(l10n.t("This edit has no such file any more; look at it again."));
    const uri = uriOf(sessionId, patchId, index, file);
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document, { preview: false });
    const shown = this.of(uri);
    const changes = shown?.text.changes ?? [];
    const change =
      changes.find(({ id }) => id === hunkId) ?? changes.find(({ id }) => !review.choices.has(id)) ?? changes[0];
    if (change !== undefined) reveal(editor, change);
    this.note(editor);
    this.paint();
  }

  /** Decides on a change: the one that is named, else the one at the cursor. */
  async decide(choice: Choice | undefined, doc?: string, id?: string): Promise<void> {
    const found = this.at(doc, id);
    if (found === undefined) return;
    const { editor, shown, change } = found;
    const { patchId } = shown.review.patch;
    if (choice === "accepted" && !this.mayAccept(editor, change)) return;
    this.ports.desk.choose(patchId, [change.id], choice);
    if (choice !== undefined) await this.goOn(shown, change);
  }

  /** Decides on every change of the file that has no answer yet. */
  async decideFile(choice: Choice, doc?: string): Promise<void> {
    const found = this.at(doc);
    if (found === undefined) return;
    const { editor, shown } = found;
    const { review, text } = shown;
    const open = text.changes.filter(({ id }) => !review.choices.has(id));
    if (choice === "accepted") {
      const unseen = open.find((change) => !change.fits || !this.isSeen(editor, change));
      if (unseen !== undefined) {
        reveal(editor, unseen);
        this.mayAccept(editor, unseen);
        return;
      }
    }
    this.ports.desk.choose(review.patch.patchId, open.map(({ id }) => id), choice);
    const last = text.changes.at(-1);
    if (last !== undefined) await this.goOn(shown, last);
  }

  /** Goes to another change, over the files of the edit. */
  async move(by: 1 | -1, doc?: string, id?: string): Promise<void> {
    const found = this.at(doc, id);
    if (found === undefined) return;
    const { review } = found.shown;
    const all = review.patch.files.flatMap(({ hunks }, at) => hunks.map((hunk) => ({ at, id: hunk.id })));
    const here = all.findIndex((one) => one.id === found.change.id);
    const next = all[(here + by + all.length) % all.length];
    if (next !== undefined) await this.show(review.sessionId, review.patch.patchId, next.at, next.id);
  }

  /** Sends what was decided. Where something is open yet, it is shown instead. */
  async apply(doc?: string): Promise<void> {
    const shown = this.at(doc)?.shown;
    if (shown === undefined) return;
    const { review } = shown;
    const counts = countsOf(review);
    if (counts.left > 0) {
      this.say(l10n.t("{0} first.", sendWords(counts)));
      return this.show(review.sessionId, review.patch.patchId);
    }
    const said = await this.ports.desk.send(review.patch.patchId);
    this.say(`$(check) ${said}`);
  }

  /** The file as it is beside the file as it would be. */
  async compare(doc?: string): Promise<void> {
    const shown = this.at(doc)?.shown;
    if (shown === undefined) return;
    await showDiff(this.ports.ask, paramsOf(shown.review, shown.file));
  }

  /** All files of the edit in the editor's own view of many comparisons. */
  async compareAll(doc?: string): Promise<void> {
    const shown = this.at(doc)?.shown;
    if (shown === undefined) return;
    const { review } = shown;
    const sides: [vscode.Uri, vscode.Uri, vscode.Uri][] = [];
    for (const file of review.patch.files) {
      const { before, after } = await sidesOf(this.ports.ask, paramsOf(review, file));
      sides.push([targetOf(file) ?? after, before, after]);
    }
    await vscode.commands.executeCommand("vscode.changes", titleOf(review), sides);
  }

  /** One sentence at a time: the next one, or the end of the review, takes it away. */
  private say(sentence: string): void {
    this.said?.dispose();
    this.said = vscode.window.setStatusBarMessage(sentence, SAID_MS);
  }

  private of(uri: vscode.Uri): Shown | undefined {
    const shown = this.shown.get(uri.toString());
    const review = shown && this.ports.desk.get(shown.review.patch.patchId);
    return shown === undefined || review === undefined ? undefined : { ...shown, review };
  }

  /** The change that a command means. */
  private at(doc?: string, id?: string): { editor: vscode.TextEditor; shown: Shown; change: PlacedChange } | undefined {
    const editors = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors];
    const editor = editors.find((one) => one !== undefined && (doc === undefined ? one.document.uri.scheme === REVIEW_SCHEME : one.document.uri.toString() === doc));
    const shown = editor && this.of(editor.document.uri);
    if (editor === undefined || shown === undefined) {
      this.say(l10n.t("Open the review of a proposed edit first."));
      return undefined;
    }
    const { changes } = shown.text;
    const line = editor.selection.active.line;
    const change =
      id !== undefined
        ? changes.find((one) => one.id === id)
        : (changes.find(({ lines }) => line < Math.max(lines.end, lines.start + 1)) ?? changes.at(-1));
    return change === undefined ? undefined : { editor, shown, change };
  }

  /** Whether a change may be accepted; where not, why is said, and more of it shown. */
  private mayAccept(editor: vscode.TextEditor, change: PlacedChange): boolean {
    if (!change.fits) {
      this.say(
        l10n.t("$(warning) The file has changed where this belongs; undo that in the file, or reject the change."),
      );
      return false;
    }
    if (this.isSeen(editor, change)) return true;
    const from = change.lines.start + (this.seen.get(change.id) ?? 0);
    editor.revealRange(new vscode.Range(from, 0, from, 0), vscode.TextEditorRevealType.AtTop);
    this.say(l10n.t("Read the change to its end first, then accept it."));
    return false;
  }

  private isSeen(editor: vscode.TextEditor, change: PlacedChange): boolean {
    this.note(editor);
    return (this.seen.get(change.id) ?? 0) >= change.lines.end - change.lines.start;
  }

  /** What is on the screen has been seen, as far as nothing before it is missing. */
  private note(editor: vscode.TextEditor): void {
    const shown = this.of(editor.document.uri);
    for (const { id, lines } of shown?.text.changes ?? [])
      for (const { start, end } of editor.visibleRanges) {
        const seen = this.seen.get(id) ?? 0;
        if (start.line <= lines.start + seen) this.seen.set(id, Math.max(seen, end.line + 1 - lines.start));
      }
  }

  /** On to the next change that is to be decided, or what can be done once all are. */
  private async goOn({ review, at }: Shown, { id }: PlacedChange): Promise<void> {
    const now = this.ports.desk.get(review.patch.patchId);
    if (now === undefined) return;
    const counts = countsOf(now);
    const all = now.patch.files.flatMap(({ hunks }, file) => hunks.map((hunk) => ({ file, id: hunk.id })));
    const here = all.findIndex((one) => one.id === id && one.file === at);
    const next = [...all.slice(here + 1), ...all.slice(0, here)].find((one) => !now.choices.has(one.id));
    if (next !== undefined) return this.show(now.sessionId, now.patch.patchId, next.file, next.id);
    this.say(l10n.t("$(check-all) All is decided. Ctrl+Enter: {0}.", sendWords(counts)));
  }

  private typed({ uri }: vscode.TextDocument): void {
    if (uri.scheme === REVIEW_SCHEME) return this.paint();
    const typed = uri.toString();
    const about = [...this.targets].filter(([, target]) => target === typed).map(([doc]) => doc);
    if (about.length === 0) return;
    clearTimeout(this.typing);
    this.typing = setTimeout(() => {
      for (const doc of about) this.drawn.fire(vscode.Uri.parse(doc, true));
      this.lenses.fire();
    }, TYPING_MS);
  }

  private paint(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme !== REVIEW_SCHEME) continue;
      const shown = this.of(editor.document.uri);
      // What is drawn is of another text until the editor has taken this one.
      if (shown !== undefined && shown.text.text !== editor.document.getText().replaceAll("\r\n", "\n")) continue;
      this.look.paint(editor, shown?.text.changes ?? [], shown?.review.choices ?? new Map());
      this.note(editor);
    }
    this.lenses.fire();
  }

  /** An edit that was answered leaves no tab behind. */
  private async close(patchId: string): Promise<void> {
    for (const [doc, { review }] of [...this.shown])
      if (review.patch.patchId === patchId) {
        for (const { id } of review.patch.files.flatMap(({ hunks }) => hunks)) this.seen.delete(id);
        this.shown.delete(doc);
      }
    await closeTabs(({ input, label }) =>
      input instanceof vscode.TabInputText ? nameOf(input.uri)?.patchId === patchId : label === `${TITLE} (${patchId.slice(0, 8)})`,
    );
    await closeDiff(`patch:${patchId}`);
  }

  /** Tabs of an earlier window whose edit was answered since. */
  async closeStale(): Promise<void> {
    await closeTabs(({ input }) => {
      const named = input instanceof vscode.TabInputText ? nameOf(input.uri) : undefined;
      return named !== undefined && this.ports.desk.get(named.patchId) === undefined;
    });
  }
}

const TITLE = l10n.t("Proposed changes");

function titleOf({ patch }: Review): string {
  return `${TITLE} (${patch.patchId.slice(0, 8)})`;
}

async function closeTabs(wanted: (tab: vscode.Tab) => boolean): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(wanted);
  if (tabs.length > 0) await vscode.window.tabGroups.close(tabs, true);
}

function paramsOf({ sessionId, patch }: Review, file: PatchFile) {
  const root = file.root == null ? {} : { root: file.root };
  return { sessionId, filePath: file.filePath, ...root, beforeRef: "buffer", afterRef: `patch:${patch.patchId}` };
}

function uriOf(sessionId: string, patchId: string, at: number, file: PatchFile): vscode.Uri {
  const root = file.root == null ? "" : `${file.root}/`;
  return vscode.Uri.from({
    scheme: REVIEW_SCHEME,
    path: `/${root}${file.filePath}`.replace(/[^/]*$/, "Proposed: $&"),
    query: [sessionId, patchId, String(at)].map(encodeURIComponent).join("&"),
  });
}

function nameOf(uri: vscode.Uri): { sessionId: string; patchId: string; at: number } | undefined {
  if (uri.scheme !== REVIEW_SCHEME) return undefined;
  const [sessionId, patchId, at] = uri.query.split("&").map(decodeURIComponent);
  return sessionId === undefined || patchId === undefined ? undefined : { sessionId, patchId, at: Number(at ?? 0) };
}

/** The file that is meant; one that is made stands where it will. */
function targetOf({ filePath, root }: PatchFile): vscode.Uri | undefined {
  const folders = vscode.workspace.workspaceFolders ?? [];
  try {
    const [found] = insideWorkspace(revealed(filePath), root ?? undefined, folders);
    return found?.uri;
  } catch {
    return undefined;
  }
}

/** What the editor has of it, unsaved changes included. */
async function textOf(uri: vscode.Uri | undefined): Promise<string> {
  if (uri === undefined) return "";
  return vscode.workspace.openTextDocument(uri).then(
    (document) => document.getText(),
    // It is no text, or too large: its changes stand alone.
    () => "",
  );
}

function reveal(editor: vscode.TextEditor, { lines }: PlacedChange): void {
  const start = new vscode.Position(lines.start, 0);
  editor.selection = new vscode.Selection(start, start);
  const tall = lines.end - lines.start > visibleLines(editor) - LINES_ABOVE;
  const from = Math.max(0, lines.start - LINES_ABOVE);
  editor.revealRange(
    new vscode.Range(from, 0, Math.max(from, lines.end), 0),
    tall ? vscode.TextEditorRevealType.AtTop : vscode.TextEditorRevealType.InCenterIfOutsideViewport,
  );
}

function visibleLines({ visibleRanges }: vscode.TextEditor): number {
  const [first] = visibleRanges;
  return first === undefined ? 0 : first.end.line - first.start.line + 1;
}
