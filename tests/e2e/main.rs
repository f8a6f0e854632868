//! Stories on the real binary over its real wire. One module a story; the harness is `harness`.

mod ask;
mod ask_terminal;
mod configuration;
mod disk;
mod doctor;
mod edits;
mod envelope;
mod flood;
mod harness;
mod hostile_workspace;
mod lsp_edge;
mod model;
mod progress;
mod restart;
mod schema;
mod secrets;
mod sessions;
mod stalled_editor;
mod transcript;
