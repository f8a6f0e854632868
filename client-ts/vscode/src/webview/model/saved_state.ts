/**
 * What the page remembers when the editor throws it away: which tabs were open, which pane, and what was being
 * typed.
 *
 * Owns the shape and its reading. Transcripts are never in it: they come anew as snapshots. Holds no secret.
 */

/** The five panes. */
export const PANES = ["chat", "tasks", "files", "run", "debug"] as const;
export type PaneName = (typeof PANES)[number];

/** A file that goes with the next prompt. */
export interface Attachment {
  readonly attachmentId: string;
  readonly name: string;
  readonly bytes: number;
}

/** A tab and its session. */
export interface SavedTab {
  /** Absent where an earlier version left sessions only. */
  readonly tabId?: string;
  readonly sessionId: string;
}

/** What is being typed for one session. */
export interface Draft {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /**
   * Id of the prompt that was sent from this draft and not answered for yet. Sent again under it, the prompt is taken
   * once, whether the first try arrived or not.
   */
  readonly messageId?: string;
  /** Block of the prompt that is changed: sent, it begins a branch of the session before that one. */
  readonly before?: string;
}

export interface SavedState {
  /** When it was saved, in milliseconds since the Unix epoch: of two the newer is the one. */
  readonly at: number;
  readonly pane: PaneName;
  /** Tabs of the strip, in order. */
  readonly open: readonly SavedTab[];
  /** The session in front. */
  readonly active?: string;
  /** By session; `""` is the one that is not made yet. */
  readonly drafts: Readonly<Record<string, Draft>>;
  /** Kinds of engines, by session: a session of another engine than the one in use takes no prompts. */
  readonly engines: Readonly<Record<string, string>>;
}

export const NOTHING_SAVED: SavedState = { at: 0, pane: "chat", open: [], drafts: {}, engines: {} };
export const EMPTY_DRAFT: Draft = { text: "", attachments: [] };

/** Most tabs in the strip: each holds a view in memory. */
export const MOST_OPEN = 12;

/** Reads what an earlier page, perhaps of an earlier version, left. What does not fit is left out. */
export function readSaved(value: unknown): SavedState {
  if (typeof value !== "object" || value === null) return NOTHING_SAVED;
  const { at, pane, open, active, drafts, engines } = value as Record<string, unknown>;
  const known: Record<string, Draft> = {};
  for (const [sessionId, draft] of Object.entries(typeof drafts === "object" && drafts !== null ? drafts : {})) {
    const { text, attachments, messageId, before } = (draft ?? {}) as Record<string, unknown>;
    if (typeof text !== "string") continue;
    known[sessionId] = {
      text,
      attachments: Array.isArray(attachments) ? attachments.filter(isAttachment) : [],
      ...(typeof messageId === "string" ? { messageId } : {}),
      ...(typeof before === "string" ? { before } : {}),
    };
  }
  return {
    at: typeof at === "number" ? at : 0,
    pane: PANES.find((name) => name === pane) ?? "chat",
    open: Array.isArray(open) ? readTabs(open).slice(-MOST_OPEN) : [],
    ...(typeof active === "string" ? { active } : {}),
    drafts: known,
    engines: Object.fromEntries(
      Object.entries(typeof engines === "object" && engines !== null ? engines : {}).filter(
        (entry): entry is [string, string] => typeof entry[1] === "string",
      ),
    ),
  };
}

/** Each tab and each session once: the server refuses a second one. */
function readTabs(open: readonly unknown[]): SavedTab[] {
  const tabs = new Set<string>();
  const sessions = new Set<string>();
  return open.flatMap((one) => {
    const { tabId, sessionId } = (typeof one === "string" ? { sessionId: one } : (one ?? {})) as Record<
      string,
      unknown
    >;
    if (typeof sessionId !== "string" || sessions.has(sessionId)) return [];
    sessions.add(sessionId);
    if (typeof tabId !== "string" || !UUID_V4.test(tabId) || tabs.has(tabId)) return [{ sessionId }];
    tabs.add(tabId);
    return [{ tabId, sessionId }];
  });
}

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** The newer one of what the editor kept and what the host's file has. */
export function newer(kept: SavedState, file: string | undefined): SavedState {
  try {
    const other = readSaved(file === undefined ? undefined : JSON.parse(file));
    return other.at > kept.at ? other : kept;
  } catch {
    return kept;
  }
}

function isAttachment(value: unknown): value is Attachment {
  const { attachmentId, name, bytes } = (value ?? {}) as Record<string, unknown>;
  return typeof attachmentId === "string" && typeof name === "string" && typeof bytes === "number";
}
