//! `breadboard-ls` without a subcommand: wires the rooms together and serves one editor on stdin and stdout.
//!
//! Owns the threads: the reader with the LSP framework (here), the writer, the loop, and the engine's runtime. Decides
//! nothing.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{mpsc, watch};

use super::args::ServeOptions;
use crate::app::inbox::{ENGINE_BOUND, Event, Inbox, Reply};
use crate::app::ports::{Ambient, Engine, FileJobDone, OpenJournal};
use crate::app::{App, OpenEngine, Ports};
use crate::domain::edits::overlay::Overlay;
use crate::domain::policy::redact::Redactor;
use crate::editor;
use crate::engine::embedded::EmbeddedEngine;
use crate::protocol::settings::EngineKind;
use crate::protocol::{ErrorCode, WireError};
use crate::workspace::WorkspaceFiles;

/// Wall clock and UUIDs.
#[derive(Debug, Clone, Copy)]
struct System;

impl Ambient for System {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn fresh_id(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
}
