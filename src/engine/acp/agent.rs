//! One agent: what is known of its process, and what happens next to it.
//!
//! Owns the state machine (down, starting, ready, ending), the number of the process, and the way from an event to what is
//! to be done. Does nothing itself: `task` starts and ends the process and carries bytes and reports, in the order in which
//! they are laid down here. Never waits.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::agents::AgentLine;
use super::asked::{Asked, AskedTable};
use super::asks::Asks;
use super::client_side::Order;
use super::process::{Cwd, ExitNote};
use super::routes::Routes;
use super::sessions::{Session, State};
use super::unplaced::Unplaced;
use super::wanted::{Method, Wanted};
use super::{Patience, Setup};
use crate::app::inbox::Reply;
use crate::app::ports::{AgentHello, AgentProcess, AgentReport, Attachment, EngineReport};
use crate::domain::dialect::acp::blocks::PromptAttachment;
use crate::domain::dialect::acp::decode::{AcpError, RpcId};
use crate::domain::dialect::acp::encode::{self, ClientCapabilities, PROTOCOL_VERSION};
use crate::domain::dialect::acp::results::{InitializeResult, PromptCapabilities, read};
use crate::domain::payload::Payload;
use crate::protocol::agent::AgentStatus;
use crate::protocol::tab::AgentRestartResult;
use crate::protocol::version::SERVER_VERSION;
use crate::protocol::{ErrorCode, WireError};

/// Characters of an agent's last words in a sentence.
const LAST_WORDS: usize = 300;

/// What is to be done, in order.
#[derive(Debug)]
pub(super) enum Deed {
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

/// How the process stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Phase {
    /// There is none.
    Down,
    /// It was started, and has not said hello.
    Starting,
    /// It said hello.
    Ready,
    /// It is being ended.
    Ending(Why),
}

/// Why we end a process.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Why {
    /// Nobody uses it.
    Idle,
    /// The user wants a new one.
    Restart,
    /// It cannot be talked to.
    Refused(WireError),
}

/// One agent, by name.
pub(super) struct Agent {
    pub(super) line: AgentLine,
    /// Number of the process, from 1; 0 before the first.
    pub(super) generation: u64,
    pub(super) phase: Phase,
    pub(super) hello: InitializeResult,
    pub(super) sessions: BTreeMap<String, Session>,
    /// Ours by the agent's.
    pub(super) by_agent: HashMap<String, String>,
    pub(super) asked: AskedTable,
    pub(super) asks: Asks,
    pub(super) wanted: Wanted,
    pub(super) unplaced: Unplaced,
    pub(super) now: Instant,
    /// The session that was used last.
    pub(super) latest: Option<String>,
    pub(super) routes: Routes,
    pub(super) log: Option<PathBuf>,
    pub(super) patience: Patience,
    /// Whether the last process ended without being told to.
    pub(super) fell: bool,
    trusted: bool,
    folder: Option<Cwd>,
    restarts: Vec<Reply<AgentRestartResult>>,
    deeds: VecDeque<Deed>,
    reports: VecDeque<EngineReport>,
}

impl Agent {
    pub(super) fn new(line: AgentLine, setup: &Setup, routes: Routes, now: Instant) -> Self {
        Self {
            line,
            generation: 0,
            phase: Phase::Down,
            hello: InitializeResult::default(),
            sessions: BTreeMap::new(),
            by_agent: HashMap::new(),
            asked: AskedTable::default(),
            asks: Asks::default(),
            wanted: Wanted::default(),
            unplaced: Unplaced::default(),
            now,
            latest: None,
            routes,
            log: setup.logs.clone(),
            patience: setup.patience,
            fell: false,
            trusted: false,
            folder: None,
            restarts: Vec::new(),
            deeds: VecDeque::new(),
            reports: VecDeque::new(),
        }
    }

    /// The next thing to do.
    pub(super) fn next_deed(&mut self) -> Option<Deed> {
        self.deeds.pop_front()
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

    pub(super) fn lay_down(&mut self, deed: Deed) {
        self.deeds.push_back(deed);
    }

    pub(super) fn write(&mut self, line: String) {
        self.deeds.push_back(Deed::Write(line));
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

    /// Sees to it that there is a process, or will be one.
    pub(super) fn ensure_process(&mut self) -> Result<(), WireError> {
        match self.phase {
            Phase::Starting | Phase::Ready => Ok(()),
            // A new one follows the old one for whoever waits then.
            Phase::Ending(_) | Phase::Down if !self.trusted => Err(self.not_trusted()),
            Phase::Ending(_) => Ok(()),
            Phase::Down => {
                self.start();
                Ok(())
            }
        }
    }

    fn not_trusted(&self) -> WireError {
        WireError::new(
            ErrorCode::UntrustedWorkspace,
            format!(
                "The agent `{}` is not started, because this workspace is not trusted; trust it first.",
                self.name()
            ),
        )
    }

    fn start(&mut self) {
        self.generation += 1;
        self.phase = Phase::Starting;
        self.tell_process();
        self.lay_down(Deed::Start);
    }

    /// Whether the process is not wanted any more.
    pub(super) fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Ending(_))
    }

    /// The process was started, or could not be.
    pub(super) fn started(&mut self, outcome: Result<(), WireError>) {
        match outcome {
            Ok(()) if self.is_ending() => {}
            Ok(()) => {
                let params = encode::initialize(self.offered(), SERVER_VERSION);
                self.ask("initialize", &params, Asked::Initialize, Some(self.patience.start));
            }
            Err(error) => self.gone(None, error, false),
        }
    }

    /// What this agent may ask of us.
    fn offered(&self) -> ClientCapabilities {
        ClientCapabilities {
            read_text_file: self.serves(Method::Read),
            write_text_file: self.serves(Method::Write),
            terminal: self.serves(Method::Create),
            elicitation_form: true,
            elicitation_url: true,
            notices: true,
            compaction: true,
            boolean_options: true,
        }
    }

    /// Sends a request. Without a time it may take for ever.
    pub(super) fn ask(&mut self, method: &str, params: &Value, asked: Asked, time: Option<Duration>) {
        let until = time.map(|time| self.now + time);
        let id = self.asked.add(asked, until);
        self.write(encode::request(&RpcId::number(id), method, params));
    }

    pub(super) fn initialized(&mut self, outcome: Result<Payload, AcpError>) {
        if self.phase != Phase::Starting {
            return;
        }
        let hello: InitializeResult = match outcome {
            Ok(result) => read(&result),
            Err(error) => {
                let why = format!(
                    "The agent `{}` refused to begin ({}); look into its log or try another agent.",
                    self.name(),
                    one_line(&error.message)
                );
                return self.refuse_process(why);
            }
        };
        if hello.protocol_version != Some(PROTOCOL_VERSION) {
            let version = hello
                .protocol_version
                .map_or("no version".to_owned(), |version| format!("version {version}"));
            let why = format!(
                "The agent `{}` speaks {version} of the Agent Client Protocol and breadboard-ls speaks version \
                 {PROTOCOL_VERSION}; install a release of it that speaks that.",
                self.name()
            );
            return self.refuse_process(why);
        }
        self.hello = hello;
        self.phase = Phase::Ready;
        self.tell_process();
        for reply in std::mem::take(&mut self.restarts) {
            reply.answer(AgentRestartResult { generation: self.generation });
        }
        let wanted: Vec<String> =
            self.sessions.iter().filter(|(_, session)| session.wanted).map(|(id, _)| id.clone()).collect();
        for session_id in wanted {
            self.open(&session_id);
        }
        self.end_if_idle();
    }

    /// The loop hears how the process stands.
    fn tell_process(&mut self) {
        let status = match self.phase {
            Phase::Starting => AgentStatus::Starting,
            Phase::Ready => AgentStatus::Running,
            Phase::Down if self.fell => AgentStatus::Exited,
            Phase::Down | Phase::Ending(_) => AgentStatus::Stopped,
        };
        let hello = (self.phase == Phase::Ready).then(|| {
            let who = self.hello.agent_info.clone();
            AgentHello {
                title: who.as_ref().map(|who| who.title.clone().unwrap_or_else(|| who.name.clone())),
                version: who.and_then(|who| who.version),
                auth_methods: self.hello.auth_methods.clone(),
                capabilities: self.hello.agent_capabilities.clone(),
            }
        });
        let (agent, generation) = (self.line.name.clone(), self.generation);
        let process = AgentProcess { generation, status, hello };
        self.report(EngineReport::Agent(AgentReport::Process { agent, process }));
    }

    fn refuse_process(&mut self, why: String) {
        let error = WireError::new(ErrorCode::EngineRejected, why);
        self.end_process(Why::Refused(error));
    }

    /// Ends the process; `exited` follows.
    pub(super) fn end_process(&mut self, why: Why) {
        if matches!(self.phase, Phase::Starting | Phase::Ready) {
            self.phase = Phase::Ending(why);
            self.tell_process();
            self.lay_down(Deed::End);
        }
    }

    /// Ends a process that nobody uses.
    pub(super) fn end_if_idle(&mut self) {
        let works = |id: &str| self.sessions.get(id).is_some_and(|session| session.turn.is_some());
        let used = self.sessions.values().any(Session::uses_the_process) || self.asked.any_wanted(works);
        if self.phase == Phase::Ready && !used && self.restarts.is_empty() {
            self.end_process(Why::Idle);
        }
    }

    /// Starts the agent anew.
    pub(super) fn restart(&mut self, reply: Reply<AgentRestartResult>) {
        if !self.trusted {
            return reply.refuse(self.not_trusted());
        }
        self.restarts.push(reply);
        match self.phase {
            Phase::Down => {
                for session in self.sessions.values_mut().filter(|session| session.fell) {
                    session.wanted = true;
                }
                self.start();
            }
            Phase::Starting | Phase::Ready => self.end_process(Why::Restart),
            Phase::Ending(_) => {}
        }
    }

    /// The process does not read what we write, or closed its output: it is of no more use.
    pub(super) fn broke(&mut self, what: &str) {
        let why = format!("The agent `{}` {what}; send the prompt again to start it anew.", self.name());
        self.end_process(Why::Refused(WireError::new(ErrorCode::AgentExited, why)));
    }

    /// The process ended, and everything that it said was heard.
    pub(super) fn exited(&mut self, note: &ExitNote) {
        let on_purpose = match &self.phase {
            Phase::Ending(why) => Some(why.clone()),
            Phase::Down | Phase::Starting | Phase::Ready => None,
        };
        let error = |text: String| WireError::new(ErrorCode::AgentExited, text);
        let name = self.name();
        let (error, expected) = match on_purpose {
            Some(Why::Refused(error)) => (error, false),
            Some(Why::Idle) => {
                (error(format!("The agent `{name}` was ended, since no session uses it.")), true)
            }
            Some(Why::Restart) => (error(format!("The agent `{name}` was ended to be started anew.")), true),
            None => {
                let how = match (note.code, note.signal) {
                    (_, Some(signal)) => format!("was ended by signal {signal}"),
                    (Some(code), None) => format!("ended with exit code {code}"),
                    (None, None) => "ended".to_owned(),
                };
                let words = last_words(&note.stderr_tail);
                let words = words.map(|words| format!(" (its last words: {words})")).unwrap_or_default();
                (error(format!("The agent `{name}` {how}{words}; send a prompt to start it anew.")), false)
            }
        };
        self.gone(note.code, error, expected);
    }

    /// There is no process any more: everything that waits for it hears of it.
    fn gone(&mut self, code: Option<i32>, error: WireError, expected: bool) {
        let ending = std::mem::replace(&mut self.phase, Phase::Down);
        let restarting =
            matches!(ending, Phase::Ending(Why::Restart)) || (expected && !self.restarts.is_empty());
        self.hello = InitializeResult::default();
        self.fell = !expected;
        self.tell_process();
        self.lose_work();
        self.by_agent.clear();
        self.asks.clear();
        self.unplaced.clear();
        for asked in self.asked.take_all() {
            asked.refuse(&error);
        }
        let mut sessions = Vec::new();
        let mut unmade = Vec::new();
        let mut waited = Vec::new();
        for (session_id, session) in &mut self.sessions {
            // Begun while the old process was ending: it is for the next one.
            let for_the_next = session.for_the_next;
            let used = !session.unwanted && (session.was_there() || session.wanted);
            if (used || session.turn.is_some()) && !for_the_next {
                sessions.push(session_id.clone());
            }
            let open = session.state == State::Open;
            waited.extend(session.left(&error, restarting && open && !session.unwanted));
            // What fell with the process comes back with the next one, when the user asks for it.
            session.fell = open && !session.unwanted;
            if session.at_agent.is_none() && !session.uses_the_process() {
                unmade.push(session_id.clone());
            }
        }
        for session_id in unmade {
            self.drop_session(&session_id);
        }
        self.report(EngineReport::Agent(AgentReport::Exited {
            agent: self.line.name.clone(),
            generation: self.generation,
            code,
            sessions,
            message: error.message.clone(),
            expected,
        }));
        for (wish, reply) in waited {
            // To the loop, not to the reply alone: a tab hears of it by what the loop makes of it.
            self.report(EngineReport::SessionMade { wish, outcome: Err(error.clone()), reply });
        }
        if !restarting {
            for reply in std::mem::take(&mut self.restarts) {
                reply.refuse(error.clone());
            }
        }
        let waiting = self.sessions.values().any(|session| session.wanted);
        if restarting || waiting {
            self.start_for_those_who_wait();
        }
    }

    fn start_for_those_who_wait(&mut self) {
        if let Err(error) = self.ensure_process() {
            for reply in std::mem::take(&mut self.restarts) {
                reply.refuse(error.clone());
            }
            let waiting: Vec<String> = self
                .sessions
                .iter()
                .filter(|(_, session)| session.wanted)
                .map(|(id, _)| id.clone())
                .collect();
            for session_id in waiting {
                self.not_open(&session_id, &error);
            }
        }
    }

    /// When something has to be looked at next, without any event.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let turns = self.sessions.iter().filter_map(|(id, session)| self.turn_deadline(id, session));
        turns.chain(self.asked.deadline()).min()
    }

    /// Time has passed.
    pub(super) fn passed(&mut self) {
        for (id, asked) in self.asked.take_late(self.now) {
            tracing::warn!(agent = self.name(), id, "an agent did not answer in time");
            self.too_late(asked);
        }
        self.look_at_turns();
    }

    fn too_late(&mut self, asked: Asked) {
        if matches!(asked, Asked::Initialize) {
            let why = format!(
                "The agent `{}` did not say hello within {} seconds; check its command line.",
                self.name(),
                self.patience.start.as_secs()
            );
            return self.refuse_process(why);
        }
        let error = AcpError {
            code: AcpError::INTERNAL,
            message: "it did not answer in time".to_owned(),
            data: None,
            whole: Payload::default(),
        };
        self.settle(asked, Err(error));
    }

    /// Attachments were read.
    pub(super) fn attachments_read(&mut self, session_id: &str, turn: u64, attachments: &[PromptAttachment]) {
        self.send_prompt(session_id, turn, attachments);
    }
}

/// Text of an agent inside a sentence of ours.
pub(super) fn one_line(text: &str) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let flat: String = flat.chars().filter(|c| !c.is_control()).collect();
    let short: String = flat.chars().take(LAST_WORDS).collect();
    let cut = short.len() < flat.len();
    format!("{}{}", short.trim_end_matches('.'), if cut { "…" } else { "" })
}

/// The last line of stderr that says something, without the codes that colour it.
fn last_words(stderr: &str) -> Option<String> {
    let mut plain = String::with_capacity(stderr.len());
    let mut letters = stderr.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            // A sequence ends with a letter.
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(letter);
        }
    }
    let last = plain.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(one_line(last))
}
