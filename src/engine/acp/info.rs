//! How a session stands at its agent, for who asks: models and `bb/session/info`.
//!
//! Owns the answers. What is known is folded by `domain::dialect::acp::state`; events say the same to whoever reads along.

use super::agent::{Agent, Phase};
use super::commands::ModelOption;
use crate::app::inbox::Reply;
use crate::domain::dialect::acp::results::ConfigChoice;
use crate::domain::dialect::acp::state::AgentState;
use crate::protocol::agent::{AgentInfo, AgentStatus, SessionInfoResult};
use crate::protocol::request::ModelEntry;

/// The option of a session that chooses the model, where its agent has one.
pub(super) fn model_option(state: &AgentState) -> Option<ModelOption> {
    let options = state.config_options.as_ref()?;
    let option = options.iter().find(|option| option.category.as_deref() == Some("model"))?;
    let entry = |choice: &ConfigChoice| ModelEntry {
        id: choice.value.clone(),
        name: if choice.name.is_empty() { choice.value.clone() } else { choice.name.clone() },
        provider: choice.group.clone(),
    };
    Some(ModelOption {
        id: option.id.clone(),
        current: option.current_value.as_str().unwrap_or_default().to_owned(),
        models: option.options.iter().map(entry).collect(),
    })
}

impl Agent {
    /// `bb/session/info`. Nothing is started for it.
    pub(super) fn info(&self, session_id: &str, reply: Reply<SessionInfoResult>) {
        let status = match self.phase {
            Phase::Starting => AgentStatus::Starting,
            Phase::Ready => AgentStatus::Running,
            Phase::Ending(_) => AgentStatus::Stopped,
            Phase::Down if self.fell => AgentStatus::Exited,
            Phase::Down => AgentStatus::Stopped,
        };
        let who = self.hello.agent_info.clone();
        let agent = AgentInfo {
            name: self.name().to_owned(),
            title: who.as_ref().map(|who| who.title.clone().unwrap_or_else(|| who.name.clone())),
            version: who.and_then(|who| who.version),
            generation: self.generation,
            status,
            auth_methods: self.hello.auth_methods.clone(),
        };
        let capabilities = (self.phase == Phase::Ready).then(|| self.hello.agent_capabilities.clone());
        let state = self.sessions.get(session_id).map(|session| session.facts.clone()).unwrap_or_default();
        reply.answer(SessionInfoResult::of(agent, capabilities, state));
    }
}
