//! How the process of an agent stands.
//!
//! ```text
//!         somebody needs it            hello              nobody uses it, a restart, a refusal
//!   Down ────────────────▶ Starting ─────────▶ Ready ───────────────────────────▶ Ending
//!    ▲                        │                  │                                   │
//!    └────────────────────────┴───── it ends ────┴───────────────────────────────────┘
//! ```
//!
//! Owns these steps, the number of the process, what it said of itself and who waits for a new one. Never starts or ends one.

use crate::app::inbox::Reply;
use crate::app::ports::{AgentHello, AgentProcess};
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::acp::results::{AgentCapabilities, InitializeResult};
use crate::protocol::agent::AgentStatus;
use crate::protocol::tab::AgentRestartResult;

/// The phases of a process.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ProcessPhase {
    /// There is none.
    Down(LastEnd),
    /// It was started, and has not said hello.
    Starting,
    /// It said hello.
    Ready,
    /// It is being ended.
    Ending(EndReason),
}

/// How the process before ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastEnd {
    /// We ended it, or there was none.
    ClientRequests,
    /// By itself.
    Unexpected,
}

/// Why we end a process.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum EndReason {
    /// Nobody uses it.
    Idle,
    /// The user wants a new one.
    Restart,
    /// It cannot be talked to.
    Refused(CodedError),
}

/// The process of one agent.
#[derive(Debug)]
pub(super) struct ProcessState {
    phase: ProcessPhase,
    /// Number of the process, from 1; 0 before the first.
    generation: u64,
    /// What it said of itself; nothing before that.
    hello: InitializeResult,
    /// Who waits for a new one.
    restarts: Vec<Reply<AgentRestartResult>>,
}

impl Default for ProcessState {
    fn default() -> Self {
        Self {
            phase: ProcessPhase::Down(LastEnd::ClientRequests),
            generation: 0,
            hello: InitializeResult::default(),
            restarts: Vec::new(),
        }
    }
}

impl ProcessState {
    pub(super) fn phase(&self) -> &ProcessPhase {
        &self.phase
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn hello(&self) -> &InitializeResult {
        &self.hello
    }

    /// What it can do, once it said so.
    pub(super) fn can(&self) -> &AgentCapabilities {
        &self.hello.agent_capabilities
    }

    pub(super) fn is_starting(&self) -> bool {
        self.phase == ProcessPhase::Starting
    }

    pub(super) fn is_ready(&self) -> bool {
        self.phase == ProcessPhase::Ready
    }

    pub(super) fn is_ending(&self) -> bool {
        matches!(self.phase, ProcessPhase::Ending(_))
    }

    /// Somebody waits for a new one.
    pub(super) fn await_new(&mut self, reply: Reply<AgentRestartResult>) {
        self.restarts.push(reply);
    }

    pub(super) fn is_awaited(&self) -> bool {
        !self.restarts.is_empty()
    }

    /// They get their answers.
    pub(super) fn take_restarts(&mut self) -> Vec<Reply<AgentRestartResult>> {
        std::mem::take(&mut self.restarts)
    }

    /// A new one is started.
    pub(super) fn starts(&mut self) {
        self.generation += 1;
        self.phase = ProcessPhase::Starting;
    }

    /// It said hello.
    pub(super) fn greeted(&mut self, hello: InitializeResult) {
        self.hello = hello;
        self.phase = ProcessPhase::Ready;
    }

    /// It is to be ended. Whether there is anything to end.
    pub(super) fn ends(&mut self, why: EndReason) -> bool {
        let runs = matches!(self.phase, ProcessPhase::Starting | ProcessPhase::Ready);
        if runs {
            self.phase = ProcessPhase::Ending(why);
        }
        runs
    }

    /// It is gone. Gives how it stood.
    pub(super) fn ended(&mut self, end: LastEnd) -> ProcessPhase {
        self.hello = InitializeResult::default();
        std::mem::replace(&mut self.phase, ProcessPhase::Down(end))
    }

    /// How it stands, as the loop is told.
    pub(super) fn told(&self) -> AgentProcess {
        let status = match self.phase {
            ProcessPhase::Starting => AgentStatus::Starting,
            ProcessPhase::Ready => AgentStatus::Running,
            ProcessPhase::Down(LastEnd::Unexpected) => AgentStatus::Exited,
            ProcessPhase::Down(LastEnd::ClientRequests) | ProcessPhase::Ending(_) => AgentStatus::Stopped,
        };
        let hello = self.is_ready().then(|| {
            let who = self.hello.agent_info.clone();
            AgentHello {
                title: who.as_ref().map(|who| who.title.clone().unwrap_or_else(|| who.name.clone())),
                version: who.and_then(|who| who.version),
                auth_methods: self.hello.auth_methods.clone(),
                capabilities: self.hello.agent_capabilities.clone(),
            }
        });
        AgentProcess { generation: self.generation, status, hello }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_as_it_stands_and_ended_once() {
        let mut process = ProcessState::default();
        let told = |process: &ProcessState| {
            let AgentProcess { generation, status, hello } = process.told();
            (generation, status, hello.is_some())
        };
        assert!(!process.ends(EndReason::Idle), "there is none");
        assert_eq!(told(&process), (0, AgentStatus::Stopped, false));
        process.starts();
        assert_eq!(told(&process), (1, AgentStatus::Starting, false));
        process.greeted(InitializeResult::default());
        assert_eq!(told(&process), (1, AgentStatus::Running, true));
        assert!(process.ends(EndReason::Restart));
        assert!(!process.ends(EndReason::Idle), "it ends already");
        assert_eq!(told(&process), (1, AgentStatus::Stopped, false));
        assert_eq!(process.ended(LastEnd::ClientRequests), ProcessPhase::Ending(EndReason::Restart));
        process.starts();
        assert_eq!(process.ended(LastEnd::Unexpected), ProcessPhase::Starting);
        assert_eq!(told(&process), (2, AgentStatus::Exited, false));
    }
}
