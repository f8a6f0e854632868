//! What a host asked for, what it is answered, and what is done here once it was allowed.
//!
//! Owns who does it: the host, where it says so or speaks as the public source does, else this side, through the loop. Nothing is
//! done twice: each question is taken once. What cannot be done here is told to the host and to the user.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use super::order::LinkOrder;
use super::{DesktopParts, watched};
use crate::app::inbox::Reply;
use crate::app::ports::{
    ClientRequest, CommandRan, DiskChange, DiskChangeKind, EngineDecision, EngineReport,
};
use crate::domain::approval::{BaseFile, FileEdit, HunkWay, Proposal, ProposedFile};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::desktop::hear::{AskedCommand, HostHello, HostQuestion};
use crate::domain::dialect::desktop::say::{self, CommandEnd, HunkAnswer, PatchResult};
use crate::domain::dialect::{Dialect, normalize};
use crate::domain::edits::watched_file::WatchedFileChange;
use crate::domain::event::EngineEvent;
use crate::domain::remedy::Remedy;

/// What a shell says of a command that it could not run.
const NOT_RUN: i32 = 126;

/// What was asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum HostAsk {
    /// A command.
    Command(AskedCommand),
    /// A change.
    Patch {
        /// The host's name of it.
        patch_id: String,
        /// What it changes; `None` where it has no diff that can be read.
        proposal: Option<Proposal>,
    },
    /// A tool of the host.
    Tool,
}

impl HostAsk {
    /// The question of a message, under the host's id of it.
    pub(super) fn of(event: &EngineEvent, question: &HostQuestion) -> Option<(String, Self)> {
        let ask = normalize(Dialect::Desktop, event.clone()).ask?;
        let asked = match question {
            HostQuestion::Command(command) => Self::Command(command.clone()),
            HostQuestion::Patch(patch_id) => {
                Self::Patch { patch_id: patch_id.clone(), proposal: Proposal::of(&ask.subject) }
            }
            HostQuestion::Tool => Self::Tool,
        };
        Some((ask.engine_request_id, asked))
    }

    /// The question that a proposed change is.
    pub(super) fn of_patch(event: &EngineEvent, patch_id: &str) -> Option<(String, Self)> {
        Self::of(event, &HostQuestion::Patch(patch_id.to_owned()))
    }
}

/// What the host hears of an answer, in order.
pub(super) fn answers(id: &str, ask: &HostAsk, decision: &EngineDecision, hello: &HostHello) -> Vec<String> {
    if let Some(part) = decision.part.as_ref().filter(|part| hello.takes_hunks() && part.is_written) {
        let hunks = part.hunks.iter().map(|hunk| HunkAnswer {
            id: &hunk.id,
            accepted: hunk.accepted,
            content: hunk.content.as_deref(),
        });
        let first = part.hunks.first().map(|hunk| hunk.file_path.as_str()).unwrap_or_default();
        return vec![say::hunk_approval(id, first, &hunks.collect::<Vec<_>>())];
    }
    let note = decision.part.as_ref().map(|part| part.note.as_str());
    match ask {
        HostAsk::Command(_) | HostAsk::Tool => vec![say::approval(id, decision.allows(), None, note)],
        HostAsk::Patch { patch_id, proposal } => {
            let paths: Vec<&str> = proposal
                .iter()
                .flat_map(|proposal| &proposal.files)
                .map(|file| file.file_path.as_str())
                .collect();
            let only = if let [only] = paths.as_slice() { Some(*only) } else { None };
            let mut texts = vec![say::approval(id, decision.allows(), only, note)];
            if let Some(note) = note.filter(|_| !hello.applies()) {
                let part = PatchResult::Failed("partial", note.to_owned());
                texts.extend(paths.iter().map(|path| say::patch_result(patch_id, path, &part)));
            }
            texts
        }
    }
}

/// Does what was allowed, where that is this side's to do; gives whether something is done.
pub(super) fn follow(
    parts: &Arc<DesktopParts>,
    session_id: &str,
    ask: HostAsk,
    decision: &EngineDecision,
    hello: &HostHello,
    later: mpsc::WeakSender<LinkOrder>,
) -> bool {
    if !decision.allows() || decision.part.is_some() {
        return false;
    }
    let work = HereWork { parts: Arc::clone(parts), session_id: session_id.to_owned(), later };
    match ask {
        HostAsk::Command(command) if !hello.runs() => {
            parts.runtime.spawn(async move { work.command(command).await });
        }
        HostAsk::Patch { patch_id, proposal } if !hello.applies() => {
            parts.runtime.spawn(async move { work.patch(&patch_id, proposal).await });
        }
        HostAsk::Command(_) | HostAsk::Patch { .. } | HostAsk::Tool => return false,
    }
    true
}

/// Something that is done here for a session.
struct HereWork {
    parts: Arc<DesktopParts>,
    session_id: String,
    later: mpsc::WeakSender<LinkOrder>,
}

impl HereWork {
    async fn command(self, asked: AskedCommand) {
        let ran = match self.line_and_place(&asked) {
            Ok((command, cwd)) => {
                let call_id = asked.call_id.clone();
                let background = None;
                self.want(|reply| ClientRequest::RunCommand { command, cwd, call_id, background, reply })
                    .await
            }
            Err(why) => Err(CodedError::new(ErrorCode::Unsupported, why)),
        };
        let end = match ran {
            Ok(CommandRan { exit_code, stdout, stderr, duration_ms, .. }) => {
                CommandEnd { exit_code, stdout, stderr, duration_ms }
            }
            Err(error) => {
                self.notice(format!("The command was not run: {}", error.message)).await;
                let stderr = error.message;
                CommandEnd { exit_code: NOT_RUN, stdout: String::new(), stderr, duration_ms: 0 }
            }
        };
        let text = say::command_result(&asked.command_id, &asked.command, &end);
        self.say(&asked.command_id, text).await;
    }

    /// The line with its variables, and where it runs, relative to the folder. An error is one sentence.
    fn line_and_place(&self, asked: &AskedCommand) -> Result<(String, String), String> {
        let line = with_variables(&asked.command, &asked.environment)?;
        let place = Path::new(&asked.directory);
        if place.is_relative() {
            return Ok((line, asked.directory.clone()));
        }
        let folder = self.folder()?;
        let inside = place
            .strip_prefix(&folder)
            .map_err(|_| "It is to run in a directory outside of the folder that is open here.".to_owned())?;
        let inside = inside.to_string_lossy().replace('\\', "/");
        Ok((line, if inside.is_empty() { ".".to_owned() } else { inside }))
    }

    fn folder(&self) -> Result<PathBuf, String> {
        self.parts.folder_of(&self.session_id).ok_or_else(|| "No folder is open here.".to_owned())
    }

    async fn patch(self, patch_id: &str, proposal: Option<Proposal>) {
        let Some(mut proposal) = proposal else {
            let why = "The change has no diff that can be read.".to_owned();
            self.notice(format!("The change was not made: {why}")).await;
            let text = say::patch_result(patch_id, "", &PatchResult::Failed("invalid", why));
            self.say(patch_id, text).await;
            return self.order(LinkOrder::Made(patch_id.to_owned())).await;
        };
        proposal.settle(true);
        for file in &proposal.files {
            let result = match self.make(file).await {
                Ok(hash) => {
                    self.tell_of_change(file, hash.is_none());
                    PatchResult::Applied(hash)
                }
                Err((kind, why)) => {
                    self.notice(format!("`{}` was left as it is: {why}", file.file_path)).await;
                    PatchResult::Failed(kind, why)
                }
            };
            self.say(patch_id, say::patch_result(patch_id, &file.file_path, &result)).await;
        }
        self.order(LinkOrder::Made(patch_id.to_owned())).await;
    }

    /// The index of the host is to have what was changed here; an editor may tell of it too.
    fn tell_of_change(&self, file: &ProposedFile, is_gone: bool) {
        let Ok(folder) = self.folder() else { return };
        let place = file.place(HunkWay::In);
        let kind = if is_gone { WatchedFileChange::Deleted } else { WatchedFileChange::Modified };
        watched::one_changed(&self.parts, &folder, place, kind);
        if file.file_path != place {
            watched::one_changed(&self.parts, &folder, &file.file_path, WatchedFileChange::Created);
        }
    }

    /// Makes the change of one file; the hash of what is there then.
    async fn make(&self, file: &ProposedFile) -> Result<Option<String>, (&'static str, String)> {
        let failed = |error: CodedError| (kind_of(error.code), error.message);
        let place = file.place(HunkWay::In);
        let path = self.folder().map_err(|why| ("no_folder", why))?.join(place);
        let read = self.want(|reply| ClientRequest::ReadText { path, line: None, limit: None, reply }).await;
        let (root, path, found) = match read {
            Ok(part) => {
                (Some(part.root), part.path, Some(BaseFile { text: Ok(part.content), hash: part.hash }))
            }
            Err(error) => {
                let named = |name: &str| {
                    let details = error.details.as_ref();
                    details.and_then(|details| details.get(name)).and_then(Value::as_str).map(str::to_owned)
                };
                match (error.code, named("root"), named("path")) {
                    (ErrorCode::NotFound, root @ Some(_), Some(path)) => (root, path, None),
                    (_, _, _) => return Err(failed(error)),
                }
            }
        };
        let edit = file.edit(HunkWay::In, found.as_ref()).map_err(|not_made| ("conflict", not_made.why))?;
        let change = |base_hash, kind| DiskChange {
            root: root.clone(),
            path: path.clone(),
            base_hash,
            turn: None,
            kind,
        };
        let change = match edit {
            FileEdit::Text { base_hash, text, mode } => {
                let (root, path) = (root.clone(), path.clone());
                let applied = self
                    .want(|reply| ClientRequest::ApplyText { root, path, base_hash, text, reply })
                    .await
                    .map_err(failed)?;
                let Some(mode) = mode else { return Ok(Some(applied.applied_hash)) };
                let change = change(None, DiskChangeKind::Mode(mode));
                self.want(|reply| ClientRequest::ChangeFile { change, reply }).await.map_err(failed)?;
                return Ok(Some(applied.applied_hash));
            }
            FileEdit::Delete { base_hash } => change(Some(base_hash), DiskChangeKind::Delete),
            FileEdit::Move { to, base_hash, text, mode } => {
                change(Some(base_hash), DiskChangeKind::Move { to, text, mode })
            }
            FileEdit::Mode { base_hash, mode } => change(Some(base_hash), DiskChangeKind::Mode(mode)),
        };
        let changed = self.want(|reply| ClientRequest::ChangeFile { change, reply }).await;
        changed.map(|changed| changed.hash).map_err(failed)
    }

    async fn want<T>(&self, make: impl FnOnce(Reply<T>) -> ClientRequest) -> Result<T, CodedError> {
        let (reply, answer) = Reply::new();
        let report = EngineReport::Wants { session_id: self.session_id.clone(), want: make(reply) };
        self.parts.report(report).await;
        answer.await.unwrap_or_else(|_| Err(CodedError::internal()))
    }

    async fn notice(&self, text: String) {
        let session_id = self.session_id.clone();
        let remedy = Remedy::default();
        self.parts.report(EngineReport::Noticed { session_id, level: "warning", text, remedy }).await;
    }

    /// The host hears it as soon as a socket stands.
    async fn say(&self, about: &str, text: String) {
        self.order(LinkOrder::Say { about: about.to_owned(), text }).await;
    }

    async fn order(&self, order: LinkOrder) {
        if let Some(link) = self.later.upgrade() {
            // Its end means that nobody wants the session any more.
            let _ = link.send(order).await;
        }
    }
}

/// The word of the protocol for why a change was not made.
fn kind_of(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Conflict | ErrorCode::NotText => "conflict",
        ErrorCode::UntrustedWorkspace => "untrusted",
        ErrorCode::PathOutsideWorkspace => "outside_workspace",
        _ => "failed",
    }
}

/// A line for the shell that sets these variables first. An error is one sentence.
fn with_variables(command: &str, variables: &[(String, String)]) -> Result<String, String> {
    if variables.is_empty() {
        return Ok(command.to_owned());
    }
    if !cfg!(unix) {
        return Err(
            "It wants variables in its environment, which cannot be given to it on this system.".to_owned()
        );
    }
    let mut line = String::new();
    for (name, value) in variables {
        let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && name.chars().next().is_some_and(|first| !first.is_ascii_digit());
        let quoted = shlex::try_quote(value).ok().filter(|_| is_name);
        let Some(quoted) = quoted else {
            return Err("It wants a variable whose name or value no shell can take.".to_owned());
        };
        line.push_str(&format!("export {name}={quoted}; "));
    }
    line.push_str(command);
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::ports::{HunkRuling, PartMade, Ruling};
    use crate::domain::dialect::desktop::decode::decode;
    use crate::domain::dialect::desktop::hear::HostNews;
    use serde_json::json;

    #[cfg(unix)]
    #[test]
    fn r002_71_variables_stand_before_the_line_and_are_quoted() {
        let of = |name: &str, value: &str| with_variables("npm test", &[(name.to_owned(), value.to_owned())]);
        assert_eq!(with_variables("npm test", &[]), Ok("npm test".to_owned()));
        assert_eq!(of("NODE_ENV", "a b;c"), Ok("export NODE_ENV='a b;c'; npm test".to_owned()));
        assert!(of("A;rm", "x").is_err() && of("1A", "x").is_err() && of("", "x").is_err());
    }

    #[test]
    fn r002_44_46_an_edit_in_part_is_no_and_says_what_was_made() {
        let message = json!({ "type": "tool.request_approval", "request_id": "r1", "tool_name": "write_file",
            "args": { "file_path": "a.txt", "patch_id": "p1", "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n" },
            "risk_level": "medium" });
        let event = decode(&message.to_string());
        let HostNews::Asked(question) = HostNews::of(&event) else { panic!("no question") };
        let (id, ask) = HostAsk::of(&event, &question).unwrap();
        let hunk =
            HunkRuling { file_path: "a.txt".to_owned(), id: "h1".to_owned(), accepted: true, content: None };
        let part = PartMade { note: "Half of it.".to_owned(), is_written: true, hunks: vec![hunk] };
        let decision = EngineDecision { part: Some(part), ..EngineDecision::from(Ruling::Deny) };
        let told = |hello: &HostHello| -> Vec<Value> {
            let said = answers(&id, &ask, &decision, hello);
            said.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
        };
        let said = told(&HostHello::default());
        let takes = HostHello { capabilities: vec!["hunk_decisions".to_owned()] };
        assert_eq!(
            told(&takes),
            [
                json!({ "type": "client.approval_response", "request_id": "r1", "approved": true, "scope": "hunk",
                "file_path": "a.txt", "hunks": [{ "id": "h1", "accepted": true }] })
            ]
        );
        assert_eq!(
            said,
            [
                json!({ "type": "client.approval_response", "request_id": "r1", "approved": false, "scope": "file",
                    "file_path": "a.txt", "note": "Half of it." }),
                json!({ "type": "client.patch_apply_result", "patch_id": "p1", "file_path": "a.txt", "success": false,
                    "error": { "message": "Half of it.", "type": "partial" }, "applied_hash": null }),
            ]
        );
    }
}
