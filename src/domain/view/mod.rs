//! The view: what a client draws. Blocks in four lanes, changed only by `ViewChange`s.
//!
//! Owns the reducers, live and on replay alike. Never reads a clock or the journal. Fixtures: `tests/fixtures/view`.

mod block;

pub use block::{
    Block, BlockBody, Change, ChangeOp, Lane, LaneView, NoticeLevel, PatchFileSummary, PlanStepView,
    ToolBlockStatus, View, ViewLanes,
};
