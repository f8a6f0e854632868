//! The view: what a client draws. Blocks in four lanes, changed only by `Change`s.
//!
//! Owns the reducers, live and on replay alike. Never reads a clock or the journal. Tests: beside each file, and the
//! laws in `tests/fixtures/reducers` and `tests/fixtures/client`.

mod block;
mod change;
mod coalesce;
mod cut;
mod debug_lane;
mod fingerprint;
mod pages;
mod patch_block;
mod reducer;
mod run_lane;
mod tool_blocks;
mod transcript;

pub use block::{
    Block, BlockBody, Change, ChangeOp, Lane, LaneView, NoticeLevel, PatchFileSummary, PlanStepView,
    ToolBlockStatus, View, ViewLanes,
};
pub use change::apply_changes;
pub use coalesce::coalesce;
pub use pages::{DirtyBlocks, Stored};
pub use reducer::ViewState;
