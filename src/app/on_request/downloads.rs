//! `bb/downloadArtifact`: asked for here, streamed to disk by the engine's adapter.
//!
//! Owns where an artifact goes, the progress that is told meanwhile, and when it goes again. Needs no trust: the bytes lie
//! in the state directory, and nobody runs them.

use std::path::PathBuf;

use serde_json::{Value, json};
use url::Url;

use crate::app::client::ClientId;
use crate::app::diffs::{artifact_folder, artifact_name, hash};
use crate::app::inbox::Reply;
use crate::app::ports::{Artifact, DownloadFor, EngineCall, FileJob, ProgressToken, StreamCall};
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::protocol::request::*;

/// Longest path of an artifact, in bytes: what Linux takes (`PATH_MAX`).
const MOST_PATH_BYTES: usize = 4_096;

/// Progresses at the same time at one client. No editor has more requests open; what is past it is downloaded without.
const PROGRESSES: usize = 512;

impl App {
    pub(in crate::app) fn download_artifact(
        &mut self,
        client: ClientId,
        params: DownloadArtifactParams,
        reply: Reply<DownloadArtifactResult>,
    ) {
        if let Err(error) = fits(&params).and_then(|()| self.known(&params.session_id).map(|_| ())) {
            return reply.refuse(error);
        }
        match self.artifact_home(&params.session_id) {
            Ok(home) => {
                // The same artifact always has the same place, so that a second download takes that of the first.
                let to = home.join(hash(&params.artifact_path)).join(artifact_name(&params.artifact_path));
                let progress = params.work_done_token.map(|token| ProgressToken { client, token });
                let call = EngineCall::Stream(StreamCall::Download {
                    session_id: params.session_id.clone(),
                    artifact_path: params.artifact_path,
                    to,
                    purpose: DownloadFor::Client { reply, progress },
                });
                self.call_engine(&params.session_id, call);
            }
            Err(error) => reply.refuse(error),
        }
    }

    /// Where artifacts of this session go. Only the engine that is in use can be asked for them.
    pub(super) fn artifact_home(&self, session_id: &str) -> Result<PathBuf, CodedError> {
        if !self.is_ours(&self.known(session_id)?.record) {
            return Err(CodedError::new(
                ErrorCode::Unsupported,
                "This session belongs to another engine than the one in use; start with that one for its artifacts.",
            ));
        }
        match self.journal.as_ref().and_then(|journal| journal.state_dir()) {
            Some(state_dir) => Ok(artifact_folder(&state_dir, session_id)),
            None => Err(CodedError::new(
                ErrorCode::Unsupported,
                "There is no state directory to keep artifacts in; give the server one and restart it.",
            )),
        }
    }

    /// Bytes came. The first time the progress begins: an artifact that is there at once needs none.
    pub(in crate::app) fn downloading(&mut self, token: &ProgressToken, bytes: u64, total: Option<u64>) {
        let ProgressToken { client, token } = token;
        // It may have left.
        let Some(client) = self.clients.get_mut(*client) else { return };
        if !client.downloads.contains(token) {
            if client.downloads.len() >= PROGRESSES {
                return;
            }
            client.downloads.push(token.clone());
            let mut begin = json!({ "kind": "begin", "title": "Downloading", "cancellable": false });
            if total.is_some() {
                begin["percentage"] = json!(0);
            }
            client.tell_progress(token, &begin);
        }
        let mut report = json!({ "kind": "report", "message": message(bytes, total) });
        if let Some(total) = total {
            // Nothing of nothing is all of it.
            report["percentage"] =
                json!(bytes.saturating_mul(100).checked_div(total).unwrap_or(100).min(100));
        }
        client.tell_progress(token, &report);
    }

    /// A download ended.
    pub(in crate::app) fn downloaded(
        &mut self,
        artifact_path: &str,
        outcome: Result<Artifact, CodedError>,
        purpose: DownloadFor,
    ) {
        let (reply, progress) = match purpose {
            DownloadFor::Diff(job) => return self.diff_downloaded(job, artifact_path, outcome),
            DownloadFor::Client { reply, progress } => (reply, progress),
        };
        if let Some(ProgressToken { client, token }) = progress
            && let Some(client) = self.clients.get_mut(client)
            && let Some(at) = client.downloads.iter().position(|begun| *begun == token)
        {
            client.downloads.swap_remove(at);
            client.tell_progress(&token, &json!({ "kind": "end" }));
        }
        reply.settle(outcome.and_then(|artifact| {
            let uri = Url::from_file_path(&artifact.path).map_err(|()| CodedError::internal())?;
            Ok(DownloadArtifactResult {
                artifact_path: artifact_path.to_owned(),
                uri: uri.into(),
                bytes: artifact.bytes,
                sha256: artifact.sha256,
            })
        }));
    }

    /// The session is gone, and its artifacts with it.
    pub(in crate::app) fn drop_artifacts(&mut self, session_id: &str) {
        if let Some(state_dir) = self.journal.as_ref().and_then(|journal| journal.state_dir()) {
            let folder = artifact_folder(&state_dir, session_id);
            let buffers = self.clients.buffers(None);
            self.files.submit(FileJob::DropArtifacts { folder }, buffers);
        }
    }
}

fn fits(params: &DownloadArtifactParams) -> Result<(), CodedError> {
    let refuse = |message: &str| Err(CodedError::new(ErrorCode::InvalidParams, message));
    let path = &params.artifact_path;
    if path.is_empty() || path.len() > MOST_PATH_BYTES || path.chars().any(char::is_control) {
        return refuse(
            "The path of an artifact has 1 to 4,096 bytes and no control characters; give the engine's own.",
        );
    }
    match &params.work_done_token {
        None | Some(Value::String(_)) => Ok(()),
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => Ok(()),
        Some(_) => refuse("A `workDoneToken` is a string or a whole number; send one of them, or none."),
    }
}

fn message(bytes: u64, total: Option<u64>) -> String {
    /// Tenths of a MiB are enough for a status line.
    fn mib(bytes: u64) -> String {
        let tenths = bytes.saturating_mul(10) / 1_048_576;
        format!("{}.{} MiB", tenths / 10, tenths % 10)
    }
    match total {
        Some(total) => format!("{} of {}", mib(bytes), mib(total)),
        None => mib(bytes),
    }
}
