/** The SDK's platform-free part: everything but starting a process. */

export { choiceOf, isKnownOption } from "./approval.js";
export { BreadboardClient, type ClientOptions, type Violation } from "./client.js";
export type { CancellationToken, Connection, Disposable } from "./connection.js";
export { BreadboardError, loginOf, retryOf, type AnyErrorCode, type LocalErrorCode } from "./errors.js";
export * as envelope from "./envelope.js";
export { envelopeConnection, type EnvelopeConnectionOptions } from "./envelope_connection.js";
export * from "./generated/methods.js";
export type * from "./generated/types.js";
export { VALUES } from "./generated/values.js";
export { growthSince } from "./growth.js";
export { readAnnouncement, type Announcement } from "./handshake.js";
export { LastSeenTracker } from "./last_seen.js";
export { openSession, Session, type SessionOptions } from "./session.js";
export {
  answerText,
  TabModel,
  type AnswerPart,
  type Failure,
  type SavedTab,
  type TabChange,
  type TabOutcome,
  type TabAnswer,
  type TabPermission,
  type TabState,
} from "./tab.js";
export { Tab, Tabs, type TabsOptions } from "./tabs.js";
export { newUuid } from "./uuid.js";
export { paramsFault, resultFault, shapeFault } from "./validation.js";
export { onEachFrame, type LaneDelta, type ViewDelta } from "./view_delta.js";
export { ViewStore, type BlockOf, type ViewOutcome } from "./view_store.js";
