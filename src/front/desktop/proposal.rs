//! A request for approval in the messages of the desktop protocol: a command, or a tool with the patch that it waits for.
//!
//! Owns which of the seed's messages a request becomes. Asks the loop for what a view leaves out: nobody is to allow what
//! was not sent whole.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::link::SessionLink;
use crate::domain::approval::{Action, ChangeKind, FileChange, HunkPart, Permission};
use crate::domain::dialect::desktop::message::{PatchHunk, PatchProposed, RiskLevel};
use crate::protocol::Request;
use crate::protocol::desktop::host_message::HostMessage;
use crate::protocol::patch::{PatchFile, PatchGetParams, PatchGetResult, ProposedPatch};
use crate::protocol::permission::{PermissionGetParams, PermissionGetResult};

/// What a person can do with a change of which the engine does not say how to check it.
const READ_THE_DIFF: &str = "The file is changed as the diff shows, and in no other way";

/// The messages of a request.
pub(super) async fn messages(link: &SessionLink, permission: Permission) -> Vec<HostMessage> {
    let permission = whole(link, permission).await;
    let mut messages = Vec::new();
    if let (Action::Edit { .. }, Some(patch_id)) = (&permission.subject.action, &permission.patch_id) {
        let wanted = PatchGetParams {
            patch_id: patch_id.clone(),
            session_id: Some(link.session_id.clone()),
            tab_id: None,
        };
        // A change that can only be taken or left as a whole has no patch; its request says all that is known.
        if let Ok(PatchGetResult { patch }) = link.ask(Request::PatchGet(wanted)).await {
            messages.extend(proposed(patch, &permission).into_iter().map(HostMessage::PatchProposed));
        }
    }
    messages.push(request(permission));
    messages
}

async fn whole(link: &SessionLink, permission: Permission) -> Permission {
    if !permission.subject.truncated {
        return permission;
    }
    let wanted = PermissionGetParams {
        session_id: Some(link.session_id.clone()),
        tab_id: None,
        request_id: permission.request_id.clone(),
    };
    match link.ask::<PermissionGetResult>(Request::PermissionGet(wanted)).await {
        Ok(found) => found.permission,
        // It says itself that it is cut.
        Err(_) => permission,
    }
}

fn proposed(patch: ProposedPatch, permission: &Permission) -> Vec<PatchProposed> {
    let ProposedPatch { patch_id, rationale, acceptance_criteria, files, .. } = patch;
    let rationale = rationale.unwrap_or_else(|| permission.title.clone());
    let acceptance_criteria = match acceptance_criteria.is_empty() {
        true => vec![READ_THE_DIFF.to_owned()],
        false => acceptance_criteria,
    };
    let one = |file: PatchFile| {
        let lines = file.hunks.iter().filter(|hunk| hunk.part == HunkPart::Lines);
        let hunks: Vec<PatchHunk> = lines
            .map(|hunk| PatchHunk {
                old_start: hunk.old_start,
                old_lines: hunk.old_lines,
                new_start: hunk.new_start,
                new_lines: hunk.new_lines,
                content: hunk.content.clone(),
            })
            .collect();
        PatchProposed {
            patch_id: patch_id.clone(),
            diff: unified(&file, &hunks),
            file_path: file.file_path,
            rationale: rationale.clone(),
            acceptance_criteria: acceptance_criteria.clone(),
            requires_approval: true,
            hunks,
            base_hash: file.base_hash,
            warnings: Vec::new(),
        }
    };
    files.into_iter().map(one).collect()
}

/// The hunks as one diff, in git's style (R002-78).
fn unified(file: &PatchFile, hunks: &[PatchHunk]) -> String {
    let old = file.old_path.as_deref().unwrap_or(&file.file_path);
    let mut diff = match file.change {
        ChangeKind::Create => format!("--- /dev/null\n+++ b/{}\n", file.file_path),
        ChangeKind::Delete => format!("--- a/{old}\n+++ /dev/null\n"),
        ChangeKind::Modify | ChangeKind::Rename => format!("--- a/{old}\n+++ b/{}\n", file.file_path),
    };
    for hunk in hunks {
        diff.push_str(&format!(
            "@@ -{},{} +{},{} @@\n{}",
            hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines, hunk.content
        ));
        if !diff.ends_with('\n') {
            diff.push('\n');
        }
    }
    diff
}

fn request(permission: Permission) -> HostMessage {
    let Permission { request_id, digest, title, subject, patch_id, .. } = permission;
    let reason = subject.reason.clone().unwrap_or_else(|| title.clone());
    let mut args: Map<String, Value> = Map::from_iter([("reason".to_owned(), reason.clone().into())]);
    args.extend(patch_id.map(|patch_id| ("patch_id".to_owned(), patch_id.into())));
    let mut flag = |name: &str, is_set: bool| {
        args.extend(is_set.then(|| (name.to_owned(), Value::Bool(true))));
    };
    flag("truncated", subject.truncated);
    flag("unknown", subject.unknown);
    let (tool_name, risk_level) = match subject.action {
        Action::Command { command, cwd, env } => {
            return HostMessage::CommandRequestApproval {
                command_id: request_id.clone(),
                request_id,
                command,
                working_directory: cwd,
                environment: env.map(variables).unwrap_or_default(),
                requires_approval: true,
                reason,
                digest,
            };
        }
        Action::Edit { files } => {
            let removes = !files.is_empty() && files.iter().all(|file| file.change == ChangeKind::Delete);
            args.extend(edit_args(&files));
            match removes {
                true => ("delete_file".to_owned(), RiskLevel::High),
                false => ("write_file".to_owned(), RiskLevel::Medium),
            }
        }
        Action::Tool { name, server, input } => {
            args.extend(server.map(|server| ("server".to_owned(), server.into())));
            args.extend(input.map(|input| ("input".to_owned(), input)));
            (name, RiskLevel::Medium)
        }
        Action::Question { text, input } => {
            args.insert("question".to_owned(), text.into());
            args.extend(input.and_then(|input| Some(("form".to_owned(), serde_json::to_value(input).ok()?))));
            ("ask_user".to_owned(), RiskLevel::Low)
        }
    };
    HostMessage::ToolRequestApproval { request_id, tool_name, args, risk_level, digest }
}

fn edit_args(files: &[FileChange]) -> Vec<(String, Value)> {
    let paths: Vec<&str> = files.iter().map(|file| file.file_path.as_str()).collect();
    let diffs: Vec<&str> = files.iter().filter_map(|file| file.diff.as_deref()).collect();
    let mut args = Vec::new();
    args.extend(paths.first().map(|path| ("file_path".to_owned(), Value::from(*path))));
    if paths.len() > 1 {
        args.push(("file_paths".to_owned(), paths.into()));
    }
    if !diffs.is_empty() {
        args.push(("diff".to_owned(), diffs.join("\n").into()));
    }
    args
}

fn variables(env: Map<String, Value>) -> BTreeMap<String, String> {
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    env.into_iter().map(|(name, value)| (name, text(value))).collect()
}
