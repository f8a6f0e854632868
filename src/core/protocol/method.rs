//! The table of the editor's requests: the one place that knows which exist.
//!
//! From it come the typed `Request`, the dispatcher, the capability announcement, `schemas/` and PROTOCOL.md. A method
//! that is not here answers `-32601`.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use super::agent::{SessionInfoParams, SessionInfoResult};
use super::context::{ContextPreviewParams, ContextPreviewResult};
use super::contract_row::{Direction, MethodRow};
use super::create_spec::*;
use super::mcp::{McpAllowParams, McpListParams, McpListResult, McpRestartParams, McpSetParams};
use super::patch::{
    PatchDecideParams, PatchFilesResult, PatchGetParams, PatchGetResult, PatchListParams, PatchListResult,
    PatchRevertParams,
};
use super::permission::*;
use super::refusals::{ASK, ENGINE, FILE, NAMED, Refusals, SESSION, SIZE, TAB, TRUST};
use super::request::*;
use super::settings::ModelSetting;
use super::standing::{ApprovalsSetParams, ApprovalsState};
use super::tab::*;
use super::turn::*;
use crate::domain::coded_error::{CodedError, ErrorCode};

/// A method and what it answers.
pub trait Method {
    /// LSP method name.
    const NAME: &'static str;
    /// The codes that it is refused with, beside those of every request.
    const REFUSALS: Refusals;
    /// Its result.
    type Result: Serialize;
}

/// Says of a type that its JSON is that of `T`: where a result is kept as the text that it was written as.
pub trait StandsFor<T>: Serialize {}

macro_rules! requests {
    ($($variant:ident, $method:literal, $params:ty => $result:ty, $summary:literal, $refusals:expr;)*) => {
        /// A request of the editor, checked: one variant a method.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Request {
            $(#[doc = $summary] $variant($params),)*
        }

        impl Request {
            /// Reads the params of `method`. Absent and `null` params count as `{}`.
            pub fn parse(method: &str, params: Value) -> Result<Self, CodedError> {
                let params = if params.is_null() { Value::Object(Default::default()) } else { params };
                let request = match method {
                    $($method => read(method, params).map(Self::$variant),)*
                    _ => Err(unknown_method(method)),
                };
                request.and_then(Self::names_its_session)
            }

            /// LSP method name.
            pub fn method(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $method,)*
                }
            }
        }

        /// One type a method, for whoever has to say which one is answered.
        pub mod methods {
            use super::*;

            $(
                #[doc = $summary]
                #[derive(Debug, Clone, Copy)]
                pub struct $variant;

                impl Method for $variant {
                    const NAME: &'static str = $method;
                    const REFUSALS: Refusals = &$refusals;
                    type Result = $result;
                }
            )*
        }

        /// Every request that the loop handles, in the order of the contract.
        pub const REQUESTS: &[&str] = &[$($method,)*];

        /// Their rows of the contract.
        pub(super) fn request_rows() -> Vec<MethodRow> {
            vec![$(MethodRow {
                method: $method,
                direction: Direction::Request,
                summary: $summary,
                refusals: &$refusals,
                params: |generator| <$params>::json_schema(generator),
                result: Some(|generator| <$result>::json_schema(generator)),
            },)*]
        }
    };
}

requests! {
    Init, "bb/init", InitParams => InitResult, "Says hello, chooses what to hear, and replays what was missed.",
        [];
    CreateSession, "bb/createSession", CreateSessionParams => SessionResult, "Makes a session and attaches it.",
        [ENGINE, TRUST, SIZE];
    ListSessions, "bb/listSessions", ListSessionsParams => ListSessionsResult, "Lists the sessions of this workspace, or those in which something was said.",
        [];
    SelectSession, "bb/selectSession", SessionParams => SelectSessionResult, "Attaches a session and gives its newest view.",
        [SESSION, ENGINE, TRUST];
    SessionRename, "bb/session/rename", SessionRenameParams => SessionRenameResult, "Calls a session by another title.",
        [SESSION, SIZE];
    SessionPin, "bb/session/pin", SessionPinParams => SessionPinResult, "Has a session stand before the others, or no more.",
        [SESSION];
    SessionBranch, "bb/session/branch", SessionBranchParams => SessionBranchResult, "Makes a session that begins with the conversation of another one: as it was before one of its prompts, or all of it.",
        [SESSION, ENGINE, TRUST];
    DeleteSession, "bb/deleteSession", SessionParams => DeleteSessionResult, "Stops and deletes a session.",
        [SESSION, ENGINE];
    SendMessage, "bb/sendMessage", SendMessageParams => SendMessageResult, "Sends a prompt, or queues it behind a running turn.",
        [SESSION, ENGINE, TRUST, SIZE];
    Stop, "bb/stop", SessionParams => StopResult, "Stops the running turn and pauses the queue; where prompts of other clients wait as well, only what is this client's own.",
        [SESSION, ENGINE];
    QueueList, "bb/queue/list", QueueParams => QueueResult, "Lists the prompts that wait.",
        [SESSION, TAB];
    QueueEdit, "bb/queue/edit", QueueParams => QueueResult, "Changes the text of a prompt that waits.",
        [SESSION, TAB, NAMED, SIZE];
    QueueMove, "bb/queue/move", QueueParams => QueueResult, "Moves a prompt that waits.",
        [SESSION, TAB, NAMED];
    QueueRemove, "bb/queue/remove", QueueParams => QueueResult, "Takes a prompt out of the queue.",
        [SESSION, TAB, NAMED];
    QueueResume, "bb/queue/resume", QueueParams => QueueResult, "Lets a paused queue go on.",
        [SESSION, TAB, ENGINE, TRUST];
    Command, "bb/command", CommandParams => CommandResult, "Gives the engine one of its commands.",
        [SESSION, ENGINE, TRUST];
    ApprovePermission, "bb/approvePermission", ApprovePermissionParams => ApprovePermissionResult, "Answers an ask of the engine.",
        [SESSION, TAB, ASK, ENGINE, TRUST];
    PermissionList, "bb/permission/list", PermissionListParams => PermissionListResult, "Lists what waits for an answer, and the rules that were saved.",
        [SESSION, TAB];
    PermissionGet, "bb/permission/get", PermissionGetParams => PermissionGetResult, "Gives one request for permission whole, settled ones too.",
        [SESSION, TAB, ASK];
    PermissionRevoke, "bb/permission/revoke", PermissionRevokeParams => PermissionRevokeResult, "Takes a saved rule back.",
        [NAMED, ENGINE];
    ApprovalsSet, "bb/approvals/set", ApprovalsSetParams => ApprovalsState, "Sets what is done without asking, and where commands run.",
        [];
    PatchList, "bb/patch/list", PatchListParams => PatchListResult, "Lists the edits of a session that can be decided hunk by hunk.",
        [SESSION, TAB];
    PatchGet, "bb/patch/get", PatchGetParams => PatchGetResult, "Gives one of them whole, with what was decided of each hunk.",
        [SESSION, TAB, NAMED];
    PatchDecide, "bb/patch/decide", PatchDecideParams => PatchFilesResult, "Decides on all of an edit, on a file or on hunks of it.",
        [SESSION, TAB, NAMED, TRUST, ENGINE];
    PatchRevert, "bb/patch/revert", PatchRevertParams => PatchFilesResult, "Takes back what was made of an edit, where it still stands so.",
        [SESSION, TAB, NAMED, TRUST];
    ContextPreview, "bb/context/preview", ContextPreviewParams => ContextPreviewResult, "Tells what would go with a prompt beside its words.",
        [SESSION, TAB];
    TurnList, "bb/turn/list", TurnListParams => TurnListResult, "Lists the turns of a session that changed files.",
        [SESSION, TAB];
    TurnChanges, "bb/turn/changes", TurnChangesParams => TurnChangesResult, "Tells what a turn changed in the files, whoever wrote it, and how it stands.",
        [SESSION, TAB, NAMED, FILE];
    TurnRevert, "bb/turn/revert", TurnRevertParams => TurnRevertResult, "Takes back what a turn changed, or tells what that would do.",
        [SESSION, TAB, NAMED, TRUST, FILE];
    TurnReview, "bb/turn/review", TurnReviewParams => TurnReviewResult, "Marks what a turn changed as read, or as kept.",
        [SESSION, TAB, NAMED, FILE];
    ListFiles, "bb/listFiles", ListFilesParams => ListFilesResult, "Lists one directory of the workspace.",
        [SESSION, TAB, FILE, ENGINE];
    FindFiles, "bb/findFiles", FindFilesParams => FindFilesResult, "Finds files and folders of the workspace by a part of their path, best first.",
        [];
    ReadFileSnippet, "bb/readFileSnippet", ReadFileSnippetParams => ReadFileSnippetResult, "Reads head and tail of one file, open buffers first.",
        [SESSION, TAB, FILE, ENGINE];
    OpenDiff, "bb/openDiff", OpenDiffParams => OpenDiffResult, "Compares two states of one file.",
        [SESSION, TAB, FILE, ENGINE];
    TextDocument, "bb/textDocument", TextDocumentParams => TextDocumentResult, "Reads one side of a diff by its URI.",
        [SESSION, FILE, ENGINE];
    DownloadArtifact, "bb/downloadArtifact", DownloadArtifactParams => DownloadArtifactResult, "Stores an artifact of the engine's on disk, byte for byte.",
        [SESSION, FILE, ENGINE];
    EventsRead, "bb/events/read", EventsReadParams => EventsReadResult, "Reads events from the journal.",
        [SESSION, NAMED];
    EventBody, "bb/eventBody", EventBodyParams => EventBodyResult, "Reads one event untruncated.",
        [SESSION, TAB, NAMED];
    ViewPage, "bb/view/page", ViewPageParams => ViewPageResult, "Reads an older page of a lane.",
        [SESSION, TAB, NAMED];
    AttachmentPut, "bb/attachment/put", AttachmentPutParams => AttachmentPutResult, "Stores an attachment for later prompts.",
        [SESSION, TAB, FILE];
    TabOpen, "bb/tab/open", TabOpenParams => TabOpenResult, "Opens a tab; its session is made behind the answer.",
        [SESSION, ENGINE, TRUST];
    TabPrompt, "bb/tab/prompt", TabPromptParams => TabPromptResult, "Sends a prompt in a tab, or queues it.",
        [TAB, NAMED, ENGINE, TRUST, SIZE];
    TabStop, "bb/tab/stop", TabIdParams => TabIdResult, "Stops the running turn of a tab and pauses its queue.",
        [TAB, ENGINE];
    TabClose, "bb/tab/close", TabIdParams => TabIdResult, "Closes a tab and its session at the agent; the history stays.",
        [TAB, ENGINE];
    TabVisibility, "bb/tab/visibility", TabVisibilityParams => TabVisibilityResult, "Tells whether the user can see a tab.",
        [TAB];
    TabDetach, "bb/tab/detach", TabDetachParams => Empty, "Tells that the view of tabs is gone; their sessions live.",
        [TAB];
    TabAttach, "bb/tab/attach", TabAttachParams => TabAttachResult, "Brings tabs into a new view: what was missed, or a snapshot.",
        [TAB];
    TabAck, "bb/tab/ack", TabAckParams => Empty, "Acknowledges the messages of a tab up to an index.",
        [TAB];
    AgentRestart, "bb/agent/restart", AgentRestartParams => AgentRestartResult, "Ends the process of an agent and starts it anew.",
        [ENGINE, TRUST];
    SessionInfo, "bb/session/info", SessionInfoParams => SessionInfoResult, "Tells what the agent of a session is and offers.",
        [SESSION, TAB, ENGINE];
    CreateSpecReady, "bb/createSpec/ready", NoParams => CreateSpecInit, "Opens the form of a new spec with the draft that is kept (seed 004).",
        [];
    CreateSpecAutosave, "bb/createSpec/autosave", CreateSpecAutosaveParams => CreateSpecAutosaveResult, "Keeps what stands in the form.",
        [SIZE];
    CreateSpecSubmit, "bb/createSpec/submit", CreateSpecSubmitParams => SendMessageResult, "Sends the spec as a prompt with its images; then its draft is gone.",
        [SESSION, TAB, ENGINE, TRUST, SIZE];
    CreateSpecCloseAttempt, "bb/createSpec/closeAttempt", CreateSpecCloseAttemptParams => CreateSpecCloseAttemptResult, "Says whether the form may close without a question; the draft stays.",
        [SIZE];
    CreateSpecDiscard, "bb/createSpec/discard", NoParams => Empty, "Deletes the draft, because the user said so.",
        [];
    CreateSpecImportMarkdown, "bb/createSpec/importMarkdown", CreateSpecImportMarkdownParams => CreateSpecImportMarkdownResult, "Reads a Markdown file that the user picked.",
        [FILE];
    CreateSpecAttachImages, "bb/createSpec/attachImages", CreateSpecAttachImagesParams => CreateSpecAttachImagesResult, "Takes images that the user picked, up to five in all.",
        [FILE, SIZE];
    Rebuild, "bb/rebuild", SessionParams => RebuildResult, "Reads events that are missing again from the engine's run artifacts.",
        [SESSION, ENGINE];
    ModelsList, "bb/models/list", NoParams => ModelsResult, "Lists the models of the configured provider.",
        [ENGINE];
    ModelsSet, "bb/models/set", ModelSetting => ModelsResult, "Chooses the model of the embedded engine.",
        [ENGINE];
    ModelsProviders, "bb/models/providers", NoParams => ProvidersResult, "Lists whose models the embedded engine can use, and what each needs.",
        [];
    ModelsCheck, "bb/models/check", ModelsCheckParams => ModelsCheckResult, "Asks an endpoint for its models, before it is chosen.",
        [];
    McpList, "bb/mcp/list", McpListParams => McpListResult, "Lists the servers of tools, how each stands, and what it offers.",
        [];
    McpRestart, "bb/mcp/restart", McpRestartParams => McpListResult, "Ends a server of tools and starts it anew.",
        [NAMED, TRUST];
    McpSet, "bb/mcp/set", McpSetParams => McpListResult, "Gives a session servers of tools of its own, in memory only.",
        [SESSION, TRUST];
    McpAllow, "bb/mcp/allow", McpAllowParams => McpListResult, "Allows a server of tools that a file of the workspace names, as it was shown.",
        [NAMED, TRUST, SESSION];
    SetCredentials, "bb/setCredentials", SetCredentialsParams => Empty, "Hands over a token, which then never leaves the server.",
        [ENGINE];
}

impl Request {
    /// Refuses one that names neither a session nor a tab where either is needed. Others mean every session, or the active one.
    fn names_its_session(mut self) -> Result<Self, CodedError> {
        let needs = !matches!(
            self,
            Self::PermissionList(_)
                | Self::CreateSpecSubmit(_)
                | Self::PatchGet(_)
                | Self::PatchDecide(_)
                | Self::PatchRevert(_)
        );
        match self.session_or_tab() {
            Some((None, None)) if needs => {
                Err(misfit(self.method(), "a `sessionId` or a `tabId` is needed".to_owned()))
            }
            _ => Ok(self),
        }
    }

    /// The tabs that a request names.
    pub fn tabs(&mut self) -> Vec<String> {
        match self {
            Self::TabOpen(params) => vec![params.tab_id.clone()],
            Self::TabPrompt(params) => vec![params.tab_id.clone()],
            Self::TabStop(params) | Self::TabClose(params) => vec![params.tab_id.clone()],
            Self::TabVisibility(params) => vec![params.tab_id.clone()],
            Self::TabAck(params) => vec![params.tab_id.clone()],
            Self::TabDetach(params) => params.tab_ids.clone(),
            Self::TabAttach(params) => params.tabs.iter().map(|tab| tab.tab_id.clone()).collect(),
            _ => self.session_or_tab().and_then(|(_, tab)| tab.map(str::to_owned)).into_iter().collect(),
        }
    }

    /// The patch that a request names, and its `sessionId`, where it names no tab either.
    pub fn patch(&mut self) -> Option<(&str, &mut Option<String>)> {
        match self {
            Self::PatchGet(params) if params.tab_id.is_none() => {
                Some((&params.patch_id, &mut params.session_id))
            }
            Self::PatchDecide(params) if params.tab_id.is_none() => {
                Some((&params.patch_id, &mut params.session_id))
            }
            Self::PatchRevert(params) if params.tab_id.is_none() => {
                Some((&params.patch_id, &mut params.session_id))
            }
            _ => None,
        }
    }

    /// The `sessionId` of a request that may carry a `tabId` instead, and that `tabId`.
    pub fn session_or_tab(&mut self) -> Option<(&mut Option<String>, Option<&str>)> {
        macro_rules! either {
            ($($variant:ident),*) => {
                match self {
                    $(Self::$variant(params) => Some((&mut params.session_id, params.tab_id.as_deref())),)*
                    _ => None,
                }
            };
        }
        either!(
            QueueList,
            QueueEdit,
            QueueMove,
            QueueRemove,
            QueueResume,
            ApprovePermission,
            PermissionGet,
            PatchList,
            PatchGet,
            PatchDecide,
            PatchRevert,
            TurnList,
            TurnChanges,
            TurnRevert,
            TurnReview,
            ListFiles,
            ReadFileSnippet,
            OpenDiff,
            EventBody,
            ViewPage,
            AttachmentPut,
            SessionInfo,
            PermissionList,
            CreateSpecSubmit
        )
    }
}

/// Name of the method that carries envelopes; it is dispatched into the others.
pub const RPC: &str = "bb/rpc";

/// LSP 3.18: an editor reads a document of a scheme that we announced. `bb/textDocument` under a standard name.
pub const TEXT_DOCUMENT_CONTENT: &str = "workspace/textDocumentContent";

/// Notification of the editor about trust.
pub const WORKSPACE_TRUST: &str = "bb/workspaceTrust";

/// Every method that `experimental.breadboard.methods` announces.
pub fn announced_methods() -> Vec<&'static str> {
    let mut methods: Vec<&'static str> = REQUESTS.to_vec();
    methods.push(RPC);
    methods.push(WORKSPACE_TRUST);
    methods
}

/// Reads params exactly as their schema allows them. The decoder alone is wider in two ways (an array in place of an
/// object, a map in place of a word) and narrower in one (`4096.0` where a whole number is wanted, as some editors write it).
fn read<T: DeserializeOwned + Serialize>(method: &str, mut params: Value) -> Result<T, CodedError> {
    make_whole(&mut params);
    let read = T::deserialize(&params).map_err(|error| misfit(method, error.to_string()))?;
    let understood = serde_json::to_value(&read).map_err(|error| misfit(method, error.to_string()))?;
    if same_shape(&params, &understood) {
        Ok(read)
    } else {
        Err(misfit(method, "a list or an object stands where another kind of value is wanted".to_owned()))
    }
}

/// Numbers without a fraction become integers.
fn make_whole(value: &mut Value) {
    // 2^64 and 2^63: the first numbers past what fits.
    const UNSIGNED_END: f64 = 18_446_744_073_709_551_616.0;
    const SIGNED_END: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Number(number) => {
            if let Some(whole) = number.as_f64().filter(|n| number.is_f64() && n.fract() == 0.0) {
                if (0.0..UNSIGNED_END).contains(&whole) {
                    *number = Number::from(whole as u64);
                } else if (-SIGNED_END..0.0).contains(&whole) {
                    *number = Number::from(whole as i64);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(map) => map.values_mut().for_each(make_whole),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Whether what was given has the JSON types of what was understood; fields that were not understood do not matter.
fn same_shape(given: &Value, understood: &Value) -> bool {
    match (given, understood) {
        (Value::Object(given), Value::Object(understood)) => understood
            .iter()
            .all(|(name, understood)| given.get(name).is_none_or(|given| same_shape(given, understood))),
        (Value::Array(given), Value::Array(understood)) => {
            given.iter().zip(understood).all(|(given, understood)| same_shape(given, understood))
        }
        (given, understood) => std::mem::discriminant(given) == std::mem::discriminant(understood),
    }
}

fn misfit(method: &str, mut text: String) -> CodedError {
    if method == SET_CREDENTIALS {
        // What the parser says holds pieces of what was given, and here that is a token.
        text = "a `scope` (`engine` or `model`) and a `token` (a string or null) are needed".to_owned();
    }
    if text.len() > 300 {
        let cut = (0..=300).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(cut);
    }
    CodedError::new(
        ErrorCode::InvalidParams,
        format!("The params of `{method}` do not fit its schema: {text}."),
    )
}

/// The one method whose params are secret.
const SET_CREDENTIALS: &str = "bb/setCredentials";

/// The refusal of a method that there is not, in the caller's spelling.
pub(super) fn unknown_method(method: &str) -> CodedError {
    let short: String = method.chars().take(80).collect();
    CodedError::new(
        ErrorCode::UnknownMethod,
        format!("There is no method `{short}`; `initialize` announces the ones there are."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_refusal_of_credentials_repeats_what_was_given() {
        for params in [
            json!({"scope": "SECRET-1", "token": "x"}),
            json!({"scope": {"SECRET-1": 1}, "token": "x"}),
            json!({"scope": "model", "token": ["SECRET-1"]}),
            json!({"scope": "model", "token": {"SECRET-1": "SECRET-1"}}),
            json!({"token": "SECRET-1"}),
            json!(["SECRET-1"]),
            json!("SECRET-1"),
        ] {
            let refused = Request::parse("bb/setCredentials", params.clone()).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidParams);
            assert!(!refused.message.contains("SECRET-1"), "{params}: {}", refused.message);
        }
    }
}
