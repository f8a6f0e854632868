//! The order of a session.
//!
//! Owns `seq`. Never stores it: the journal does.

pub mod sequence;

pub use sequence::Sequence;
