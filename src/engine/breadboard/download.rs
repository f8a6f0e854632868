//! An artifact of the engine's as a file of ours.
//!
//! Owns the way of its bytes: streamed, hashed on the way, written beside their place and moved there when they are whole.
//! Of any size. Ends when nobody waits any more, and leaves nothing behind then.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::client::EventStream;
use super::{EngineParts, files, is_wanted};
use crate::app::ports::{Artifact, DownloadFor, EngineReport, StreamReport};
use crate::domain::coded_error::{CodedError, ErrorCode};

/// Between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(250);

/// How often it is looked whether somebody still waits.
const LOOK: Duration = Duration::from_millis(200);

/// Pieces between the socket and the disk; a slow disk holds the socket back.
const PIECES: usize = 16;

/// Downloads `artifact_path` to `to`.
pub(super) async fn run(
    shared: Arc<EngineParts>,
    session_id: String,
    artifact_path: String,
    to: PathBuf,
    purpose: DownloadFor,
) {
    let outcome = {
        let work = fetched(&shared, &session_id, &artifact_path, &to, &purpose);
        tokio::pin!(work);
        loop {
            tokio::select! {
                outcome = &mut work => break outcome,
                () = tokio::time::sleep(LOOK) => {
                    if !is_wanted(&purpose) {
                        break Err(CodedError::new(ErrorCode::Cancelled, "The download was cancelled."));
                    }
                }
            }
        }
    };
    shared
        .report(EngineReport::Stream(StreamReport::Downloaded {
            session_id,
            artifact_path,
            outcome,
            purpose,
        }))
        .await;
}

async fn fetched(
    shared: &EngineParts,
    session_id: &str,
    artifact_path: &str,
    to: &Path,
    purpose: &DownloadFor,
) -> Result<Artifact, CodedError> {
    if artifact_path.trim().is_empty() {
        return Err(CodedError::new(
            ErrorCode::InvalidParams,
            "The path of the artifact is blank; name one.",
        ));
    }
    let path = ["v1", "sessions", session_id, "download"];
    let mut stream = shared
        .client
        .download(&path, &[("artifact", artifact_path)])
        .await
        .map_err(|trouble| files::refused(shared, artifact_path, &trouble))?;
    let (pieces, arriving) = mpsc::channel(PIECES);
    let to = to.to_owned();
    let writer = tokio::task::spawn_blocking(move || write(&to, arriving));
    let told = forward(shared, artifact_path, purpose, &mut stream, pieces).await;
    let written = writer.await.unwrap_or_else(|_| Err(CodedError::internal()));
    match (told, written) {
        (Err(error), _) | (Ok(()), Err(error)) => Err(error),
        (Ok(()), Ok(artifact)) => Ok(artifact),
    }
}

/// What arrives at the writer.
enum BodyPiece {
    Bytes(Bytes),
    /// That was all. Without it the file is not kept.
    End,
}

async fn forward(
    shared: &EngineParts,
    artifact_path: &str,
    purpose: &DownloadFor,
    stream: &mut EventStream,
    pieces: mpsc::Sender<BodyPiece>,
) -> Result<(), CodedError> {
    let total = stream.length();
    let mut bytes = 0;
    let mut told = Instant::now();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|trouble| files::refused(shared, artifact_path, &trouble))?;
        bytes += chunk.len() as u64;
        if pieces.send(BodyPiece::Bytes(chunk)).await.is_err() {
            // The writer says why it ended.
            return Ok(());
        }
        if let DownloadFor::Client { progress: Some(token), .. } = purpose
            && told.elapsed() >= PROGRESS
        {
            told = Instant::now();
            shared
                .report(EngineReport::Stream(StreamReport::Downloading {
                    token: token.clone(),
                    bytes,
                    total,
                }))
                .await;
        }
    }
    // As above.
    let _ = pieces.send(BodyPiece::End).await;
    Ok(())
}

/// Writes what arrives. Runs where it may block.
fn write(to: &Path, mut arriving: mpsc::Receiver<BodyPiece>) -> Result<Artifact, CodedError> {
    let failed = |error: &std::io::Error| {
        CodedError::new(
            ErrorCode::EngineRejected,
            format!("The artifact could not be written to the disk: {error}; make room and try again."),
        )
    };
    let name = to.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = to.with_file_name(format!(".{name}.{}.part", uuid::Uuid::new_v4().simple()));
    let kept = (|| {
        if let Some(directory) = to.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let mut file = std::fs::File::create_new(&beside)?;
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        loop {
            match arriving.blocking_recv() {
                Some(BodyPiece::Bytes(piece)) => {
                    hash.update(&piece);
                    bytes += piece.len() as u64;
                    file.write_all(&piece)?;
                }
                Some(BodyPiece::End) => break,
                None => return Ok(None),
            }
        }
        drop(file);
        std::fs::rename(&beside, to)?;
        Ok(Some(Artifact { path: to.to_owned(), bytes, sha256: format!("{:x}", hash.finalize()) }))
    })();
    if !matches!(kept, Ok(Some(_))) {
        // There may be none yet.
        let _ = std::fs::remove_file(&beside);
    }
    match kept {
        Ok(Some(artifact)) => Ok(artifact),
        Ok(None) => {
            Err(CodedError::new(ErrorCode::EngineRejected, "The artifact did not come whole; try again."))
        }
        Err(error) => Err(failed(&error)),
    }
}
