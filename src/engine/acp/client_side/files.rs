//! `fs/read_text_file` and `fs/write_text_file`: what an agent reads and writes through us.
//!
//! Owns the two steps of a write: the base is read before the user is asked, so that what was shown is what is replaced. Never
//! touches a file: the loop does, with trust, the open buffers and the workspace's folders.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tokio::sync::mpsc;

use crate::app::Reply;
use crate::app::ports::{Applied, ClientRequest, EngineReport, TextPart};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::before::FoundText;

/// Bytes of a file that is read to show what an agent replaces in it: it is journalled with the ask.
const FOUND: usize = 512 << 10;

/// The way to the files of the workspace.
#[derive(Debug, Clone)]
pub struct ClientFiles {
    reports: mpsc::Sender<EngineReport>,
}

/// What a write begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteBase {
    /// Name of the root that the file is in.
    pub root: String,
    /// Relative to it.
    pub path: String,
    /// The text as it is now, and its hash; `None` for a new file.
    pub now: Option<(String, String)>,
    /// It is open and has text that is not on disk.
    pub unsaved: bool,
}

impl ClientFiles {
    /// Files through the loop that hears these reports.
    pub fn new(reports: mpsc::Sender<EngineReport>) -> Self {
        Self { reports }
    }

    /// Reads some lines of a file, as the editor has them; `line` is from 1. Dropped, it is not read any more.
    ///
    /// # Errors
    ///
    /// `untrusted_workspace`, `cancelled` outside a turn, `path_outside_workspace`, `not_found`, `not_text`, `too_large`.
    pub async fn read(
        &self,
        session_id: &str,
        path: &Path,
        line: Option<u64>,
        limit: Option<u64>,
    ) -> Result<TextPart, CodedError> {
        let path = path.to_owned();
        self.want(session_id, |reply| ClientRequest::ReadText { path, line, limit, reply }).await
    }

    /// What a file is before it is written, to be shown in the ask.
    ///
    /// # Errors
    ///
    /// As `read`, but for a file that is not there, which is new.
    pub async fn base(&self, session_id: &str, path: &Path) -> Result<WriteBase, CodedError> {
        match self.read(session_id, path, None, None).await {
            Ok(part) => Ok(WriteBase {
                root: part.root,
                path: part.path,
                now: Some((part.content, part.hash)),
                unsaved: part.unsaved,
            }),
            Err(refused) if refused.code == ErrorCode::NotFound => {
                let place = refused
                    .details
                    .clone()
                    .and_then(|details| serde_json::from_value::<NewFile>(details).ok());
                let Some(NewFile { root, path }) = place else { return Err(refused) };
                Ok(WriteBase { root, path, now: None, unsaved: false })
            }
            Err(refused) => Err(refused),
        }
    }

    /// What stands in a file that the agent is to write itself. A relative path begins at `folder`.
    pub(super) async fn found(&self, session_id: &str, path: &str, folder: Option<&PathBuf>) -> FoundText {
        let path = folder.map_or_else(|| PathBuf::from(path), |folder| folder.join(path));
        match self.base(session_id, &path).await {
            Ok(WriteBase { now: None, .. }) => FoundText::Nothing,
            Ok(WriteBase { now: Some((text, _)), .. }) if text.len() <= FOUND => FoundText::Text(text),
            Ok(WriteBase { path, .. }) => FoundText::Unread(format!(
                "`{path}` is larger than {} KiB; look at it before you allow this.",
                FOUND >> 10
            )),
            Err(error) => FoundText::Unread(match error.code {
                // What the loop says to an agent is no help to a person.
                ErrorCode::PathOutsideWorkspace => "It is outside of the workspace.".to_owned(),
                ErrorCode::UntrustedWorkspace => "The workspace is not trusted.".to_owned(),
                ErrorCode::Cancelled => "No turn of this session runs.".to_owned(),
                _ => error.message,
            }),
        }
    }

    /// Writes a whole text over its base, in the editor where it can and else on disk; call it after the user allowed it. Answers
    /// with what is there now.
    ///
    /// # Errors
    ///
    /// `conflict` when the file is not its base any more, and what the workspace refuses.
    pub async fn write(
        &self,
        session_id: &str,
        base: WriteBase,
        text: String,
    ) -> Result<Applied, CodedError> {
        let WriteBase { root, path, now, .. } = base;
        let base_hash = now.map(|(_, hash)| hash);
        self.want(session_id, |reply| ClientRequest::ApplyText {
            root: Some(root),
            path,
            base_hash,
            text,
            reply,
        })
        .await
    }

    async fn want<T>(
        &self,
        session_id: &str,
        make: impl FnOnce(Reply<T>) -> ClientRequest,
    ) -> Result<T, CodedError> {
        let (reply, answer) = Reply::new();
        let report = EngineReport::Wants { session_id: session_id.to_owned(), want: make(reply) };
        self.reports.send(report).await.map_err(|_| CodedError::internal())?;
        answer.await.map_err(|_| CodedError::internal())?
    }
}

#[derive(Deserialize)]
struct NewFile {
    root: String,
    path: String,
}
