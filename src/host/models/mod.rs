//! Models: which endpoint, which token, one streamed reply.
//!
//! Owns the way out to a provider: the protocols (`dialects`), what of a reply is read and kept (`bounds`), and who gets which
//! token. Never reads the environment: values come in. All bytes come through `http`, which follows no redirect.

pub(crate) mod bounds;
mod check;
pub(crate) mod client;
pub(crate) mod conversation;
pub(crate) mod dialects;
mod draft;
mod embeddings;
pub(crate) mod failure;
pub(crate) mod fault;
mod json;
pub(crate) mod known;
mod rerank;
pub(crate) mod target;
mod text_calls;
pub(crate) mod tokens;
pub(crate) mod tuning;
pub(crate) mod usage;

pub(crate) use check::{Checked, check};
pub(crate) use client::{Limits, ModelClient};
pub(crate) use conversation::{Call, Conversation, Delta, Finished, Image, ToolSpec};
pub(crate) use embeddings::Embeddings;
pub(crate) use failure::ModelError;
pub(crate) use rerank::{ReadOrder, RerankProtocol};
pub(crate) use target::{ModelChoice, Provider, Target};
pub(crate) use text_calls::TextCalls;
pub(crate) use tokens::{HostTokens, Token, TokenStore};
pub(crate) use tuning::{Price, ThinkingEffort, Tuning};
pub(crate) use usage::ReplyUsage;
