//! A command of an engine that this server has run: in the editor's terminal or by a process of ours.
//!
//! Owns the choice between the two, which is the user's, and what is told of a command while it runs. It was allowed before.

use serde_json::{Map, Value, json};

use super::editor_asks::PendingAsk;
use super::inbox::Reply;
use super::ports::{CommandCall, CommandRan, FileJob};
use super::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::event::{LocalKind, NormalizedEvent};
use crate::protocol::standing::CommandRunner;
use crate::protocol::terminal::{TERMINAL_RUN, TerminalRunParams};

/// Bytes kept of each output of a command that the editor ran: as much as of one that we run. A compiler's first error and its
/// summary fit; the middle of more is left out, and said.
const OUTPUT_KEPT: usize = 128 * 1_024;

/// Characters of an editor's reason in a sentence.
const REASON: usize = 300;

impl App {
    /// As the user set it: the terminal of the client that prompted, else of the first that has one, else a process of ours; or
    /// always a process of ours.
    pub(super) fn run_command(
        &mut self,
        session_id: &str,
        (command, cwd): (String, String),
        call_id: Option<String>,
        reply: Reply<CommandRan>,
    ) {
        let bounds = self.settings.commands.clone();
        let terminal = self.able(session_id, |client| client.abilities.terminal_run);
        match terminal.filter(|_| bounds.runner == CommandRunner::LocalTerminal) {
            Some(client) => {
                let params = json!(TerminalRunParams { command, args: Vec::new(), cwd });
                self.ask_editor(client, TERMINAL_RUN, &params, PendingAsk::TerminalRan { reply });
            }
            None => {
                let buffers = self.buffers_of_turn(session_id);
                let call = call_id.map(|call_id| CommandCall { session_id: session_id.to_owned(), call_id });
                self.files.submit(FileJob::Run { command, cwd, call, bounds, reply }, buffers);
            }
        }
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
