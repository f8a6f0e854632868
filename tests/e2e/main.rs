//! Stories on the real binary over its real wire. One module a story; the harness is `harness`.

mod ask;
mod configuration;
mod delivery;
mod edits;
mod envelope;
mod files;
mod harness;
mod history;
mod hostile_workspace;
mod lsp_edge;
mod model;
mod progress;
mod prompts;
mod sessions;
mod settings;
