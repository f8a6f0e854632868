//! What is allowed: which paths belong to a workspace, what needs trust, what a child may inherit, what must be hidden,
//! whose a model is.
//!
//! Owns the verdicts only. Never looks at a disk or an environment: names and texts are parameters.

pub(crate) mod command_class;
pub(crate) mod confinement;
pub(crate) mod engine_prompt;
pub(crate) mod environment;
pub(crate) mod file_lists;
pub(crate) mod guarded_path;
pub(crate) mod ignore_line;
pub(crate) mod judgement;
pub(crate) mod path;
pub(crate) mod path_rules;
mod program;
mod program_table;
pub(crate) mod provider;
pub(crate) mod rearranging;
pub(crate) mod redact;
mod redact_json;
pub(crate) mod settings_secrets;
pub(crate) mod shell_line;
pub(crate) mod standing;
pub(crate) mod token;
pub(crate) mod uri;
#[cfg(test)]
mod windows_path_tests;
