//! A job that waits for a thread: how many places it takes, and what it is told where there is none.
//!
//! Owns no queue: `files` does. What is refused gets the answer that it would have got, so that nobody waits for it.

use super::context;
use crate::app::ports::{FileJob, FileJobDone, PatchJob, PatchJobDone, SpecFilesDone, SpecJob};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::spec::images::ImageFault;
use crate::domain::spec::markdown::MarkdownFault;

/// Who hears of a job that the loop wants to hear about.
pub(super) type FilesDone = dyn Fn(FileJobDone) + Send + Sync;

/// Places that a job takes which carries megabytes of its own.
const HEAVY: u32 = 16;

/// Places that a job takes while it waits.
pub(super) fn weight(job: &FileJob) -> u32 {
    match job {
        FileJob::StoreAttachment { .. }
        | FileJob::Write { .. }
        | FileJob::Change { .. }
        | FileJob::Spec(_) => HEAVY,
        FileJob::List { .. }
        | FileJob::Snippet { .. }
        | FileJob::Read { .. }
        | FileJob::Patch(_)
        | FileJob::Turn(_)
        | FileJob::TurnWritten { .. }
        | FileJob::UndoAwaited { .. }
        | FileJob::ReadText { .. }
        | FileJob::Diff(_)
        | FileJob::Context(_)
        | FileJob::Paths { .. }
        | FileJob::Symbols(_)
        | FileJob::DropArtifacts { .. }
        | FileJob::Run { .. } => 1,
    }
}

/// Says that there was no place.
pub(super) fn refuse(job: FileJob, done: &FilesDone) {
    let refused = CodedError::new(
        ErrorCode::Overloaded,
        "Too many file requests are waiting, so this one was not taken; try again in a moment.",
    );
    match job {
        FileJob::StoreAttachment { session_id, reply, .. } => {
            done(FileJobDone::Stored { session_id, outcome: Err(refused), reply });
        }
        FileJob::Diff(job) => job.refuse(refused),
        FileJob::Context(job) => {
            done(FileJobDone::Context(Box::new(context::without(*job, refused.message))))
        }
        FileJob::Spec(SpecJob::Import { reply, .. }) => {
            done(FileJobDone::Spec(SpecFilesDone::Imported { outcome: Err(MarkdownFault::Busy), reply }));
        }
        FileJob::Spec(SpecJob::Preview { pick, .. }) => {
            done(FileJobDone::Spec(SpecFilesDone::Previewed { outcome: Err(ImageFault::Busy), pick }));
        }
        FileJob::Spec(SpecJob::Keep { sending, .. }) => sending.reply.refuse(refused),
        FileJob::DropArtifacts { folder } => {
            tracing::warn!(?folder, "too many file requests were waiting, so artifacts were left behind");
        }
        FileJob::Symbols(wanted) => wanted.found(Vec::new()),
        FileJob::Paths { wanted } => done(FileJobDone::Paths { wanted, paths: Vec::new() }),
        FileJob::Read { edit, .. } => done(FileJobDone::Read { edit, outcome: Err(refused) }),
        FileJob::TurnWritten { revert, named, index, .. } => {
            done(FileJobDone::TurnWritten { revert, named, index, outcome: Err(refused) });
        }
        FileJob::UndoAwaited { client, .. } => done(FileJobDone::UndoCame { client, outcome: Err(refused) }),
        FileJob::Turn(_) => {}
        FileJob::Patch(job) => refuse_patch(job, refused, done),
        FileJob::Change { reply, .. } => reply.refuse(refused),
        FileJob::List { reply, .. } => reply.refuse(refused),
        FileJob::Snippet { reply, .. } => reply.refuse(refused),
        FileJob::ReadText { reply, .. } => reply.refuse(refused),
        FileJob::Write { reply, .. } => reply.refuse(refused),
        FileJob::Run { reply, .. } => reply.refuse(refused),
    }
}

fn refuse_patch(job: PatchJob, refused: CodedError, done: &FilesDone) {
    done(FileJobDone::Patch(match job {
        PatchJob::Base { write, .. } => PatchJobDone::Base { write, outcome: Err(refused) },
        PatchJob::Written { write, .. } => PatchJobDone::Written { write, outcome: Err(refused) },
        PatchJob::Change { write, .. } => PatchJobDone::Changed { write, outcome: Err(refused) },
        PatchJob::Hashes { session_id, request_id, places } => {
            PatchJobDone::Hashes { session_id, request_id, places }
        }
        PatchJob::Compare { allowed, .. } => PatchJobDone::Compared { allowed, outcome: Err(refused) },
    }));
}
