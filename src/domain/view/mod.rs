//! The view: what a client draws. Blocks in four lanes, changed only by `Change`s.
//!
//! Owns the reducers, live and on replay alike. Never reads a clock or the journal. Tests: beside each file, and the
//! laws in `tests/fixtures/reducers` and `tests/fixtures/client`.

mod agent_lane;
mod agent_texts;
mod agent_tools;
mod block;
mod change;
mod checkpoints;
mod coalesce;
mod cut;
mod debug_lane;
mod facts;
mod fingerprint;
mod json_size;
mod messages;
mod open_text;
mod pages;
mod patch_block;
mod plans;
mod prompts;
mod reducer;
mod run_lane;
mod run_notices;
mod run_summary;
mod said;
mod shown_blocks;
mod tasks_lane;
mod tool_blocks;
mod transcript;

pub use block::{
    Block, BlockBody, Change, ChangeOp, Lane, LaneView, NoticeLevel, PatchFileSummary, PlanStepView,
    ToolBlockStatus, View, ViewLanes,
};
pub use change::apply_changes;
pub use coalesce::coalesce;
pub use fingerprint::Fingerprint;
pub use pages::{DirtyBlocks, Stored};
pub use patch_block::patch_block_id;
pub use reducer::ViewState;
pub use said::Said;
