//! The desktop host: seed 002 over HTTP and WebSocket, for several clients at once.
//!
//! Owns the listener, who may speak to it, and the way between its messages and the loop's. Each socket is a client of the
//! loop, as an editor on stdio is; sessions, turns, approvals and the journal are the loop's, so that they outlive every
//! socket. One loop a workspace. Never decides anything about sessions. Tests: `tests/e2e/desktop_host_*`,
//! `tests/hostile/desktop_host.rs`.

mod answer;
mod approval;
mod attendance;
mod counts;
mod flow;
mod gate;
mod hear;
mod heard_session;
mod host;
mod index_routes;
mod link;
mod listen;
mod loop_client;
mod model_routes;
mod outbox;
mod pair_route;
mod pairing;
mod policy;
mod policy_file;
mod proposal;
mod rate;
mod replay;
mod router;
mod session_routes;
mod socket;
mod token;
mod transcript;
mod translate;
mod workspace_routes;
mod writer;
mod writer_begin;

pub(crate) use gate::Gate;
pub(crate) use host::{DesktopHost, HostedFolder};
pub(crate) use listen::{ListenOptions, open_listener, serve_until};
pub(crate) use pairing::PairingDesk;
pub(crate) use policy::restore_policies;
pub(crate) use token::{HostToken, read_or_make};
