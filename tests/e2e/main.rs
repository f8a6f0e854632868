//! Stories on the real binary over its real wire. One module a story; the harness is `harness`.

mod ask;
#[cfg(unix)]
mod ask_terminal;
mod doctor;
mod harness;
mod hostile_workspace;
mod lsp_edge;
mod schema;
