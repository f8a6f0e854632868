/** Files of the workspace, and what this session changed. */
import type { BlockOf, Requests } from "@breadboard-ls/sdk";
import { useEffect, useState } from "preact/hooks";
import { Counts } from "../blocks/changed_files";
import { Icon, IconButton } from "../blocks/icon";
import { bytes } from "../blocks/tool_card";
import { useModel } from "../model/context";
import type { OpenSession } from "../model/open_session";
import { fileOf } from "../places";
import { saidOf, t } from "../messages";

type Listing = Requests["bb/listFiles"]["result"];
type Snippet = Requests["bb/readFileSnippet"]["result"];

export function FilesPane({ session }: { session: OpenSession }) {
  const model = useModel();
  const { roots } = model.standing.host.value;
  const changed = changedFiles(
    session.blocks("chat").filter((block): block is BlockOf<"patch"> => block.kind === "patch"),
  );
  return (
    <div class="pane">
      {changed.length > 0 && (
        <section aria-label={t("Changes of this session")}>
          <h2>{t("Proposed in this session")}</h2>
          <ul class="files">
            {changed.map((file) => (
              <Changed key={file.filePath} file={file} session={session} />
            ))}
          </ul>
        </section>
      )}
      <section aria-label={t("Workspace")}>
        <h2>{t("Workspace")}</h2>
        {roots.length > 1 ? (
          roots.map((root) => (
            <details key={root}>
              <summary>
                <Icon name="root-folder" /> {root}
              </summary>
              <Folder session={session} path="" root={root} />
            </details>
          ))
        ) : (
          <Folder session={session} path="" />
        )}
      </section>
    </div>
  );
}

/** A file that was proposed to be changed, with its counts over all of its patches. */
interface ChangedFile {
  readonly filePath: string;
  readonly added: number;
  readonly removed: number;
}

function Changed({ file: { filePath, added, removed }, session }: { file: ChangedFile; session: OpenSession }) {
  const model = useModel();
  const { path, root } = fileOf(filePath, undefined, model.standing.host.value.roots);
  const ofRoot = root === undefined ? {} : { root };
  return (
    <li>
      <button
        type="button"
        class="link path"
        onClick={() => void model.editor("editor.openFile", { path, ...ofRoot })}
      >
        {filePath}
      </button>
      <Counts added={added} removed={removed} />
      <button
        type="button"
        class="link"
        onClick={() =>
          void model.editor("editor.showDiff", { sessionId: session.sessionId, filePath: path, ...ofRoot })
        }
      >
        {t("Compare with HEAD")}
      </button>
    </li>
  );
}

function changedFiles(patches: readonly BlockOf<"patch">[]): ChangedFile[] {
  const files = new Map<string, ChangedFile>();
  for (const { filePath, added, removed } of patches.flatMap((patch) => patch.files)) {
    const before = files.get(filePath);
    files.set(filePath, { filePath, added: added + (before?.added ?? 0), removed: removed + (before?.removed ?? 0) });
  }
  return [...files.values()];
}

function Folder({ session, path, root }: { session: OpenSession; path: string; root?: string }) {
  const model = useModel();
  const [listing, setListing] = useState<Listing | undefined>(undefined);
  const [trouble, setTrouble] = useState<string | undefined>(undefined);
  useEffect(() => {
    let live = true;
    model.reading.listFiles(path, root).then(
      (found) => live && setListing(found),
      (error: unknown) => live && setTrouble(saidOf(error)),
    );
    return () => {
      live = false;
    };
  }, [session.sessionId, path, root]);
  if (trouble !== undefined) return <p class="hint">{trouble}</p>;
  if (listing === undefined) return <p class="hint">{t("Reading…")}</p>;
  return (
    <ul class="folder">
      {listing.entries.map((entry) => (
        <li key={entry.path}>
          {entry.type === "directory" ? (
            <FolderRow
              session={session}
              name={entry.name}
              path={entry.path}
              {...(root === undefined ? {} : { root })}
            />
          ) : (
            <FileRow session={session} entry={entry} {...(root === undefined ? {} : { root })} />
          )}
        </li>
      ))}
      {listing.truncated && <li class="hint">{t("There are more than 10,000; the rest is left out.")}</li>}
    </ul>
  );
}

function FolderRow({ session, name, path, root }: { session: OpenSession; name: string; path: string; root?: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name={open ? "folder-opened" : "folder"} /> {name}
      </summary>
      {open && <Folder session={session} path={path} {...(root === undefined ? {} : { root })} />}
    </details>
  );
}

function FileRow({ session, entry, root }: { session: OpenSession; entry: Listing["entries"][number]; root?: string }) {
  const model = useModel();
  const [snippet, setSnippet] = useState<Snippet | string | undefined>(undefined);
  const mention = root === undefined ? entry.path : `${root}/${entry.path}`;
  const toggle = async (): Promise<void> => {
    if (snippet !== undefined) return setSnippet(undefined);
    try {
      setSnippet(await model.reading.readSnippet(entry.path, root));
    } catch (error) {
      setSnippet(saidOf(error));
    }
  };
  return (
    <div class="file">
      <div class="file-row">
        <button type="button" class="link path" aria-expanded={snippet !== undefined} onClick={() => void toggle()}>
          <Icon name={entry.type === "symlink" ? "file-symlink-file" : "file"} /> {entry.name}
        </button>
        <span class="hint">{entry.size == null ? "" : bytes(entry.size)}</span>
        <IconButton
          icon="mention"
          label={t("Mention {0} in the prompt", entry.name)}
          onClick={() => model.compose(`@${mention} `)}
        />
        <IconButton
          icon="go-to-file"
          label={t("Open {0}", entry.name)}
          onClick={() =>
            void model.editor("editor.openFile", { path: entry.path, ...(root === undefined ? {} : { root }) })
          }
        />
        <IconButton
          icon="diff"
          label={t("Compare {0} with HEAD", entry.name)}
          onClick={() =>
            void model.editor("editor.showDiff", {
              sessionId: session.sessionId,
              filePath: entry.path,
              ...(root === undefined ? {} : { root }),
            })
          }
        />
      </div>
      {typeof snippet === "string" && <p class="hint">{snippet}</p>}
      {typeof snippet === "object" && (
        <>
          <pre class="snippet" tabindex={0} aria-label={t("Start of {0}", entry.name)}>
            {snippet.content}
          </pre>
          <p class="hint">
            {snippet.truncated ? t("The start of {0}", bytes(snippet.totalBytes)) : bytes(snippet.totalBytes)}
            {snippet.source === "buffer" && t(" · from the open editor, unsaved changes included")}
          </p>
        </>
      )}
    </div>
  );
}
