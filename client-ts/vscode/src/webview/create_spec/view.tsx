/**
 * The form of a new spec, drawn: toolbar, description, images, buttons.
 *
 * Owns the elements, their names for a screen reader, and where the focus goes. What a button does is the form's.
 */
import { useEffect, useRef } from "preact/hooks";
import { MOST_IMAGES, type SpecImage } from "../../shared/create_spec_messages";
import { PlainWords } from "../blocks/words";
import { Icon } from "../blocks/icon";
import type { SpecForm } from "./form";
import { t } from "../messages";

export function CreateSpec({ form }: { form: SpecForm }) {
  const ready = form.ready.value;
  const busy = form.submitting.value;
  const free = ready && !busy;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.preventDefault();
      if (form.replacing.value !== undefined) form.keepText();
      else form.cancel();
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.submit();
    }
  };
  return (
    <main class="spec" aria-labelledby="spec-title" onKeyDown={onKeyDown}>
      <h1 id="spec-title">{t("Create New Spec")}</h1>
      <div role="form" aria-labelledby="spec-title" aria-busy={busy || !ready}>
        <div class="toolbar" role="toolbar" aria-label={t("Content of the spec")}>
          <button
            type="button"
            class="secondary import"
            disabled={!free || form.importing.value}
            onClick={() => form.wantImport()}
          >
            <Icon name={form.importing.value ? "loading" : "markdown"} spin={form.importing.value} />{" "}{t("Import Markdown")}
          </button>
          <button
            type="button"
            class="secondary attach"
            disabled={!free || form.attaching.value || form.full.value}
            onClick={() => form.wantImages()}
          >
            <Icon name={form.attaching.value ? "loading" : "file-media"} spin={form.attaching.value} />{" "}
            {form.full.value ? t("Maximum {0} images reached", MOST_IMAGES) : t("Attach images")}
          </button>
        </div>
        <Replace form={form} />
        <NoticeBanner form={form} />
        <Description form={form} disabled={!free} />
        <Images form={form} disabled={!free} />
        <div class="buttons">
          <button type="button" class="primary submit" disabled={!free} onClick={() => form.submit()}>
            {busy && <Icon name="loading" spin />} {busy ? t("Submitting…") : t("Submit")}
          </button>
          <button
            type="button"
            class="secondary cancel"
            disabled={busy || form.closing.value}
            onClick={() => form.cancel()}
          >
            {t("Cancel")}
          </button>
          <span class="status">{standing(form)}</span>
        </div>
      </div>
      <div class="visually-hidden" role="status" aria-live="polite">
        {form.spoken.value}
      </div>
    </main>
  );
}

/** How far the draft is, in words that promise no more than is known. */
function standing(form: SpecForm): string {
  if (!form.ready.value) return t("Waiting for the server…");
  if (form.description.value !== form.persisted.value) return t("Unsaved changes");
  return form.dirty.value ? t("Kept as a draft") : "";
}

function Description({ form, disabled }: { form: SpecForm; disabled: boolean }) {
  const area = useRef<HTMLTextAreaElement>(null);
  const focus = form.focusField.value;
  useEffect(() => {
    if (focus > 0) area.current?.focus();
  }, [focus]);
  const error = form.fieldError.value;
  return (
    <div class="field">
      <label for="spec-description">
        {t("Description")}{" "}<span aria-hidden="true">*</span>
      </label>
      <textarea
        id="spec-description"
        ref={area}
        rows={14}
        value={form.description.value}
        readOnly={disabled}
        aria-required="true"
        aria-invalid={error !== undefined}
        aria-describedby={error === undefined ? undefined : "spec-description-error"}
        placeholder={t("What is to be built, for whom, and how you will know that it is done.")}
        onInput={(event) => form.edit(event.currentTarget.value)}
      />
      <div aria-live="assertive">
        {error !== undefined && (
          <p class="notice error" id="spec-description-error">
            <Icon name="error" /> {error}
          </p>
        )}
      </div>
    </div>
  );
}

/** What is there would go: it is said first, in its place, and nothing is sent before the answer. */
function Replace({ form }: { form: SpecForm }) {
  const cancel = useRef<HTMLButtonElement>(null);
  const asking = form.replacing.value !== undefined;
  useEffect(() => {
    if (asking) cancel.current?.focus();
  }, [asking]);
  if (!asking) return null;
  return (
    <div class="confirm" role="alertdialog" aria-label={t("Replace the description")} aria-describedby="spec-replace">
      <p id="spec-replace">{t("This will replace the existing content. Continue?")}</p>
      <div class="buttons">
        <button type="button" class="primary" onClick={() => form.replace()}>
          {t("Replace")}
        </button>
        <button type="button" class="secondary" ref={cancel} onClick={() => form.keepText()}>
          {t("Cancel")}
        </button>
      </div>
    </div>
  );
}

/** Two live regions that are always there: a region that comes with its text is often not read. */
function NoticeBanner({ form }: { form: SpecForm }) {
  const notice = form.notice.value;
  const banner = notice !== undefined && (
    <div class={`notice ${notice.tone}`}>
      <Icon name={notice.tone} /> <span><PlainWords text={notice.text} /></span>{" "}
      <button type="button" class="link" onClick={() => form.dismiss()}>
        {t("Dismiss")}
      </button>
    </div>
  );
  return (
    <>
      <div role="alert" aria-live="assertive">
        {notice?.tone === "error" && banner}
      </div>
      <div role="status" aria-live="polite">
        {notice?.tone !== "error" && banner}
      </div>
    </>
  );
}

function Images({ form, disabled }: { form: SpecForm; disabled: boolean }) {
  const list = useRef<HTMLUListElement>(null);
  const images = form.images.value;
  const remove = (image: SpecImage): void => {
    const at = images.indexOf(image);
    // The button goes with its image; the focus moves to a neighbour, else to where images come from.
    const next = images[at + 1] ?? images[at - 1];
    const area = list.current?.closest(".spec");
    const target =
      next === undefined
        ? area?.querySelector<HTMLElement>("button.attach:enabled, textarea")
        : list.current?.querySelectorAll<HTMLElement>("li button")[images.indexOf(next)];
    form.remove(image.id);
    target?.focus();
  };
  if (images.length === 0) return null;
  return (
    <ul class="images" ref={list} aria-label={t("Image attachments")}>
      {images.map((image) => (
        <li key={image.id}>
          <img src={image.dataUrl} alt={image.name} />
          <span class="path" title={image.name}>
            {image.name}
          </span>
          <button
            type="button"
            class="icon"
            title={t("Remove {0}", image.name)}
            aria-label={t("Remove {0}", image.name)}
            disabled={disabled}
            onClick={() => remove(image)}
          >
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}
