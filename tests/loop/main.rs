//! The loop against a real journal and ports that remember: order, durability, approvals, the queue, a stalled outbox, a
//! full disk. Everything that needs the wire itself is in `tests/e2e`.

mod agent_files;
mod agent_info;
mod approvals;
mod clients;
mod clients_runs;
mod create_spec;
mod delivery;
mod desk;
mod diffs;
mod disk;
mod downloads;
mod held;
mod held_worst;
mod journal;
mod late;
mod ledger;
mod missing;
mod models;
mod prompts;
mod recovery;
mod redaction;
mod retention;
mod saves;
mod tabs;
mod tabs_client;
mod tabs_ended;
mod tabs_runs;
mod tabs_seen;
