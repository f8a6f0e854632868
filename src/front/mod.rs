//! Fronts beside the editor's: other protocols over the same loop, sessions and approvals (decision 0013).
//!
//! Owns nothing itself. Each folder is one front; none knows another.

pub(crate) mod acp;
pub(crate) mod desktop;
