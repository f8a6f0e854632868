//! The order of a session, and how a session of an agent stands.
//!
//! Owns `seq`. Never stores it: the journal does.

pub mod agent_state;
pub mod sequence;

pub use agent_state::AgentState;
pub use sequence::Sequence;
