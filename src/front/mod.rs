//! Fronts beside the editor's: other protocols over the same loop, sessions and approvals (decision 0013).
//!
//! Owns nothing itself. Each front is a client of the loop like any editor.

pub(crate) mod acp;
