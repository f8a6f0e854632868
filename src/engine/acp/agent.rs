//! One agent: what is known of it, and what is to be done for it, in order.
//!
//! Owns what belongs together of it: its process, its sessions, who waits for an answer, and what is to be done. What happens
//! to them stands in files of their own, such as `life` for the steps of the process. Does nothing itself: `task` starts and
//! ends the process and carries bytes and reports, in the order in which they are laid down here. Never waits.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::time::Instant;

use super::agents::AgentLine;
use super::outgoing::{Effect, Outgoing};
use super::process::Cwd;
use super::process_state::{EndReason, ProcessState};
use super::routes::Routes;
use super::rpc::Rpc;
use super::session_table::SessionTable;
use super::{AgentTimeouts, Setup};
use crate::app::ports::EngineReport;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::blocks::PromptAttachment;
use crate::domain::mcp::McpDefinition;
use crate::domain::remedy::Remedy;

/// One agent, by name.
pub(super) struct Agent {
    pub(super) line: AgentLine,
    pub(super) process: ProcessState,
    pub(super) sessions: SessionTable,
    pub(super) rpc: Rpc,
    pub(super) now: Instant,
    pub(super) routes: Routes,
    pub(super) timeouts: AgentTimeouts,
    /// The user's tool servers, which it is given with each session.
    pub(super) tool_servers: Arc<[McpDefinition]>,
    /// Where logs lie.
    logs: Option<PathBuf>,
    trusted: bool,
    folder: Option<Cwd>,
    outgoing: Outgoing,
}

impl Agent {
    pub(super) fn new(line: AgentLine, setup: &Setup, routes: Routes, now: Instant) -> Self {
        Self {
            line,
            process: ProcessState::default(),
            sessions: SessionTable::default(),
            rpc: Rpc::default(),
            now,
            routes,
            timeouts: setup.timeouts,
            tool_servers: Arc::default(),
            logs: setup.logs.clone(),
            trusted: false,
            folder: None,
            outgoing: Outgoing::default(),
        }
    }

    /// The next thing to do.
    pub(super) fn next_effect(&mut self) -> Option<Effect> {
        self.outgoing.next_effect()
    }

    /// The next report.
    pub(super) fn next_report(&mut self) -> Option<EngineReport> {
        self.outgoing.next_report()
    }

    /// Whether reports wait; nothing more is read until they are taken.
    pub(super) fn has_reports(&self) -> bool {
        self.outgoing.has_reports()
    }

    pub(super) fn report(&mut self, report: EngineReport) {
        self.outgoing.report(report);
    }

    pub(super) fn lay_down(&mut self, effect: Effect) {
        self.outgoing.lay_down(effect);
    }

    pub(super) fn write(&mut self, line: String) {
        self.lay_down(Effect::Write(line));
    }

    pub(super) fn notice(&mut self, session_id: &str, level: &'static str, text: String) {
        self.notice_with(session_id, level, text, Remedy::default());
    }

    pub(super) fn notice_with(
        &mut self,
        session_id: &str,
        level: &'static str,
        text: String,
        remedy: Remedy,
    ) {
        self.report(EngineReport::Noticed { session_id: session_id.to_owned(), level, text, remedy });
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
            self.end_process(EndReason::Refused(CodedError::new(ErrorCode::UntrustedWorkspace, why)));
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
        self.logs.as_ref().map(|directory| directory.join(format!("{name}.log")))
    }

    /// Attachments were read.
    pub(super) fn attachments_read(&mut self, session_id: &str, turn: u64, attachments: &[PromptAttachment]) {
        self.send_prompt(session_id, turn, attachments);
    }
}
