//! What is allowed: which paths belong to a workspace, what needs trust, what a child may inherit, what must be hidden,
//! whose a model is.
//!
//! Owns the verdicts only. Never looks at a disk or an environment: names and texts are parameters.

pub mod command_class;
pub mod confinement;
pub mod engine_prompt;
pub mod environment;
pub mod file_lists;
pub mod guarded_path;
pub mod ignore_line;
pub mod judgement;
pub mod path;
pub mod path_names;
pub(crate) mod path_rules;
mod program;
mod program_table;
pub mod provider;
pub mod rearranging;
pub mod redact;
mod redact_json;
pub mod settings_secrets;
pub mod shell_line;
pub mod standing;
pub mod token;
pub mod uri;
#[cfg(test)]
mod windows_path_tests;
