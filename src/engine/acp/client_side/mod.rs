//! What an agent may ask its client to do: files of the workspace and terminals, each only where a setting allows it.
//!
//! Owns the doing once it was allowed. Never asks the user and never reads a setting: `wanted` does, before it orders.

mod files;
#[cfg(unix)]
mod printed;
#[cfg(unix)]
mod screen;
#[cfg(unix)]
mod terminals;
#[cfg(not(unix))]
mod terminals_elsewhere;
mod words;
mod work;

pub use files::{ClientFiles, WriteBase};
#[cfg(unix)]
pub use terminals::Terminals;
#[cfg(not(unix))]
pub use terminals_elsewhere::Terminals;
pub use words::{CreateTerminal, EnvVariable, Printed, TerminalExit, TerminalOutput};
pub(in crate::engine::acp) use work::{Job, KnownFile, WorkNews, WorkOrder, WorkResult, Workers};
