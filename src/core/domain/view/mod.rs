//! The view: what a client draws. Blocks in four lanes, changed only by `Change`s.
//!
//! Owns the reducer, live and on replay alike. Reads facts and no engine's words, and never a clock or the journal. Tests:
//! beside each file, and the laws in `tests/fixtures/reducers` and `tests/fixtures/client`.

mod block;
mod change;
mod checkpoints;
mod coalesce;
mod conversation_tree;
mod debug_lane;
mod diff_paths;
mod messages;
mod notices;
mod open_text;
mod pages;
mod patch_block;
mod plans;
mod prompts;
mod reducer;
mod replay;
mod run_summary;
mod shown_blocks;
mod tasks_lane;
mod terminals;
mod tool;
mod tools;
mod transcript;
mod turn;
mod turn_marks;

pub use block::{Block, BlockBody, Change, Lane, ToolBlockStatus, View, ViewLanes};
pub use block::{ChangeOp, LaneView};
pub use change::apply_changes;
pub use change::insert;
pub use coalesce::coalesce;
pub use pages::DirtyBlocks;
pub use patch_block::patch_block_id;
pub use prompts::is_echo;
pub use reducer::ViewState;
