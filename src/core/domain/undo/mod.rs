//! What a turn changed in the files of the workspace, and what taking it back comes to.
//!
//! Owns the record of a turn's changes and the plan of taking them back. Never reads or writes a file.

mod plan;
mod record;

pub use plan::{FilePlan, NowContent, PlannedChange, file_state, hunks_of, plan_file};
pub use record::{
    BeforeSource, ChangedBy, ChangedFile, ChangesKind, FileImage, FileState, ImageForm, ReviewMark,
    TurnRecord, UncoveredFile, UncoveredReason,
};
