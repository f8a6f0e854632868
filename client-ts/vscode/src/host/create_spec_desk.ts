/**
 * The host's side of the form of a new spec (seed 004): its messages answered, with the server doing the work.
 *
 * Owns the order of the steps and what reaches the form when. The draft, the files and the prompt are the server's;
 * windows, pickers and dialogs are given. Knows no VS Code.
 */
import { type Requests, resultFault } from "@breadboard-ls/sdk";
import {
  type AttachResult,
  formFault,
  type FormMessage,
  type FormPayloads,
  hostFault,
  type HostMessage,
  type ImportResult,
  type Init,
  MOST_IMAGES,
  type Submission,
  submissionFault,
} from "../shared/create_spec_messages";
import { l10n } from "vscode";

type Method = Extract<keyof Requests, `bb/createSpec/${string}`>;

/** What the desk needs. */
export interface DeskPorts {
  /** `webview.postMessage`. */
  post(message: HostMessage): void;
  /** Sends a request to the server; rejects with a sentence for the user. */
  ask(method: Method, params: unknown): Promise<unknown>;
  /** Whether the server runs. */
  running(): boolean;
  /** Whether the form can be seen. What a page says while it is thrown away is a last notice, and asks nobody. */
  visible(): boolean;
  /** Lets the user pick a Markdown file; its URI, or `undefined`. */
  pickMarkdown(): Promise<string | undefined>;
  /** Lets the user pick images; their URIs, or `undefined`. */
  pickImages(): Promise<readonly string[] | undefined>;
  /** Asks what becomes of what was written; `undefined` when the form is to stay. */
  askBeforeClosing(): Promise<"keep" | "discard" | undefined>;
  /** Closes the form. */
  close(): void;
  /** The prompt of the spec is in this session. */
  submitted(sessionId: string): void;
  /** Says something that the form cannot show. */
  warn(sentence: string): void;
  /** Says a violation of the protocol. */
  violation(sentence: string): void;
  /** A new id of a prompt. */
  newId(): string;
}

export class CreateSpecDesk {
  /** The page is there and listens. */
  private listening = false;
  /** What the page could not hear, the newest of each type: so it is bounded by the number of types. */
  private readonly unheard = new Map<HostMessage["type"], HostMessage>();
  /** The draft, since the form was opened; the server is asked once, since asking opens it anew. */
  private init: Init | undefined;
  private waitsForInit = false;
  private wantsFocus = true;
  /** Types of requests that are under way: a second one of a kind is not taken. */
  private readonly underWay = new Set<string>();
  /** What the form said last, while the server did not take it. */
  private unsaved: string | undefined;
  private saidUnsaved = false;
  private lastText: string | undefined;
  private attempt: { readonly key: string; readonly messageId: string } | undefined;
  private closed = false;

  constructor(private readonly ports: DeskPorts) {}

  /** One message of the form. */
  async receive(value: unknown): Promise<void> {
    const fault = formFault(value);
    if (fault !== undefined) {
      this.ports.violation(`A message of the spec form was not taken: ${fault}.`);
      return;
    }
    if (this.closed) return;
    const message = value as FormMessage;
    switch (message.type) {
      case "create-spec/ready":
        return this.ready();
      case "create-spec/autosave":
        return this.autosave(message.payload.description);
      case "create-spec/submit":
        return this.once(message.type, () => this.submit(message.payload));
      case "create-spec/close-attempt":
        return this.once(message.type, () => this.closeAttempt(message.payload));
      case "create-spec/import-markdown:request":
        return this.once("picker", () => this.importMarkdown());
      case "create-spec/attach-images:request":
        return this.once("picker", () => this.attachImages(message.payload.currentCount));
    }
  }

  /** The form was asked for again while it is open. */
  again(): void {
    // A page that is being made anew hears it with its init.
    this.wantsFocus = true;
    if (this.listening) this.post({ type: "create-spec/focus" });
  }

  /** The page was thrown away because nobody sees it; it will be ready again. */
  hidden(): void {
    this.listening = false;
  }

  /** The server came or went. */
  async serverChanged(): Promise<void> {
    if (this.closed || !this.ports.running()) return;
    if (this.waitsForInit) await this.ready();
    if (this.unsaved !== undefined) await this.autosave(this.unsaved);
  }

  /** The panel is gone. When the user closed it by its own button, this is the last notice; the draft stays. */
  gone(): void {
    if (this.closed) return;
    this.closed = true;
    if (this.init === undefined) return;
    const last = this.lastText === undefined ? {} : { description: this.lastText };
    this.ports
      .ask("bb/createSpec/closeAttempt", { hasDirtyChanges: this.lastText !== undefined, ...last })
      .catch((error: unknown) => {
        if (this.unsaved !== undefined) this.ports.warn(`The draft of the spec was not saved: ${sentence(error)}`);
      });
  }

  private async ready(): Promise<void> {
    this.listening = true;
    if (this.init === undefined) {
      this.waitsForInit = true;
      try {
        const { draft } = await this.asked("bb/createSpec/ready", {});
        this.init = { ...(draft == null ? {} : { draft }), shouldFocusPrimaryField: true };
      } catch (error) {
        // An empty form would overwrite a draft that nobody has read; so it waits for a server.
        if (this.ports.running()) this.ports.warn(`The draft of the spec could not be read: ${sentence(error)}`);
        return;
      }
      this.waitsForInit = false;
      if (this.closed || !this.listening) return;
    }
    this.post({ type: "create-spec/init", payload: { ...this.init, shouldFocusPrimaryField: this.wantsFocus } });
    this.wantsFocus = false;
    for (const message of this.unheard.values()) this.post(message);
    this.unheard.clear();
  }

  private async autosave(description: string): Promise<void> {
    this.lastText = description;
    try {
      const { lastUpdated } = await this.asked("bb/createSpec/autosave", { description });
      if (this.lastText === description) this.unsaved = undefined;
      this.saidUnsaved = false;
      const { draft: _, ...rest } = this.init ?? { shouldFocusPrimaryField: true };
      this.init = lastUpdated == null ? rest : { ...rest, draft: { formData: { description }, lastUpdated } };
    } catch (error) {
      if (this.lastText === description) this.unsaved = description;
      if (!this.saidUnsaved) this.ports.warn(`The draft of the spec is not saved yet: ${sentence(error)}`);
      this.saidUnsaved = true;
    }
  }

  private async submit(submission: Submission): Promise<void> {
    const fault = submissionFault(submission);
    if (fault !== undefined) return this.post({ type: "create-spec/submit:error", payload: { message: fault } });
    const params = { description: submission.description.trim(), imageUris: submission.imageUris };
    // The same submission again, after an answer that got lost, has the same id.
    const key = JSON.stringify(params);
    if (this.attempt?.key !== key) this.attempt = { key, messageId: this.ports.newId() };
    try {
      const sent = await this.asked("bb/createSpec/submit", { ...params, messageId: this.attempt.messageId });
      this.unsaved = undefined;
      this.post({ type: "create-spec/submit:success" });
      this.finish();
      this.ports.submitted(sent.sessionId);
    } catch (error) {
      const message = sentence(error);
      this.post({ type: "create-spec/submit:error", payload: { message } });
      if (!this.listening) this.ports.warn(`The spec was not submitted: ${message}`);
    }
  }

  private async closeAttempt({ hasDirtyChanges }: FormPayloads["create-spec/close-attempt"]): Promise<void> {
    const unsaved = this.unsaved === undefined ? {} : { description: this.unsaved };
    const shouldClose = await this.asked("bb/createSpec/closeAttempt", { hasDirtyChanges, ...unsaved }).then(
      (answer) => answer.shouldClose,
      // Without a server the form's word is all there is.
      () => !hasDirtyChanges,
    );
    if (this.closed || !this.ports.visible()) return;
    if (shouldClose) return this.finish();
    const answer = await this.ports.askBeforeClosing();
    if (this.closed) return;
    if (answer === undefined) return this.post({ type: "create-spec/confirm-close", payload: { shouldClose: false } });
    try {
      if (answer === "discard") await this.asked("bb/createSpec/discard", {});
    } catch (error) {
      this.ports.warn(`The draft of the spec was not discarded: ${sentence(error)}`);
      return this.post({ type: "create-spec/confirm-close", payload: { shouldClose: false } });
    }
    if (answer === "keep" && this.unsaved !== undefined) {
      this.ports.warn("The draft of the spec could not be saved, so the form stays open; restart the server.");
      return this.post({ type: "create-spec/confirm-close", payload: { shouldClose: false } });
    }
    this.finish();
  }

  private async importMarkdown(): Promise<void> {
    const payload = await this.answered<ImportResult>(async () => {
      const uri = await this.ports.pickMarkdown();
      if (uri === undefined) return undefined;
      const result = await this.asked("bb/createSpec/importMarkdown", { uri });
      if ("error" in result) return { error: result.error };
      return { content: result.content, ...(result.warning == null ? {} : { warning: result.warning }) };
    });
    if (payload === undefined) this.post({ type: "create-spec/picker-closed" });
    else this.post({ type: "create-spec/import-markdown:result", payload });
  }

  private async attachImages(currentCount: number): Promise<void> {
    const payload = await this.answered<AttachResult>(async () => {
      const uris = await this.ports.pickImages();
      if (uris === undefined) return undefined;
      const result = await this.asked("bb/createSpec/attachImages", { uris: [...uris], currentCount });
      if ("error" in result) return { error: result.error };
      // Whatever the server says, the cap holds here too.
      const images = result.images.slice(0, MOST_IMAGES - currentCount);
      const capped = result.capped === true || images.length < result.images.length;
      return { images, ...(capped ? { capped } : {}) };
    });
    if (payload === undefined) this.post({ type: "create-spec/picker-closed" });
    else this.post({ type: "create-spec/attach-images:result", payload });
  }

  /** What came of it; a failure is a payload too, so that the form never waits for ever. */
  private async answered<P>(work: () => Promise<P | undefined>): Promise<P | { error: string } | undefined> {
    try {
      return await work();
    } catch (error) {
      return { error: sentence(error) };
    }
  }

  private async asked<M extends Method>(method: M, params: Requests[M]["params"]): Promise<Requests[M]["result"]> {
    const result = await this.ports.ask(method, params);
    const fault = resultFault(method, result);
    if (fault !== undefined) throw new Error(`The server's answer to ${method} does not fit: ${fault}.`);
    return result as Requests[M]["result"];
  }

  private async once(key: string, work: () => Promise<void>): Promise<void> {
    if (this.underWay.has(key)) return;
    this.underWay.add(key);
    await work().finally(() => this.underWay.delete(key));
  }

  private finish(): void {
    this.closed = true;
    this.ports.close();
  }

  private post(message: HostMessage): void {
    if (this.closed) return;
    const fault = hostFault(message);
    if (fault !== undefined) {
      this.ports.violation(`A message for the spec form was not posted: ${fault}.`);
      if (message.type.endsWith(":result")) this.post({ type: "create-spec/picker-closed" });
      return;
    }
    if (this.listening) this.ports.post(message);
    else this.unheard.set(message.type, message);
  }
}

function sentence(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim() === "" ? l10n.t("It failed without a word; the log may have more.") : text;
}
