//! What is allowed: which paths belong to a workspace, what needs trust, what a child may inherit, what must be hidden,
//! whose a model is.
//!
//! Owns the verdicts only. Never looks at a disk or an environment: names and texts are parameters.

pub mod command;
pub mod engine_prompt;
pub mod environment;
pub mod ignore_line;
pub mod path;
pub mod provider;
pub mod rearranging;
pub mod redact;
mod redact_json;
pub mod settings_secrets;
pub mod uri;
