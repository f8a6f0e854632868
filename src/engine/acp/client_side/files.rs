//! `fs/read_text_file` and `fs/write_text_file`: what an agent reads and writes through us.
//!
//! Owns the two steps of a write: the base is read before the user is asked, so that what was shown is what is replaced. Never
//! touches a file: the loop does, with trust, the open buffers and the workspace's folders.

use std::path::Path;

use serde::Deserialize;
use tokio::sync::mpsc;

use crate::app::Reply;
use crate::app::ports::{ClientRequest, EngineReport, TextPart};
use crate::protocol::{ErrorCode, WireError};

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
    ) -> Result<TextPart, WireError> {
        let path = path.to_owned();
        self.want(session_id, |reply| ClientRequest::ReadText { path, line, limit, reply }).await
    }

    /// What a file is before it is written, to be shown in the ask.
    ///
    /// # Errors
    ///
    /// As `read`, but for a file that is not there, which is new.
    pub async fn base(&self, session_id: &str, path: &Path) -> Result<WriteBase, WireError> {
        match self.read(session_id, path, None, None).await {
            Ok(part) => {
                Ok(WriteBase { root: part.root, path: part.path, now: Some((part.content, part.hash)) })
            }
            Err(refused) if refused.code == ErrorCode::NotFound => {
                let place = refused
                    .details
                    .clone()
                    .and_then(|details| serde_json::from_value::<NewFile>(details).ok());
                let Some(NewFile { root, path }) = place else { return Err(refused) };
                Ok(WriteBase { root, path, now: None })
            }
            Err(refused) => Err(refused),
        }
    }

    /// Writes a whole text over its base, in the editor where it can and else on disk; call it after the user allowed it. Answers
    /// with the hash of what is there now.
    ///
    /// # Errors
    ///
    /// `conflict` when the file is not its base any more, and what the workspace refuses.
    pub async fn write(&self, session_id: &str, base: WriteBase, text: String) -> Result<String, WireError> {
        let WriteBase { root, path, now } = base;
        let base_hash = now.map(|(_, hash)| hash);
        let applied = self
            .want(session_id, |reply| ClientRequest::ApplyText {
                root: Some(root),
                path,
                base_hash,
                text,
                reply,
            })
            .await?;
        Ok(applied.applied_hash)
    }

    async fn want<T>(
        &self,
        session_id: &str,
        make: impl FnOnce(Reply<T>) -> ClientRequest,
    ) -> Result<T, WireError> {
        let (reply, answer) = Reply::new();
        let report = EngineReport::Wants { session_id: session_id.to_owned(), want: make(reply) };
        self.reports.send(report).await.map_err(|_| WireError::internal())?;
        answer.await.map_err(|_| WireError::internal())?
    }
}

#[derive(Deserialize)]
struct NewFile {
    root: String,
    path: String,
}
