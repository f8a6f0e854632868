//! Models: which endpoint, which token, one streamed reply.
//!
//! Owns the way out to a provider: the protocols (`dialects`), what of a reply is read and kept (`bounds`), and who gets which
//! token. Never reads the environment: values come in. All bytes come through `http`, which follows no redirect.

pub mod bounds;
pub mod client;
pub mod conversation;
pub mod dialects;
mod draft;
pub mod failure;
pub mod fault;
mod json;
pub mod target;
pub mod tokens;

pub use client::{Limits, ModelClient};
pub use conversation::{Call, Conversation, Delta, Finished, ToolSpec};
pub use failure::ModelError;
pub use target::{ModelChoice, Target};
pub use tokens::{HostTokens, Token, TokenStore};
