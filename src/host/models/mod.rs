//! Models: which endpoint, which token, one streamed reply.
//!
//! Owns the way out to a provider. Never reads the environment: values come in. Never follows a redirect, and never
//! lets the provider library choose a key by itself.

pub mod client;
pub mod conversation;
pub mod failure;
pub mod target;
pub mod tokens;

pub use client::{Limits, ModelClient};
pub use conversation::{Call, Conversation, Delta, Finished, ToolSpec};
pub use failure::ModelError;
pub use target::{ModelChoice, Origin, Provider, Target};
pub use tokens::{HostTokens, Token, TokenStore};
