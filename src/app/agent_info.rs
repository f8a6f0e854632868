//! `bb/session/info`: what the agent of a session is and offers.
//!
//! Of a session of our own engine it tells the prompts of tool servers. Owns the fold of what agents tell of themselves: their events, which are in the journal, and their answers, which are kept in
//! the session's record with them. So the answer is whole after a restart and in another window. Never asks an agent.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ports::AgentProcess;
use super::record::{AgentSnapshot, Record};
use super::state::App;
use crate::domain::coded_error::CodedError;
use crate::domain::dialect::Dialect;
use crate::domain::dialect::acp::state::{AgentChange, AgentCommand, is_standing};
use crate::domain::event::SessionEvent;
use crate::domain::policy::redact::Redactor;
use crate::protocol::agent::{AgentInfo, SessionInfoResult};
use crate::protocol::settings::EngineKind;

impl App {
    /// `bb/session/info`; of a session of another engine there is nothing to tell.
    pub(super) fn session_info(&mut self, session_id: &str) -> Result<SessionInfoResult, CodedError> {
        self.read_news();
        let record = &self.known(session_id)?.record;
        let Some((held, name)) = record.held.as_ref().and_then(|held| Some((held, held.agent.clone()?)))
        else {
            // Our own agent has modes as others have.
            let modes = (record.engine == EngineKind::Embedded).then(|| record.mode.modes());
            let commands = self.served_commands(session_id);
            return Ok(SessionInfoResult { modes, commands, ..SessionInfoResult::default() });
        };
        let AgentSnapshot { state, process: kept } = held.snapshot.as_deref().cloned().unwrap_or_default();
        // Another window has the process; one of a window that is gone is gone with it.
        let elsewhere = self.leases.elsewhere.contains(session_id) && !self.leases.ours.contains(session_id);
        let here = || self.engines.processes.get(&name).cloned().unwrap_or_default();
        let process = if elsewhere { kept.clone() } else { here() };
        let known = process.hello.or(kept.hello);
        let capabilities = known.as_ref().map(|hello| hello.capabilities.clone());
        let hello = known.unwrap_or_default();
        let agent = AgentInfo {
            name,
            title: hello.title,
            version: hello.version,
            generation: process.generation,
            status: process.status,
            auth_methods: hello.auth_methods,
        };
        Ok(SessionInfoResult::of(agent, capabilities, state))
    }

    /// Prompts of tool servers, as commands of a session of our own engine.
    pub(super) fn served_commands(&self, session_id: &str) -> Option<Vec<AgentCommand>> {
        let servers = self.mcp.as_ref()?.standing(Some(session_id));
        let commands: Vec<AgentCommand> = servers.into_iter().flat_map(|server| server.commands).collect();
        (!commands.is_empty()).then_some(commands)
    }

    /// The process of an agent began, greeted or ended.
    pub(super) fn agent_process(&mut self, agent: String, process: AgentProcess) {
        let process = without_secrets(&self.redactor, process);
        self.engines.processes.insert(agent, process);
    }

    /// An answer of an agent says how a session stands there.
    pub(super) fn agent_changed(&mut self, session_id: &str, change: AgentChange) {
        if !self.may_record(session_id) || self.load(session_id).is_err() {
            return;
        }
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let Some(held) = session.record.held.as_mut() else { return };
        let snapshot = held.snapshot.get_or_insert_default();
        snapshot.state.apply(change);
        snapshot.state = without_secrets(&self.redactor, std::mem::take(&mut snapshot.state));
        self.keep_process(session_id);
    }

    /// The process that a session is or was open at stands in its record, for whoever reads it.
    pub(super) fn keep_process(&mut self, session_id: &str) {
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        let Some(held) = session.record.held.as_mut() else { return };
        let process = held.agent.as_ref().and_then(|name| self.engines.processes.get(name));
        if let Some(process) = process {
            let kept = &mut held.snapshot.get_or_insert_default().process;
            // What it said of itself holds until it says something else.
            let hello = process.hello.clone().or_else(|| kept.hello.take());
            *kept = AgentProcess { hello, ..process.clone() };
        }
        if let Some(live) = session.live.as_deref_mut() {
            live.pending.record_changed = true;
        }
    }
}

/// Folds an event into the record of its session, in the same commit. Whether the record has to be written for it: counts are
/// written with whatever is written next.
pub(super) fn fold(record: &mut Record, dialect: Dialect, event: &SessionEvent) -> bool {
    if dialect != Dialect::Acp {
        return false;
    }
    let Some(held) = record.held.as_mut() else { return false };
    if !is_standing(&event.kind) {
        return false;
    }
    let snapshot = held.snapshot.get_or_insert_default();
    let usage = snapshot.state.usage.clone();
    snapshot.state.hear(&event.kind, &event.payload) && snapshot.state.usage == usage
}

/// Answers come as the agent wrote them; events were cleaned when they were recorded.
fn without_secrets<T: Serialize + DeserializeOwned + Default>(redactor: &Redactor, told: T) -> T {
    let text = serde_json::to_vec(&told).unwrap_or_default();
    match redactor.scrub(&text) {
        Cow::Borrowed(_) => told,
        // What cannot be read any more held one in a place where none belongs.
        Cow::Owned(clean) => serde_json::from_slice(&clean).unwrap_or_default(),
    }
}
