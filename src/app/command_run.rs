//! A command of an engine that this server has run: in the editor's terminal or by a process of ours.
//!
//! Owns the choice between the two, which is the user's, and what is told of a command while it runs. It was allowed before.

use serde_json::{Map, Value};

use super::editor_asks::PendingAsk;
use super::ports::{CommandCall, CommandRan, EngineCall, FileJob, HeldCommand};
use super::sessions::Session;
use super::state::App;
use crate::domain::background::Background;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::protocol::request::{CommandParams, CommandResult};
use crate::protocol::standing::CommandRunner;
use crate::protocol::terminal::TerminalRunParams;

/// Bytes kept of each output of a command that the editor ran: as much as of one that we run. A compiler's first error and its
/// summary fit; the middle of more is left out, and said.
const OUTPUT_KEPT: usize = 128 * 1_024;

/// Characters of an editor's reason in a sentence.
const REASON: usize = 300;

impl App {
    /// As the user set it: the terminal of the client that prompted, else of the first that has one, else a process of ours; or
    /// always a process of ours.
    ///
    /// One in the background is a process of ours in any case: of a terminal of an editor nobody hears before its end.
    pub(super) fn run_command(&mut self, session_id: &str, held: HeldCommand) {
        let HeldCommand { command, cwd, call_id, background, reply } = held;
        let bounds = self.settings.commands.clone();
        let terminal = self.able(session_id, |client| client.abilities.terminal_run);
        let in_terminal = bounds.runner == CommandRunner::LocalTerminal && background.is_none();
        if let (Some(Background::Kept), Some(call_id)) = (background.as_ref().map(|run| run.lasts), &call_id)
        {
            self.keeps_command(session_id, call_id);
        }
        match terminal.filter(|_| in_terminal) {
            Some(client) => {
                let params = TerminalRunParams { command, args: Vec::new(), cwd };
                self.ask_client(client, &params, PendingAsk::TerminalRan { reply });
            }
            None => {
                let buffers = self.buffers_of_turn(session_id);
                let call = call_id.map(|call_id| CommandCall { session_id: session_id.to_owned(), call_id });
                self.files.submit(FileJob::Run { command, cwd, call, background, bounds, reply }, buffers);
            }
        }
    }

    /// A command goes on after its turn: until its end the session is this window's, and what comes after this process knows that
    /// there was one.
    fn keeps_command(&mut self, session_id: &str, call_id: &str) {
        if let Ok(record) = self.record_mut(session_id) {
            record.kept_commands.push(call_id.to_owned());
        }
    }

    /// A command in the background is over.
    pub(super) fn background_over(&mut self, session_id: &str, call_id: &str) {
        let keeps = |session: &Session| session.record.kept_commands.iter().any(|kept| kept == call_id);
        if self.known(session_id).is_ok_and(keeps)
            && let Ok(record) = self.record_mut(session_id)
        {
            record.kept_commands.retain(|kept| kept != call_id);
            self.flush(session_id);
        }
    }

    /// Commands of a window that is gone are gone with it, which the chat says. Called when the lease of a session became ours.
    pub(super) fn kept_commands_lost(&mut self, session_id: &str) {
        let keeps = |session: &Session| !session.record.kept_commands.is_empty();
        if !self.known(session_id).is_ok_and(keeps) || self.load(session_id).is_err() {
            return;
        }
        let kept = self.record_mut(session_id).map(|record| std::mem::take(&mut record.kept_commands));
        for call_id in kept.unwrap_or_default() {
            let mut payload = Map::new();
            payload.insert("callId".to_owned(), Value::from(call_id));
            payload.insert("stream".to_owned(), Value::from("stderr"));
            payload.insert("text".to_owned(), Value::from("It ended with the window that ran it."));
            payload.insert("lost".to_owned(), Value::from(true));
            let now = self.ambient.now_ms();
            self.record_event(
                session_id,
                NormalizedEvent::local(LocalKind::CommandOutput, None, now, payload),
            );
        }
        self.flush(session_id);
    }

    /// `bb/command` `stop_command`: the user stops a command that runs in the background.
    pub(super) fn stop_background(&mut self, params: CommandParams) -> Result<CommandResult, CodedError> {
        let CommandParams { session_id, args, .. } = params;
        let call_id = args.as_ref().and_then(|args| args.get("toolCallId")).and_then(Value::as_str);
        let Some(call_id) = call_id.map(str::to_owned) else {
            return Err(CodedError::new(
                ErrorCode::InvalidParams,
                "It is not said which command is to be stopped; name the `toolCallId` of its block.",
            ));
        };
        self.load(&session_id)?;
        self.call_engine(&session_id, EngineCall::StopCommand { session_id: session_id.clone(), call_id });
        Ok(CommandResult { session_id, status: "accepted".to_owned(), detail: None })
    }

    /// Stops what goes on after its turn in a session. Whether there was any.
    pub(super) fn stop_kept_commands(&mut self, session_id: &str) -> bool {
        let kept = self.known(session_id).map(|session| session.record.kept_commands.clone());
        let kept = kept.unwrap_or_default();
        for call_id in &kept {
            let (session_id, call_id) = (session_id.to_owned(), call_id.clone());
            self.call_engine(&session_id.clone(), EngineCall::StopCommand { session_id, call_id });
        }
        !kept.is_empty()
    }

    /// A command printed something and goes on.
    pub(super) fn command_printed(&mut self, call: &CommandCall, text: String, is_error: bool) {
        let session_id = &call.session_id;
        if !self.may_record(session_id) || self.load(session_id).is_err() {
            return;
        }
        let mut payload = Map::new();
        payload.insert("callId".to_owned(), Value::from(call.call_id.as_str()));
        payload.insert("stream".to_owned(), Value::from(if is_error { "stderr" } else { "stdout" }));
        payload.insert("text".to_owned(), Value::from(text));
        let now = self.ambient.now_ms();
        let turn = self.known(session_id).ok().and_then(|session| session.record.turn.open());
        self.record_event(session_id, NormalizedEvent::local(LocalKind::CommandOutput, turn, now, payload));
    }
}

/// What `bb/terminal/run` came to. An answer that is not what the protocol says is no result: nothing is guessed from it.
pub(super) fn terminal_ran(outcome: Result<Value, Value>) -> Result<CommandRan, CodedError> {
    let unusable = |why: &str| {
        CodedError::new(
            ErrorCode::EngineRejected,
            format!(
                "The editor gave an unusable answer about the command ({why}), so it is not known how it ended; look at the \
                 editor's terminal."
            ),
        )
    };
    let answer = outcome.map_err(|error| {
        let why = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
        let why: String = why.chars().take(REASON).collect();
        CodedError::new(
            ErrorCode::EngineRejected,
            format!("The editor's terminal did not run the command: {why}."),
        )
    })?;
    let Value::Object(answer) = answer else { return Err(unusable("it is no object")) };
    let exit_code = answer
        .get("exitCode")
        .and_then(Value::as_i64)
        .and_then(|code| i32::try_from(code).ok())
        .ok_or_else(|| unusable("its exit code is missing or no whole number"))?;
    let output = |name: &str| match answer.get(name) {
        Some(Value::String(text)) => Ok(shortened(text)),
        None => Err(unusable("an output is missing")),
        Some(_) => Err(unusable("an output is no text")),
    };
    let (stdout, stderr) = (output("stdout")?, output("stderr")?);
    let duration_ms = answer
        .get("durationMs")
        .and_then(Value::as_f64)
        .filter(|duration| *duration >= 0.0)
        .ok_or_else(|| unusable("its duration is missing or no number"))?;
    // A fraction of a millisecond tells nobody anything; what is longer than an integer holds becomes the largest one.
    let duration_ms = duration_ms as u64;
    let timed_out = answer.get("timedOut").and_then(Value::as_bool) == Some(true);
    Ok(CommandRan { exit_code, stdout, stderr, duration_ms, timed_out })
}

/// The first and the last part of a long output.
fn shortened(text: &str) -> String {
    if text.len() <= OUTPUT_KEPT {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(OUTPUT_KEPT / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - OUTPUT_KEPT / 2)..];
    format!("{head}\n[… {} bytes left out …]\n{tail}", text.len() - head.len() - tail.len())
}
