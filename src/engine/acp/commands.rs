//! `bb/command` for a session of an agent: its mode, its options, its model, and the login.
//!
//! Owns the names and how each becomes a request. Never decides whether a command may be given: the loop judged trust.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::agent::Agent;
use super::command::Command;
use super::models::model_option;
use super::modes::ModeChange;
use super::own_request::OwnRequest;
use super::sentence::one_line;
use super::session::Session;
use super::turn::Turn;
use crate::app::inbox::Reply;
use crate::app::ports::CommandDone;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::acp::decode::AcpError;
use crate::domain::dialect::acp::encode::{self, ConfigValue};
use crate::domain::dialect::acp::results::read;
use crate::domain::dialect::acp::state::AgentChange;
use crate::domain::payload::Payload;
use crate::protocol::request::{CommandResult, ModelsResult};

/// How long a change may take.
const CHANGE: Duration = Duration::from_secs(60);

/// How long a login may take: the user may be in a browser.
const LOGIN: Duration = Duration::from_secs(600);

/// Commands of one session that wait until it is open. A person sends a few; one more is refused.
const WAITING: usize = 32;

impl Agent {
    /// A command of the user.
    pub(super) fn command(
        &mut self,
        session_id: &str,
        name: &str,
        args: &Map<String, Value>,
        reply: Reply<CommandResult>,
    ) {
        let command = match Command::read(name, args) {
            Ok(command) => command,
            Err(error) => return reply.refuse(error),
        };
        if self.is_open(session_id) || (self.process.is_ready() && command.is_for_the_agent()) {
            return self.send_command(session_id, command, reply);
        }
        let Some(session) = self.sessions.get_mut(session_id) else {
            return reply.refuse(CodedError::new(
                ErrorCode::Conflict,
                "This session is not open at its agent; send it a prompt first.",
            ));
        };
        if session.commands.len() >= WAITING {
            return reply.refuse(CodedError::new(
                ErrorCode::Overloaded,
                "Too many commands wait for this session to open; wait for an answer and try again.",
            ));
        }
        session.commands.push((command, reply));
        self.want(session_id);
    }

    /// Sends it to the agent, which is ready; its session is open, where it is for one.
    pub(super) fn send_command(&mut self, session_id: &str, command: Command, reply: Reply<CommandResult>) {
        if let Err(error) = self.mode_is_asked_for(session_id, &command) {
            return reply.refuse(error);
        }
        let session = self.sessions.get(session_id);
        let at_agent = session.and_then(|session| session.at_agent.clone()).unwrap_or_default();
        let (method, params, time) = match &command {
            Command::Mode(mode) => {
                let (method, params) = self.mode_change(session_id, mode).request(&at_agent);
                (method, params, CHANGE)
            }
            Command::Option(option, value) => {
                ("session/set_config_option", encode::set_config_option(&at_agent, option, value), CHANGE)
            }
            Command::Model(model) => {
                let Some(option) = session.and_then(|session| model_option(&session.facts)) else {
                    return reply.refuse(CodedError::new(
                        ErrorCode::Unsupported,
                        format!(
                            "The agent `{}` has no option for the model; choose it in the agent's own settings.",
                            self.name()
                        ),
                    ));
                };
                let value = ConfigValue::Choice(model.clone());
                (
                    "session/set_config_option",
                    encode::set_config_option(&at_agent, &option.id, &value),
                    CHANGE,
                )
            }
            Command::Authenticate(method) => ("authenticate", encode::authenticate(method), LOGIN),
            Command::Logout => ("logout", json!({}), CHANGE),
        };
        let asked = OwnRequest::Command { session_id: session_id.to_owned(), command, reply };
        self.ask(method, &params, asked, Some(time));
    }

    /// How the agent is asked for a mode: by its option, where it has one for that.
    fn mode_change(&self, session_id: &str, mode: &str) -> ModeChange {
        let modes = self.sessions.get(session_id).and_then(Session::mode);
        modes.map_or_else(|| ModeChange::listed(mode), |modes| modes.change_to(mode))
    }

    /// Keeps the mode that the user asks for, so that its coming is no news.
    ///
    /// # Errors
    /// The agent tells its modes, and there is no such mode among them.
    fn mode_is_asked_for(&mut self, session_id: &str, command: &Command) -> Result<(), CodedError> {
        let name = self.line.name.clone();
        let Some(session) = self.sessions.get_mut(session_id) else { return Ok(()) };
        match (command, session.mode()) {
            (Command::Mode(mode), Some(modes)) if !modes.offers(mode) => Err(CodedError::new(
                ErrorCode::InvalidParams,
                format!(
                    "The agent `{name}` has no mode `{}`; choose one of {}.",
                    one_line(mode),
                    modes.ids()
                ),
            )),
            (Command::Mode(mode), _) => {
                session.mode_asked = Some(mode.clone());
                Ok(())
            }
            (Command::Option(option, ConfigValue::Choice(mode)), Some(modes))
                if modes.is_chosen_by(option) =>
            {
                session.mode_asked = Some(mode.clone());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether this command is the user's choice of a mode.
    fn chooses_mode(&self, session_id: &str, command: &Command) -> bool {
        let modes = || self.sessions.get(session_id).and_then(Session::mode);
        match command {
            Command::Mode(_) => true,
            Command::Option(option, _) => modes().is_some_and(|modes| modes.is_chosen_by(option)),
            Command::Model(_) | Command::Authenticate(_) | Command::Logout => false,
        }
    }

    /// The agent answered it.
    pub(super) fn command_answered(
        &mut self,
        session_id: &str,
        command: Command,
        outcome: Result<Payload, AcpError>,
        reply: Reply<CommandResult>,
    ) {
        let result = match outcome {
            Ok(result) => result,
            Err(error) => {
                let for_a_mode = matches!(command, Command::Mode(_) | Command::Option(..));
                if let Some(session) = self.sessions.get_mut(session_id).filter(|_| for_a_mode) {
                    session.mode_asked = session.mode().map(|modes| modes.current);
                }
                let refusal = self.refused(&error);
                reply.refuse(refusal);
                return self.end_if_idle();
            }
        };
        if self.chooses_mode(session_id, &command) {
            self.mode_is_chosen(session_id);
        }
        let change = match command {
            Command::Mode(mode) => Some(self.mode_change(session_id, &mode).taken(&result)),
            Command::Option(..) | Command::Model(_) => Some(AgentChange::OptionsSet(read(&result))),
            Command::Authenticate(_) | Command::Logout => None,
        };
        let detail = Some(Value::Object(result.into())).filter(|detail| *detail != json!({}));
        let result =
            CommandResult { session_id: session_id.to_owned(), status: "accepted".to_owned(), detail };
        match change {
            // Who has the answer finds the change in `bb/session/info`.
            Some(change) => {
                self.changed(session_id, change, Some(Box::new(CommandDone { result, reply })));
            }
            None => reply.answer(result),
        }
        self.end_if_idle();
    }

    /// The agent's refusal of something that the user asked for.
    fn refused(&self, error: &AcpError) -> CodedError {
        let said = one_line(&error.message);
        let name = self.name();
        match error.code {
            AcpError::AUTH_REQUIRED => self.login(error),
            AcpError::METHOD_NOT_FOUND => CodedError::new(
                ErrorCode::Unsupported,
                format!("The agent `{name}` cannot do this ({said}); do it in the agent's own settings."),
            ),
            AcpError::INVALID_PARAMS => CodedError::new(
                ErrorCode::InvalidParams,
                format!("The agent `{name}` does not take this ({said}); choose something that it offers."),
            ),
            _ => CodedError::new(
                ErrorCode::EngineRejected,
                format!("The agent `{name}` refused this ({said}); try again, or look into its log."),
            ),
        }
    }

    /// Before a prompt: the model that the loop named for it, where the agent has it and the user chose no other since.
    pub(super) fn follow_model(&mut self, session_id: &str) {
        let Some(session) = self.sessions.get(session_id) else { return };
        let Some(model) = session.turn.as_ref().and_then(Turn::model).map(str::to_owned) else { return };
        let chosen = session.model.as_ref() == Some(&model);
        let offered = model_option(&session.facts).is_some_and(|option| option.offers(&model));
        if !chosen && offered {
            self.set_model_quietly(session_id, &model);
        }
    }

    /// Sets a model that was asked for together with something else.
    pub(super) fn set_model_quietly(&mut self, session_id: &str, model: &str) {
        let name = self.line.name.clone();
        let Some(session) = self.sessions.get_mut(session_id) else { return };
        session.model = Some(model.to_owned());
        let option = model_option(&session.facts);
        let (Some(option), Some(at_agent)) = (option, session.at_agent.clone()) else {
            let text = format!("The agent `{name}` has no option for the model, so `{model}` was not set.");
            return self.notice(session_id, "warning", text);
        };
        if option.current == model {
            return;
        }
        if !option.offers(model) {
            let text = format!(
                "The agent `{name}` has no model `{model}`, so it goes on with `{}`.",
                option.current
            );
            return self.notice(session_id, "warning", text);
        }
        let params = encode::set_config_option(&at_agent, &option.id, &ConfigValue::Choice(model.to_owned()));
        let asked = OwnRequest::Model { session_id: session_id.to_owned(), model: model.to_owned() };
        self.ask("session/set_config_option", &params, asked, Some(CHANGE));
    }

    /// The agent took that model, or did not.
    pub(super) fn model_answered(
        &mut self,
        session_id: &str,
        model: &str,
        outcome: Result<Payload, AcpError>,
    ) {
        match outcome {
            Ok(result) => self.changed(session_id, AgentChange::OptionsSet(read(&result)), None),
            Err(error) => {
                let said = one_line(&error.message);
                let text = format!("The agent `{}` did not take the model `{model}` ({said}).", self.name());
                self.notice(session_id, "warning", text);
            }
        }
        self.end_if_idle();
    }

    /// The models of the session that was used last.
    pub(super) fn models(&self) -> Result<ModelsResult, CodedError> {
        let option = self.sessions.latest().and_then(|session| model_option(&session.facts));
        let models = option.map(|option| ModelsResult {
            current: Some(option.current).filter(|current| !current.is_empty()),
            models: option.models,
        });
        models.ok_or_else(|| {
            CodedError::new(
                ErrorCode::Unsupported,
                format!(
                    "The agent `{}` names no models; create a session with it first, or choose in its own settings.",
                    self.name()
                ),
            )
        })
    }
}
