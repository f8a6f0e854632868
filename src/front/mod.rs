//! Fronts beside the editor's: other ways in which clients come to the same loop.
//!
//! Owns nothing itself. Each folder is one front; none knows another.

pub(crate) mod desktop;
