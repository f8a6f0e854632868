//! Stories on the real binary over its real wire. One module a story; the harness is `harness`.

mod agent_client;
mod agent_info;
mod ask;
#[cfg(unix)]
mod ask_agent;
mod ask_breadboard;
#[cfg(unix)]
mod ask_mode;
mod ask_terminal;
mod breadboard_commands;
mod breadboard_desk;
mod breadboard_permissions;
mod breadboard_pr40;
mod breadboard_prompts;
mod breadboard_resume;
mod breadboard_secrets;
mod breadboard_sessions;
mod breadboard_tls;
mod breadboard_trust;
mod configuration;
mod create_spec;
mod delivery;
mod diffs;
mod disk;
mod doctor;
mod edits;
mod envelope;
mod files;
mod flood;
mod harness;
mod history;
mod hostile_workspace;
mod known_agents;
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
mod subjects;
mod tabs;
mod transcript;
