//! Attacks on the real binary over its real wire: what a hostile model, repository, agent, shell, editor or disk tries.
//!
//! Seeded and bounded. Each table runs a tenth of its attempts by default and all of them with `BREADBOARD_ATTACKS=full`;
//! `BREADBOARD_ATTACK_SEED` chooses another seed, which each table prints. `limits` says what no attack may exceed.

mod approvals;
mod commands;
mod damage;
mod documents;
mod endpoints;
mod escapes;
mod frames;
#[path = "../e2e/harness/mod.rs"]
mod harness;
mod limits;
#[path = "../e2e/model/mod.rs"]
mod model;
#[cfg(target_os = "linux")]
mod processes;
mod repository;
mod secrets;
mod shown;
