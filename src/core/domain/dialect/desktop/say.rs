//! The messages of seed 002, client to server (R002-28 to R002-53), as we speak them.
//!
//! Owns names and shapes. Additive to the seed: `protocol_version`, `token_pieces`, `last_seen` and `replay` in the greeting, `message_id` of a
//! prompt and of one that is taken back, `note` where an edit was made in part. Never decides what is said.

use serde_json::{Map, Value, json};

use super::place::HostPlace;
use crate::domain::context::shape::UserContext;
use crate::domain::edits::text::content_hash;
use crate::domain::edits::watched_file::WatchedFileChange;

/// The version of the protocol that we speak.
const PROTOCOL: &str = "1.0.0";

/// A text attachment of a prompt: the protocol has no route for files, and its mentions carry content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MentionedText {
    /// Name of the file.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Whether there is more of it.
    pub truncated: bool,
}

/// What a file holds once a change was made in it, or why the change was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchResult {
    /// It was made; `sha256:<hex>` of what is there, nothing where the file is gone.
    Applied(Option<String>),
    /// It was not; the word of the seed and one sentence.
    Failed(&'static str, String),
}

/// Our part of the handshake under this name, with the place up to which we have everything. A host that numbers nothing overhears it.
pub fn hello(name: &str, place: Option<&HostPlace>) -> String {
    let (epoch, seq) = place.map_or(("", 0), |place| (place.epoch.as_str(), place.seq));
    let capabilities = ["diff_preview", "terminal_exec", "git_integration", "token_pieces"];
    json!({
        "type": "client.hello",
        "client_info": { "name": name, "version": env!("CARGO_PKG_VERSION"), "capabilities": capabilities },
        "protocol_version": PROTOCOL,
        "last_seen": { "epoch": epoch, "seq": seq },
        "replay": true,
    })
    .to_string()
}

/// A prompt with its context.
pub fn user_message(
    message: &str,
    message_id: &str,
    context: &UserContext,
    texts: &[MentionedText],
) -> String {
    let mut context = match serde_json::to_value(context) {
        Ok(Value::Object(context)) => context,
        Ok(_) | Err(_) => Map::new(),
    };
    if !texts.is_empty() {
        let mention = |text: &MentionedText| json!({ "type": "file", "path": text.name, "content": text.text, "truncated": text.truncated });
        let mentions = context.entry("mentions").or_insert_with(|| json!([]));
        if let Some(mentions) = mentions.as_array_mut() {
            mentions.extend(texts.iter().map(mention));
        }
    }
    json!({ "type": "client.user_message", "message": message, "context": context, "message_id": message_id })
        .to_string()
}

/// The answer to a request for permission. With the path of a file it is for that file.
pub fn approval(request_id: &str, approved: bool, file_path: Option<&str>, note: Option<&str>) -> String {
    let mut answer = json!({
        "type": "client.approval_response",
        "request_id": request_id,
        "approved": approved,
        "scope": if file_path.is_some() { "file" } else { "all" },
    });
    if let Some(path) = file_path {
        answer["file_path"] = path.into();
    }
    if let Some(note) = note {
        answer["note"] = note.into();
    }
    answer.to_string()
}

/// What was decided on one change of an edit.
#[derive(Debug)]
pub struct HunkAnswer<'a> {
    /// Its id.
    pub id: &'a str,
    /// Whether it may be made.
    pub accepted: bool,
    /// Its lines, where the user changed them.
    pub content: Option<&'a str>,
}

/// The answer to a request to change files, change by change.
pub fn hunk_approval(request_id: &str, file_path: &str, hunks: &[HunkAnswer<'_>]) -> String {
    let one = |hunk: &HunkAnswer<'_>| {
        let mut said = json!({ "id": hunk.id, "accepted": hunk.accepted });
        if let Some(content) = hunk.content {
            said["content"] = content.into();
        }
        said
    };
    json!({
        "type": "client.approval_response",
        "request_id": request_id,
        "approved": hunks.iter().any(|hunk| hunk.accepted),
        "scope": "hunk",
        "file_path": file_path,
        "hunks": hunks.iter().map(one).collect::<Vec<_>>(),
    })
    .to_string()
}

/// What became of a change of one file.
pub fn patch_result(patch_id: &str, file_path: &str, result: &PatchResult) -> String {
    let (success, error, hash) = match result {
        // Of a file that is gone: the hash of nothing.
        PatchResult::Applied(hash) => {
            (true, Value::Null, hash.clone().unwrap_or_else(|| content_hash(b"")).into())
        }
        PatchResult::Failed(kind, message) => {
            (false, json!({ "message": message, "type": kind }), Value::Null)
        }
    };
    json!({
        "type": "client.patch_apply_result",
        "patch_id": patch_id,
        "file_path": file_path,
        "success": success,
        "error": error,
        "applied_hash": hash,
    })
    .to_string()
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// Its exit code; 126 where it was not run.
    pub exit_code: i32,
    /// What it printed.
    pub stdout: String,
    /// What it printed as errors, or why it was not run.
    pub stderr: String,
    /// How long it ran.
    pub duration_ms: u64,
}

/// How a command ended.
pub fn command_result(command_id: &str, command: &str, end: &CommandEnd) -> String {
    json!({
        "type": "client.command_result",
        "command_id": command_id,
        "command": command,
        "exit_code": end.exit_code,
        "stdout": end.stdout,
        "stderr": end.stderr,
        "duration_ms": end.duration_ms,
    })
    .to_string()
}

/// Stops the turn that runs.
pub fn cancel() -> String {
    json!({ "type": "client.cancel", "reason": "user_cancelled" }).to_string()
}

/// Takes back a prompt that waits at the host behind another turn.
pub fn take_back(message_id: &str) -> String {
    json!({ "type": "client.cancel", "reason": "user_cancelled", "message_id": message_id }).to_string()
}

/// Files that changed, for the index of the host.
pub fn file_changes(changes: &[Value]) -> String {
    json!({ "type": "client.file_changes", "changes": changes }).to_string()
}

/// One of them; with the hash of what is there now, where it was read, and the moment in ISO-8601.
pub fn file_change(kind: WatchedFileChange, path: &str, hash: Option<&str>, moment: &str) -> Value {
    let mut change = json!({ "type": kind.as_str(), "file_path": path, "timestamp": moment });
    if let Some(hash) = hash {
        change["content_hash"] = hash.into();
    }
    change
}

/// What changed of the context of the prompt, each part whole.
pub fn context_update(updates: &Map<String, Value>) -> String {
    json!({ "type": "client.context_update", "updates": updates }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn r002_28_29_30_the_greeting_names_the_client_and_what_it_can() {
        let place = HostPlace { epoch: "e".to_owned(), seq: 7 };
        assert_eq!(said(&hello("Neovim", Some(&place)))["last_seen"], json!({ "epoch": "e", "seq": 7 }));
        let hello = said(&hello("Neovim", None));
        assert_eq!(hello["type"], "client.hello");
        assert_eq!(hello["client_info"]["name"], "Neovim");
        assert_eq!(
            hello["client_info"]["capabilities"],
            json!(["diff_preview", "terminal_exec", "git_integration", "token_pieces"])
        );
    }

    #[test]
    fn r002_31_39_100_a_prompt_has_its_context_and_its_texts() {
        let context = UserContext { command: Some("/fix".to_owned()), ..UserContext::default() };
        let text = MentionedText { name: "a.txt".to_owned(), text: "x".to_owned(), truncated: false };
        assert_eq!(
            said(&user_message("Fix it", "m1", &context, &[text])),
            json!({ "type": "client.user_message", "message": "Fix it", "message_id": "m1",
                "context": { "command": "/fix",
                    "mentions": [{ "type": "file", "path": "a.txt", "content": "x", "truncated": false }] } })
        );
    }

    #[test]
    fn r002_44_45_46_an_answer_has_a_scope_and_a_path_where_it_needs_one() {
        assert_eq!(
            said(&approval("r1", true, None, None)),
            json!({ "type": "client.approval_response", "request_id": "r1", "approved": true, "scope": "all" })
        );
        assert_eq!(
            said(&approval("r1", false, Some("a"), Some("half"))),
            json!({ "type": "client.approval_response", "request_id": "r1", "approved": false, "scope": "file",
                "file_path": "a", "note": "half" })
        );
    }

    #[test]
    fn r002_47_48_49_a_result_says_what_is_there_or_why_not() {
        assert_eq!(
            said(&patch_result("p1", "a", &PatchResult::Applied(Some("sha256:ab".to_owned())))),
            json!({ "type": "client.patch_apply_result", "patch_id": "p1", "file_path": "a", "success": true,
                "error": null, "applied_hash": "sha256:ab" })
        );
        assert_eq!(
            said(&patch_result("p1", "a", &PatchResult::Failed("conflict", "It changed.".to_owned()))),
            json!({ "type": "client.patch_apply_result", "patch_id": "p1", "file_path": "a", "success": false,
                "error": { "message": "It changed.", "type": "conflict" }, "applied_hash": null })
        );
    }

    #[test]
    fn r002_43_52_53_what_changed_meanwhile_is_said() {
        let at = "2025-12-30T10:35:12Z";
        let changes = [
            file_change(WatchedFileChange::Created, "src/utils/new_helper.ts", Some("sha256:abc123"), at),
            file_change(WatchedFileChange::Deleted, "old.ts", None, at),
        ];
        assert_eq!(
            said(&file_changes(&changes)),
            json!({ "type": "client.file_changes", "changes": [
                { "type": "created", "file_path": "src/utils/new_helper.ts", "content_hash": "sha256:abc123", "timestamp": at },
                { "type": "deleted", "file_path": "old.ts", "timestamp": at },
            ] })
        );
        let updates = Map::from_iter([("diagnostics".to_owned(), json!([]))]);
        assert_eq!(
            said(&context_update(&updates)),
            json!({ "type": "client.context_update", "updates": { "diagnostics": [] } })
        );
    }

    #[test]
    fn r002_50_51_the_end_of_a_command_and_a_stop_are_said() {
        let end = CommandEnd { exit_code: 0, stdout: "o".to_owned(), stderr: String::new(), duration_ms: 7 };
        assert_eq!(
            said(&command_result("c1", "npm test", &end)),
            json!({ "type": "client.command_result", "command_id": "c1", "command": "npm test", "exit_code": 0,
                "stdout": "o", "stderr": "", "duration_ms": 7 })
        );
        assert_eq!(said(&cancel()), json!({ "type": "client.cancel", "reason": "user_cancelled" }));
        let taken_back = json!({ "type": "client.cancel", "reason": "user_cancelled", "message_id": "m1" });
        assert_eq!(said(&take_back("m1")), taken_back);
    }
}
