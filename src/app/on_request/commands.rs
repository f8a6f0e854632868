//! `bb/command`: the engine's own commands, with the trust that each needs, and what the transcript says of them.

use serde_json::{Map, Value};

use crate::app::client::ClientId;
use crate::app::inbox::Reply;
use crate::app::ports::{AgentCall, EngineCall};
use crate::app::state::App;
use crate::domain::agent_mode::AgentMode;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::command::{CommandNeed, need_of};
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::protocol::request::*;
use crate::protocol::settings::EngineKind;

impl App {
    pub(in crate::app) fn command(
        &mut self,
        client: ClientId,
        params: CommandParams,
        reply: Reply<CommandResult>,
    ) {
        if params.command == "set_mode" && self.is_our_agents(&params.session_id) {
            return reply.settle(self.set_mode(params));
        }
        if params.command == "stop_command" && self.is_our_agents(&params.session_id) {
            return reply.settle(self.stop_background(params));
        }
        match self.checked_command(client, &params) {
            Ok(CommandNeed::Stop) => {
                let stopped = self.stop(&params.session_id);
                reply.settle(stopped.map(|stopped| CommandResult {
                    session_id: params.session_id,
                    status: "accepted".to_owned(),
                    detail: Some(serde_json::json!({ "stopping": stopped.stopping })),
                }));
            }
            Ok(CommandNeed::Nothing | CommandNeed::Trust | CommandNeed::Approval) => {
                let CommandParams { session_id, command, args } = params;
                let args = args.unwrap_or_default();
                if let (Some(session), Ok(engine)) =
                    (self.agent_session(&session_id), self.engine_of(&session_id))
                {
                    // An agent opens it first, where its process does not have it.
                    engine.call(EngineCall::Agent(AgentCall::Remember(session)));
                }
                let call = EngineCall::Command { session_id: session_id.clone(), command, args, reply };
                self.call_engine(&session_id, call);
            }
            Err(error) => reply.refuse(error),
        }
    }

    fn is_our_agents(&self, session_id: &str) -> bool {
        self.known(session_id).is_ok_and(|session| {
            session.record.engine == EngineKind::Embedded && session.record.held.is_none()
        })
    }

    /// From the next turn on a session of our own agent is in another mode. That needs no trust: none allows more than is asked.
    fn set_mode(&mut self, params: CommandParams) -> Result<CommandResult, CodedError> {
        let CommandParams { session_id, args, .. } = params;
        let id =
            args.as_ref().and_then(|args| args.get("modeId")).and_then(Value::as_str).unwrap_or_default();
        let Some(mode) = AgentMode::named(id) else {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                "This session has no such mode; choose `ask`, `plan` or `agent`.",
            ));
        };
        self.load(&session_id)?;
        self.hold(&session_id)?;
        self.record_mut(&session_id)?.mode = mode;
        self.flush(&session_id);
        Ok(CommandResult { session_id, status: "accepted".to_owned(), detail: None })
    }

    /// The engine took a command, or refused it. One that changes or runs something stands in the transcript.
    pub(in crate::app) fn commanded(
        &mut self,
        session_id: &str,
        command: &str,
        outcome: Result<CommandResult, CodedError>,
        reply: Reply<CommandResult>,
    ) {
        let name = command.split_whitespace().next().unwrap_or_default();
        if let Ok(result) = &outcome
            && need_of(name) == CommandNeed::Trust
            && self.may_record(session_id)
            && self.load(session_id).is_ok()
        {
            let payload = Map::from_iter([
                ("command".to_owned(), Value::from(command)),
                ("status".to_owned(), Value::from(result.status.as_str())),
            ]);
            let now = self.ambient.now_ms();
            let turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
            self.record_event(session_id, NormalizedEvent::local(LocalKind::Command, turn, now, payload));
            self.flush(session_id);
        }
        reply.settle(outcome);
    }

    fn checked_command(
        &mut self,
        client: ClientId,
        params: &CommandParams,
    ) -> Result<CommandNeed, CodedError> {
        self.load(&params.session_id)?;
        if self.known(&params.session_id)?.record.held.is_some() {
            self.goes_on(&params.session_id)?;
        }
        if params.command.trim().is_empty() {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                "The command is blank; name one of the engine's commands.",
            ));
        }
        let need = need_of(&params.command);
        match need {
            CommandNeed::Trust if !self.clients.trusts(client) => Err(CodedError::new(
                ErrorCode::UntrustedWorkspace,
                "This workspace is not trusted, so a command that changes or runs something is refused; trust it first.",
            )),
            CommandNeed::Approval => Err(CodedError::new(
                ErrorCode::InvalidParams,
                "A request for permission is answered where it is shown, and not by a command; answer it there.",
            )),
            CommandNeed::Nothing | CommandNeed::Stop | CommandNeed::Trust => Ok(need),
        }
    }
}
