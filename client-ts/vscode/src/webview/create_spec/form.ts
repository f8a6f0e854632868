/**
 * The form of a new spec: what stands in it, and what it says to its host (seed 004).
 *
 * Owns when a message is sent and what an answer changes. Draws nothing; time, state and messages go through its ports.
 */
import { batch, computed, signal } from "@preact/signals";
import {
  AUTOSAVE_MS,
  formFault,
  type FormMessage,
  hostFault,
  type HostMessage,
  type HostPayloads,
  MOST_IMAGES,
  type SpecImage,
  submissionFault,
} from "../../shared/create_spec_messages";
import { t } from "../messages";

/** What the form leaves for the page that comes after it in the same panel. */
export interface FormState {
  readonly description: string;
  /** What the description was when the form was opened: what differs from it is not submitted. */
  readonly opened: string;
  readonly images: readonly SpecImage[];
}

/** What the form needs. */
export interface FormPorts {
  post(message: FormMessage): void;
  setState(state: FormState): void;
  /** Waits; gives back what stops the waiting. */
  later(ms: number, then: () => void): () => void;
  /** Says a violation of the protocol. */
  violation(sentence: string): void;
}

/** Something to tell the user. */
export interface Notice {
  readonly tone: "error" | "warning" | "info";
  readonly text: string;
}

/** Text that waits for the user's word to replace what is there; without `content` a file is picked first. */
export interface Replacing {
  readonly content?: string;
  readonly warning?: string;
}

const CAPPED = t("Some images were not added: the 5-image limit was reached.");

export class SpecForm {
  readonly description = signal("");
  readonly images = signal<readonly SpecImage[]>([]);
  /** The draft is there, and the form can be used. */
  readonly ready = signal(false);
  readonly submitting = signal(false);
  readonly importing = signal(false);
  readonly attaching = signal(false);
  readonly closing = signal(false);
  readonly replacing = signal<Replacing | undefined>(undefined);
  readonly notice = signal<Notice | undefined>(undefined);
  readonly fieldError = signal<string | undefined>(undefined);
  /** The last text that the host was given to keep. */
  readonly persisted = signal("");
  /** The last thing worth saying aloud that is not shown as a notice. */
  readonly spoken = signal("");
  /** Raised to move the focus into the description. */
  readonly focusField = signal(0);

  readonly full = computed(() => this.images.value.length >= MOST_IMAGES);
  /** Differs from what was last submitted or opened, whether it is kept as a draft or not. */
  readonly dirty = computed(() => this.description.value !== this.opened.value || this.images.value.length > 0);

  private readonly opened = signal("");
  private readonly restored: FormState | undefined;
  private stopWaiting: (() => void) | undefined;
  /** What stood in the form when the import was confirmed. */
  private confirmedOver = "";
  private submitted = false;
  /** What was typed is not in the page's state yet. */
  private unremembered = false;

  constructor(
    private readonly ports: FormPorts,
    saved: unknown,
  ) {
    this.restored = readFormState(saved);
  }

  /** Begins: the host answers with the draft. */
  mount(): void {
    this.send({ type: "create-spec/ready" });
  }

  /** One message of the host. */
  hear(value: unknown): void {
    const fault = hostFault(value);
    if (fault !== undefined) {
      this.ports.violation(`A message of the host was not taken: ${fault}.`);
      return;
    }
    const message = value as HostMessage;
    batch(() => {
      switch (message.type) {
        case "create-spec/init":
          return this.begin(message.payload);
        case "create-spec/submit:success":
          return this.succeed();
        case "create-spec/submit:error":
          return this.refused(message.payload.message);
        case "create-spec/confirm-close":
          this.closing.value = false;
          return void (this.focusField.value += 1);
        case "create-spec/focus":
          return void (this.focusField.value += 1);
        case "create-spec/import-markdown:result":
          this.importing.value = false;
          return this.imported(message.payload);
        case "create-spec/attach-images:result":
          this.attaching.value = false;
          return this.attached(message.payload);
        case "create-spec/picker-closed":
          return this.pickerClosed();
      }
    });
  }

  edit(description: string): void {
    if (!this.ready.value || this.submitting.value || this.submitted) return;
    this.description.value = description;
    if (description.trim() !== "") this.fieldError.value = undefined;
    this.keep();
  }

  /** Gives the host what it does not have yet, without waiting: before a close, and when the focus leaves. */
  flush(): void {
    this.stopWaiting?.();
    this.stopWaiting = undefined;
    if (this.unremembered) this.remember();
    if (!this.ready.value || this.submitting.value || this.submitted) return;
    const description = this.description.value;
    if (description === this.persisted.value) return;
    this.persisted.value = description;
    this.send({ type: "create-spec/autosave", payload: { description } });
  }

  submit(): void {
    if (!this.ready.value || this.submitting.value || this.submitted) return;
    const payload = {
      description: this.description.value.trim(),
      imageUris: this.images.value.map(({ uri }) => uri),
    };
    this.notice.value = undefined;
    const fault = submissionFault(payload);
    if (fault !== undefined) {
      if (payload.description === "") {
        this.fieldError.value = fault;
        this.focusField.value += 1;
      } else this.notice.value = { tone: "error", text: fault };
      return;
    }
    this.stopWaiting?.();
    this.stopWaiting = undefined;
    this.submitting.value = true;
    this.send({ type: "create-spec/submit", payload });
  }

  /** The user wants a file instead of what is there, or with nothing there. */
  wantImport(): void {
    if (!this.free() || this.importing.value) return;
    if (this.description.value.trim() === "") this.requestImport();
    else this.replacing.value = {};
  }

  /** The user said that what is there may go. */
  replace(): void {
    const replacing = this.replacing.value;
    if (replacing === undefined) return;
    this.replacing.value = undefined;
    if (replacing.content === undefined) this.requestImport();
    else this.fill(replacing.content, replacing.warning);
  }

  /** The user keeps what is there. */
  keepText(): void {
    this.replacing.value = undefined;
    this.focusField.value += 1;
  }

  wantImages(): void {
    if (!this.free() || this.attaching.value || this.full.value) return;
    this.notice.value = undefined;
    this.attaching.value = true;
    this.send({
      type: "create-spec/attach-images:request",
      payload: { currentCount: this.images.value.length },
    });
  }

  remove(id: string): void {
    const gone = this.images.value.find((image) => image.id === id);
    if (gone === undefined || this.submitting.value) return;
    this.images.value = this.images.value.filter((image) => image !== gone);
    this.spoken.value = t("{0} was removed.", gone.name);
    this.remember();
  }

  /** Cancel, or Escape. */
  cancel(): void {
    if (this.closing.value || this.submitting.value) return;
    this.flush();
    this.closing.value = true;
    this.send({ type: "create-spec/close-attempt", payload: { hasDirtyChanges: this.dirty.value } });
  }

  /** The page is about to go, for whatever reason. */
  unload(): void {
    this.flush();
    if (!this.ready.value || this.submitted || !this.dirty.value) return;
    this.send({ type: "create-spec/close-attempt", payload: { hasDirtyChanges: true } });
  }

  /** A host that says nothing of a picker that was closed: the focus is back, so no picker is open. */
  pickerClosed(): void {
    this.importing.value = false;
    this.attaching.value = false;
  }

  dismiss(): void {
    this.notice.value = undefined;
    this.focusField.value += 1;
  }

  private begin({ draft, shouldFocusPrimaryField }: HostPayloads["create-spec/init"]): void {
    if (!this.ready.value) {
      const kept = draft?.formData.description ?? "";
      // The page before this one, in this panel, knows what was typed last, and what the draft has no place for.
      this.description.value = this.restored?.description ?? kept;
      this.opened.value = this.restored?.opened ?? kept;
      this.images.value = this.restored?.images ?? [];
      this.persisted.value = kept;
      this.ready.value = true;
      if (this.description.value !== kept) this.keep();
    }
    if (shouldFocusPrimaryField) this.focusField.value += 1;
  }

  private succeed(): void {
    this.submitted = true;
    this.submitting.value = false;
    this.opened.value = this.description.value;
    this.images.value = [];
    this.spoken.value = t("The spec was submitted.");
  }

  private refused(message: string): void {
    this.submitting.value = false;
    this.notice.value = { tone: "error", text: message };
    if (this.description.value !== this.persisted.value) this.keep();
  }

  private requestImport(): void {
    this.notice.value = undefined;
    this.confirmedOver = this.description.value;
    this.importing.value = true;
    this.send({ type: "create-spec/import-markdown:request" });
  }

  private imported(payload: HostPayloads["create-spec/import-markdown:result"]): void {
    if ("error" in payload) this.notice.value = { tone: "error", text: payload.error };
    // What was typed since the user confirmed was not part of what they confirmed.
    else if (this.description.value.trim() !== "" && this.description.value !== this.confirmedOver)
      this.replacing.value = {
        content: payload.content,
        ...(payload.warning == null ? {} : { warning: payload.warning }),
      };
    else this.fill(payload.content, payload.warning ?? undefined);
  }

  private fill(content: string, warning: string | undefined): void {
    if (this.submitting.value || this.submitted) return;
    this.edit(content);
    const empty = content === "" ? t("The selected file is empty.") : undefined;
    const text = warning ?? empty;
    this.notice.value = text === undefined ? undefined : { tone: "warning", text };
    if (text === undefined) this.spoken.value = t("The file was imported.");
    this.focusField.value += 1;
  }

  private attached(payload: HostPayloads["create-spec/attach-images:result"]): void {
    if ("error" in payload) {
      this.notice.value = { tone: "error", text: payload.error };
      return;
    }
    if (this.submitting.value || this.submitted) return;
    const held = new Set(this.images.value.map(({ uri }) => uri));
    const fresh = payload.images.filter(({ uri }) => !held.has(uri) && held.add(uri));
    const all = [...this.images.value, ...fresh];
    this.images.value = all.slice(0, MOST_IMAGES);
    const left = MOST_IMAGES - all.length;
    if (payload.capped === true || left < 0) this.notice.value = { tone: "info", text: CAPPED };
    else if (fresh.length < payload.images.length)
      this.notice.value = { tone: "info", text: t("An image that is attached already was not added again.") };
    if (fresh.length > 0)
      this.spoken.value = t("{0} of {1} images are attached.", this.images.value.length, MOST_IMAGES);
    this.remember();
  }

  private free(): boolean {
    return this.ready.value && !this.submitting.value && !this.submitted;
  }

  private keep(): void {
    // Images are large, and the state is written whole: not at every key, then.
    if (this.images.value.length === 0) this.remember();
    else this.unremembered = true;
    this.stopWaiting?.();
    this.stopWaiting = this.ports.later(AUTOSAVE_MS, () => this.flush());
  }

  private remember(): void {
    this.unremembered = false;
    this.ports.setState({
      description: this.description.value,
      opened: this.opened.value,
      images: this.images.value,
    });
  }

  private send(message: FormMessage): void {
    const fault = formFault(message);
    if (fault === undefined) this.ports.post(message);
    else this.ports.violation(`A message for the host was not sent: ${fault}.`);
  }
}

/** Reads what an earlier page left; what does not fit counts as nothing. */
export function readFormState(value: unknown): FormState | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { description, opened, images } = value as Record<string, unknown>;
  if (typeof description !== "string" || typeof opened !== "string") return undefined;
  const attached = { type: "create-spec/attach-images:result", payload: { images } };
  return {
    description,
    opened,
    images: hostFault(attached) === undefined ? (images as readonly SpecImage[]) : [],
  };
}
