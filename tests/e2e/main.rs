//! Stories on the real binary over its real wire. One module a story; the harness is `harness`.

mod ask;
mod configuration;
mod disk;
mod edits;
mod envelope;
mod flood;
mod harness;
mod hostile_workspace;
mod lsp_edge;
mod model;
mod progress;
mod restart;
mod secrets;
mod sessions;
mod stalled_editor;
mod transcript;
