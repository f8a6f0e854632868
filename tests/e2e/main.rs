//! Stories on the real binary over its real wire. One module a story; the harness is `harness`.

mod ask;
mod ask_terminal;
mod configuration;
mod delivery;
mod disk;
mod doctor;
mod edits;
mod envelope;
mod files;
mod flood;
mod harness;
mod history;
mod hostile_workspace;
mod lsp_edge;
mod model;
mod progress;
mod prompts;
mod restart;
mod schema;
mod secrets;
mod sessions;
mod settings;
mod stalled_editor;
mod transcript;
