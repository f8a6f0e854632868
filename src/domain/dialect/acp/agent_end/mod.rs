//! The Agent Client Protocol, version 1, from the other end: what an agent hears and says.
//!
//! Owns the words that we use where we are the agent of somebody else's client: its methods, what it can do, its prompts, and
//! our updates and requests in its shapes. Pure: what is sent, and when, is the front's to decide. What we say is read with the
//! types of the protocol's owners in `tests/e2e/acp_front.rs`.

pub(crate) mod call;
pub(crate) mod diffs;
pub(crate) mod hello;
pub(crate) mod method;
pub(crate) mod options;
pub(crate) mod permission;
pub(crate) mod prompt;
pub(crate) mod stop;
pub(crate) mod updates;
