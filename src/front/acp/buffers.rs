//! Files as the client's editor has them: read where a prompt names them and before they are changed, written through it.
//!
//! Owns that nothing the user has not saved is overwritten: what is written is what was shown, put into the text that it was made
//! from, or nothing. A client that does not answer in time has no such file.

use std::rc::Rc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::front::AcpFront;
use super::root::OpenRoot;
use super::session::AcpSession;
use crate::domain::dialect::acp::agent_end::method;
use crate::domain::edits::overlay::{ContentChange, Overlay, Position, PositionEncoding};
use crate::domain::policy::uri::push_encoded;
use crate::protocol::Request;
use crate::protocol::request::{ReadFileSnippetParams, ReadFileSnippetResult};

/// How long the client may take to read a file, or to write one: its editor does either in memory.
const ANSWER: Duration = Duration::from_secs(5);

/// Files of one prompt that are looked for in the client's editor.
const LINKED: usize = 16;

/// Bytes of a file that are compared with what the client has.
const COMPARED: u64 = 1 << 20;

/// An edit as the loop asks for it: one file, one place, positions in bytes.
#[derive(Deserialize)]
struct WantedEdit {
    range: WantedRange,
    #[serde(rename = "newText")]
    new_text: String,
}

#[derive(Deserialize)]
struct WantedRange {
    start: WantedPosition,
    end: WantedPosition,
}

#[derive(Deserialize)]
struct WantedPosition {
    line: u32,
    character: u32,
}

impl AcpFront {
    /// Tells the loop of the files that a prompt links, where the client's editor has another text than the disk.
    pub(super) async fn read_linked(&self, session: &Rc<AcpSession>, linked: &[String]) {
        if !self.abilities().reads_files {
            return;
        }
        for path in linked.iter().take(LINKED) {
            let Some(uri) = address(&session.root, path) else { continue };
            let Some(text) = self.read_file(session, path).await else { continue };
            let known = session.root.root.has_buffer(&uri);
            if known || on_disk(session, path).await.is_none_or(|disk| disk != text) {
                session.root.root.buffer(&uri, &text);
            }
        }
    }

    /// An edit that the loop has the client make; the answer is that of `workspace/applyEdit`.
    pub(super) async fn apply_edit(&self, open: &Rc<OpenRoot>, params: &Value) -> Value {
        match self.edited(open, params).await {
            Ok(()) => json!({ "applied": true }),
            Err(why) => json!({ "applied": false, "failureReason": why }),
        }
    }

    async fn edited(&self, open: &Rc<OpenRoot>, params: &Value) -> Result<(), &'static str> {
        let changes = params.pointer("/edit/changes").and_then(Value::as_object);
        let (uri, edits) =
            changes.and_then(|changes| changes.iter().next()).ok_or("the edit names no file")?;
        let edit = edits.get(0).cloned().map(serde_json::from_value::<WantedEdit>);
        let edit = edit.and_then(Result::ok).ok_or("the edit has no place")?;
        let path =
            Url::parse(uri).ok().and_then(|url| url.to_file_path().ok()).ok_or("the file has no path")?;
        let path = path.to_string_lossy().into_owned();
        let session = self.working_in(open).ok_or("no session of this client works on it any more")?;
        let text = self.read_file(&session, &path).await.ok_or("the client does not give the file")?;
        let base = match open.root.buffer_text(uri) {
            Some(told) => Some(told),
            None => on_disk(&session, &path).await,
        };
        if base.as_ref() != Some(&text) {
            // The engine reads what the user has before it tries again.
            open.root.buffer(uri, &text);
            return Err(
                "the file has changes in the editor that are not saved, or is too large to be compared",
            );
        }
        let changed = applied(&text, edit).ok_or("the place is not in the file")?;
        let params = json!({ "sessionId": session.id, "path": path, "content": changed });
        let asked = self.wire.ask(method::WRITE_FILE, &params).await;
        match tokio::time::timeout(ANSWER, asked.answered()).await {
            Ok(Some(Ok(_))) => {}
            Ok(_) => return Err("the client did not write the file"),
            Err(_) => return Err("the client did not say in time whether it wrote the file"),
        }
        if open.root.has_buffer(uri) {
            open.root.buffer(uri, &changed);
        }
        Ok(())
    }

    /// The session that an edit of this folder is for: one whose turn runs.
    fn working_in(&self, open: &Rc<OpenRoot>) -> Option<Rc<AcpSession>> {
        let sessions = self.sessions.borrow();
        let mut here = sessions.values().filter(|session| Rc::ptr_eq(&session.root, open));
        here.clone().find(|session| session.is_busy()).or_else(|| here.next()).cloned()
    }

    async fn read_file(&self, session: &AcpSession, path: &str) -> Option<String> {
        let asked = self.wire.ask(method::READ_FILE, &json!({ "sessionId": session.id, "path": path })).await;
        let answered = tokio::time::timeout(ANSWER, asked.answered()).await.ok()??.ok()?;
        Some(answered.get("content")?.as_str()?.to_owned())
    }
}

/// The text of a file on disk; `None` where it is not there, is no text or is too large.
async fn on_disk(session: &AcpSession, path: &str) -> Option<String> {
    let inside = path.strip_prefix(session.root.root.path.trim_end_matches('/'))?.strip_prefix('/')?;
    let read = ReadFileSnippetParams {
        session_id: Some(session.id.clone()),
        tab_id: None,
        path: inside.to_owned(),
        root: None,
        max_bytes: Some(COMPARED),
        head_lines: None,
        tail_lines: None,
    };
    let read = session.root.root.call::<ReadFileSnippetResult>(Request::ReadFileSnippet(read)).await.ok()?;
    (!read.truncated).then_some(read.content)
}

/// The address of a file as the loop spells it.
fn address(open: &OpenRoot, path: &str) -> Option<String> {
    let inside = path.strip_prefix(open.root.path.trim_end_matches('/'))?.strip_prefix('/')?;
    let mut uri = open.root.uri.clone();
    for part in inside.split('/') {
        uri.push('/');
        push_encoded(&mut uri, part);
    }
    Some(uri)
}

/// The text with the edit.
fn applied(text: &str, edit: WantedEdit) -> Option<String> {
    let at = |position: &WantedPosition| Position { line: position.line, character: position.character };
    let mut file = Overlay::new();
    file.open("file", "", 1, text);
    let range = Some((at(&edit.range.start), at(&edit.range.end)));
    let change = ContentChange { range, text: edit.new_text };
    file.change("file", 2, &[change], PositionEncoding::Utf8).ok()?;
    Some(file.get("file")?.text.to_string())
}
