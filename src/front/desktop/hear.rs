//! What a client says, once its handshake is done: read strictly, and handed to the loop.
//!
//! Owns what each message means. Whatever is wrong with one is a refusal, and the socket lives on.

use serde_json::{Map, Value};

use super::approval::{GivenApproval, give};
use super::host::HostedWorkspace;
use super::link::SessionLink;
use crate::domain::context::choice::ContextChoice;
use crate::domain::context::shape::{ContextMention, UserContext};
use crate::host::index::IndexTask;
use crate::protocol::Request;
use crate::protocol::desktop::client_message::{ClientMessage, WatchedChange};
use crate::protocol::desktop::host_message::HostMessage;
use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalCode};
use crate::protocol::request::{
    QueueParams, QueueResult, SendMessageParams, SendMessageResult, SessionParams, StopResult,
};

/// Files of one message. A checkout of thousands comes as several.
const CHANGES: usize = 10_000;

/// Reads a message.
pub(super) fn read(text: &str) -> Result<ClientMessage, DesktopRefusal> {
    serde_json::from_str(text).map_err(|error| {
        let why: String = error.to_string().chars().take(300).collect();
        DesktopRefusal::new(
            RefusalCode::BadMessage,
            format!("The message is not what its schema says ({why}); correct it and send it again."),
        )
    })
}

/// Does what it says; what it gives is the answer, where there is one at once.
pub(super) async fn hear(
    link: &SessionLink,
    message: ClientMessage,
) -> Result<Option<HostMessage>, DesktopRefusal> {
    match message {
        ClientMessage::Hello { .. } => Err(DesktopRefusal::new(
            RefusalCode::BadMessage,
            "The handshake is done already; one is enough.",
        )),
        ClientMessage::UserMessage { message, context, message_id } => {
            prompt(link, message, *context, message_id).await?;
            Ok(None)
        }
        ClientMessage::ContextUpdate { updates } => update(link, updates).map(|()| None),
        ClientMessage::ApprovalResponse { request_id, approved, scope, file_path, hunks, digest, content } => {
            let given = GivenApproval { request_id, approved, scope, file_path, hunks, digest, content };
            give(link, given).await.map(|()| None)
        }
        ClientMessage::PatchApplyResult { patch_id, .. } => Err(unsupported(
            "This host writes an accepted patch itself, so nobody waits for this result; the state of the session tells what was applied.",
        )
        .with("patch_id", patch_id)),
        ClientMessage::CommandResult { command_id, .. } => Err(unsupported(
            "This host runs an allowed command itself, so nobody waits for this result; the end of its tool call tells how it went.",
        )
        .with("command_id", command_id)),
        ClientMessage::Cancel { message_id: Some(message_id), .. } => {
            take_back(link, message_id).await.map(|()| None)
        }
        ClientMessage::Cancel { message_id: None, .. } => {
            let session = SessionParams { session_id: link.session_id.clone() };
            link.ask::<StopResult>(Request::Stop(session)).await.map(|_| None)
        }
        ClientMessage::FileChanges { changes } => {
            changed(&link.workspace, changes)?;
            Ok(None)
        }
        ClientMessage::Ping {} => Ok(Some(HostMessage::Pong { timestamp: now() })),
    }
}

/// This moment: ISO-8601, UTC.
pub(super) fn now() -> String {
    humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string()
}

async fn prompt(
    link: &SessionLink,
    message: String,
    context: UserContext,
    message_id: Option<String>,
) -> Result<(), DesktopRefusal> {
    let include: Vec<String> = context.mentions.iter().map(mention).collect();
    // Ruling 11: with its slash or without.
    let command = context.command.as_deref().map(|command| command.trim().trim_start_matches('/'));
    let text = match command.filter(|command| !command.is_empty()) {
        Some(command) if !message.trim_start().starts_with('/') => format!("/{command} {message}"),
        Some(_) | None => message,
    };
    *link.context() = context;
    let params = SendMessageParams {
        session_id: link.session_id.clone(),
        text,
        attachment_ids: None,
        message_id,
        context: (!include.is_empty()).then(|| ContextChoice { exclude: Vec::new(), include }),
    };
    link.ask::<SendMessageResult>(Request::SendMessage(params)).await.map(drop)
}

/// Takes a prompt out of the queue. One that is not there has begun, or is over, and nothing is done: what runs may be another's.
async fn take_back(link: &SessionLink, message_id: String) -> Result<(), DesktopRefusal> {
    let remove = QueueParams {
        session_id: Some(link.session_id.clone()),
        tab_id: None,
        message_id: Some(message_id),
        text: None,
        before: None,
    };
    match link.ask::<QueueResult>(Request::QueueRemove(remove)).await {
        Err(refusal) if refusal.code == RefusalCode::NotFound => Ok(()),
        outcome => outcome.map(drop),
    }
}

fn mention(mention: &ContextMention) -> String {
    match mention {
        ContextMention::File { path } => path.clone(),
        ContextMention::Folder { path } => format!("{}/", path.trim_end_matches('/')),
        ContextMention::Symbol { name, .. } => format!("symbol:{name}"),
    }
}

/// R002-43: the parts that are named are replaced, each whole.
fn update(link: &SessionLink, updates: Map<String, Value>) -> Result<(), DesktopRefusal> {
    let mut context = link.context();
    let Ok(Value::Object(mut all)) = serde_json::to_value(&*context) else { return Ok(()) };
    all.extend(updates);
    *context = serde_json::from_value(Value::Object(all)).map_err(|error| {
        let why: String = error.to_string().chars().take(300).collect();
        DesktopRefusal::new(
            RefusalCode::BadMessage,
            format!("The context is not what its schema says ({why}); nothing of it was taken."),
        )
    })?;
    Ok(())
}

/// Has the index take in files that changed (R002-102). What leads out of the workspace is said to, and then nothing is taken.
pub(super) fn changed(
    workspace: &HostedWorkspace,
    changes: Vec<WatchedChange>,
) -> Result<(), DesktopRefusal> {
    if changes.len() > CHANGES {
        return Err(DesktopRefusal::new(
            RefusalCode::TooLarge,
            format!("At most {CHANGES} files go in one message; send several."),
        ));
    }
    match changes.iter().find(|change| !is_inside(&change.file_path)) {
        Some(_) => Err(DesktopRefusal::new(
            RefusalCode::PolicyViolation,
            "A path leads out of the workspace; paths are relative to its root, without `..`.",
        )),
        None => {
            let paths = changes.into_iter().map(|change| change.file_path.replace('\\', "/"));
            workspace.indexes.want(&workspace.path, IndexTask::files(paths));
            Ok(())
        }
    }
}

fn is_inside(path: &str) -> bool {
    let plain = !path.is_empty() && !path.starts_with(['/', '\\', '~']) && !path.contains(['\0', ':']);
    plain && path.split(['/', '\\']).all(|part| part != "..")
}

fn unsupported(message: &str) -> DesktopRefusal {
    DesktopRefusal::new(RefusalCode::Unsupported, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_are_seen() {
        for path in ["src/a.rs", "a", "..a/b", ".git/config"] {
            assert!(is_inside(path), "{path}");
        }
        for path in ["", "/etc/passwd", "../x", "a/../../b", "..", "a\\..\\..\\b", "C:\\x", "~/x", "a\0b"] {
            assert!(!is_inside(path), "{path}");
        }
    }

    #[test]
    fn r002_44_45_46_47_48_49_50_51_52_53_each_message_of_the_seed_is_read_and_a_bad_one_says_why() {
        let seed = [
            r#"{"type":"client.approval_response","request_id":"req_abc123","approved":true,"scope":"file","file_path":"src/auth/login.ts"}"#,
            r#"{"type":"client.patch_apply_result","patch_id":"patch_abc123","file_path":"src/auth/login.ts","success":true,"error":null,"applied_hash":"sha256:def456"}"#,
            r#"{"type":"client.patch_apply_result","patch_id":"p","file_path":"f","success":false,"error":{"message":"m","type":"conflict"},"applied_hash":null}"#,
            r#"{"type":"client.command_result","command_id":"cmd_abc123","command":"npm test","exit_code":0,"stdout":"...","stderr":"","duration_ms":2340}"#,
            r#"{"type":"client.cancel","reason":"user_cancelled"}"#,
            r#"{"type":"client.file_changes","changes":[{"type":"created","file_path":"src/utils/new_helper.ts","content_hash":"sha256:abc123","timestamp":"2025-12-30T10:35:12Z"}]}"#,
        ];
        for text in seed {
            let read = read(text).unwrap_or_else(|error| panic!("{text}: {}", error.message));
            let written = serde_json::to_value(&read).unwrap();
            let given: Value = serde_json::from_str(text).unwrap();
            for (name, value) in given.as_object().unwrap() {
                assert_eq!(&written[name], value, "{name} of {text}");
            }
        }
        for bad in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"type":"client.nonsense"}"#,
            r#"{"type":"client.cancel"}"#,
            r#"{"type":"client.approval_response","request_id":"r","approved":"yes","scope":"all"}"#,
            r#"{"type":"client.approval_response","request_id":"r","approved":true,"scope":"everything"}"#,
            r#"{"type":"client.file_changes","changes":[{"type":"renamed","file_path":"a"}]}"#,
            r#"{"type":"client.user_message","message":5,"context":{}}"#,
        ] {
            assert_eq!(read(bad).unwrap_err().code, RefusalCode::BadMessage, "{bad}");
        }
    }
}
