//! The Agent Client Protocol, version 1, from the other end: what an agent hears and says.
//!
//! Owns the words that we use where we are the agent of somebody else's client: its methods, what it can do, its prompts, and
//! our updates and requests in its shapes. Pure: what is sent, and when, is the front's to decide. What we say is read with the
//! types of the protocol's owners in `tests/e2e/acp_front.rs`.

pub mod call;
pub mod diffs;
pub mod hello;
pub mod method;
pub mod options;
pub mod permission;
pub mod prompt;
pub mod stop;
pub mod updates;
