//! One agent: what is known of it, and what is to be done for it, in order.
//!
//! Owns the queues of what is to be done and reported. Does nothing itself: `task` starts and ends the process and carries
//! bytes and reports, in the order in which they are laid down here. Never waits. The steps of the process: `life`.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;

use tokio::time::Instant;

use super::agents::AgentLine;
use super::ask::Asks;
use super::client_request::ClientRequests;
use super::client_side::Order;
use super::own_request::OwnRequests;
use super::process::Cwd;
use super::process_state::{ProcessState, Why};
use super::routes::Routes;
use super::session::Session;
use super::unplaced::Unplaced;
use super::{AgentTimeouts, Setup};
use crate::app::inbox::Reply;
use crate::app::ports::{Attachment, EngineReport};
use crate::domain::dialect::acp::blocks::PromptAttachment;
use crate::domain::dialect::acp::results::PromptCapabilities;
use crate::protocol::tab::AgentRestartResult;
use crate::protocol::{ErrorCode, WireError};

/// What is to be done, in order.
#[derive(Debug)]
pub(super) enum Effect {
    /// Start the process.
    Start,
    /// Write this line to it.
    Write(String),
    /// End it, with all that it started.
    End,
    /// Read attachments, as far as the agent can take their content.
    Read { session_id: String, turn: u64, attachments: Vec<Attachment>, takes: PromptCapabilities },
    /// Do what it wants of its client.
    Work(Order),
    /// Nobody waits for the work with this number any more.
    GiveUp(u64),
    /// Kill what runs in the terminals of a session.
    EndTerminals(String),
}

/// One agent, by name.
pub(super) struct Agent {
    pub(super) line: AgentLine,
    pub(super) process: ProcessState,
    pub(super) sessions: BTreeMap<String, Session>,
    /// Ours by the agent's.
    pub(super) by_agent: HashMap<String, String>,
    pub(super) asked: OwnRequests,
    pub(super) asks: Asks,
    pub(super) wanted: ClientRequests,
    pub(super) unplaced: Unplaced,
    pub(super) now: Instant,
    /// The session that was used last.
    pub(super) latest: Option<String>,
    pub(super) routes: Routes,
    pub(super) log: Option<PathBuf>,
    pub(super) timeouts: AgentTimeouts,
    pub(super) trusted: bool,
    folder: Option<Cwd>,
    /// Who waits for a new process.
    pub(super) restarts: Vec<Reply<AgentRestartResult>>,
    effects: VecDeque<Effect>,
    reports: VecDeque<EngineReport>,
}

impl Agent {
    pub(super) fn new(line: AgentLine, setup: &Setup, routes: Routes, now: Instant) -> Self {
        Self {
            line,
            process: ProcessState::default(),
            sessions: BTreeMap::new(),
            by_agent: HashMap::new(),
            asked: OwnRequests::default(),
            asks: Asks::default(),
            wanted: ClientRequests::default(),
            unplaced: Unplaced::default(),
            now,
            latest: None,
            routes,
            log: setup.logs.clone(),
            timeouts: setup.timeouts,
            trusted: false,
            folder: None,
            restarts: Vec::new(),
            effects: VecDeque::new(),
            reports: VecDeque::new(),
        }
    }

    /// The next thing to do.
    pub(super) fn next_deed(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// The next report.
    pub(super) fn next_report(&mut self) -> Option<EngineReport> {
        self.reports.pop_front()
    }

    /// Whether reports wait; nothing more is read until they are taken.
    pub(super) fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    pub(super) fn report(&mut self, report: EngineReport) {
        self.reports.push_back(report);
    }

    pub(super) fn lay_down(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    pub(super) fn write(&mut self, line: String) {
        self.effects.push_back(Effect::Write(line));
    }

    pub(super) fn notice(&mut self, session_id: &str, level: &'static str, text: String) {
        self.report(EngineReport::Noticed { session_id: session_id.to_owned(), level, text });
    }

    pub(super) fn name(&self) -> &str {
        &self.line.name
    }

    /// Trust that is taken back ends the process: nothing else could keep it from writing and running.
    pub(super) fn set_trust(&mut self, trusted: bool) {
        self.trusted = trusted;
        if !trusted {
            let why = format!(
                "The agent `{}` was ended, because this workspace is not trusted any more; trust it and send the prompt again.",
                self.name()
            );
            self.end_process(Why::Refused(WireError::new(ErrorCode::UntrustedWorkspace, why)));
        }
    }

    pub(super) fn is_trusted(&self) -> bool {
        self.trusted
    }

    pub(super) fn set_folder(&mut self, folder: Option<Cwd>) {
        self.folder = folder;
    }

    /// The folder of the workspace that it works in.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.path().to_owned())
    }

    /// Where its process starts.
    pub(super) fn cwd(&self) -> Cwd {
        self.folder.clone().unwrap_or_else(|| Cwd::Path(std::env::temp_dir()))
    }

    /// Where its stderr goes, this time.
    pub(super) fn log_file(&self) -> Option<PathBuf> {
        let letters =
            |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
        let name: String = self.name().chars().take(64).map(letters).collect();
        self.log.as_ref().map(|directory| directory.join(format!("{name}.log")))
    }

    /// Attachments were read.
    pub(super) fn attachments_read(&mut self, session_id: &str, turn: u64, attachments: &[PromptAttachment]) {
        self.send_prompt(session_id, turn, attachments);
    }
}
