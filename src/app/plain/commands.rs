//! The commands that such an editor can run, and what they mean.
//!
//! Owns the words of a prompt about a place in a file. Nothing here runs but by the user's command.

use serde_json::Value;

use super::approvals::{not_shown, titles};
use super::open::OnceOpen;
use crate::app::client::ClientId;
use crate::app::inbox::Reply;
use crate::app::inbox::commands::{
    ANSWER, ASK, CHAT, COMMENT, DECIDE, EXPLAIN, FIX, MAKE, SEND, SHOW, STOP, TEST, UNDO,
};
use crate::app::state::App;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::comment_prompt::prompts_of;
use crate::domain::edits::overlay::Position;
use crate::protocol::patch::{HunkDecision, PatchDecideParams, PatchScope};

/// Lines of a file in which prompts are looked for.
pub(super) const LINES: usize = 20_000;
/// Prompts of one file that are offered.
pub(super) const PROMPTS: usize = 64;
/// Problems that go along with a prompt.
const PROBLEMS: usize = 20;

impl App {
    pub(super) fn execute(
        &mut self,
        client: ClientId,
        command: &str,
        argument: &Value,
    ) -> Result<(), CodedError> {
        let uri = argument["uri"].as_str().map(str::to_owned);
        match command {
            SEND => {
                let uri = uri.or_else(|| self.open_chat(client)).unwrap_or_default();
                self.send_chat(client, &uri, None, None)
            }
            STOP => {
                let uri = uri.or_else(|| self.open_chat(client)).unwrap_or_default();
                self.stop_chat(client, &uri)
            }
            // The command itself is all: edits are taken now.
            SHOW => Ok(()),
            CHAT => self.in_chat(client, OnceOpen::Nothing, None),
            ASK => match argument.as_str().or_else(|| argument["text"].as_str()) {
                Some(text) => {
                    let about = self
                        .about(client, argument, "")
                        .map_or(String::new(), |about| format!("\n\n{about}"));
                    self.in_chat(client, OnceOpen::Send(format!("{text}{about}")), uri)
                }
                None => {
                    let about = self.about(client, argument, "").unwrap_or_default();
                    self.in_chat(client, OnceOpen::Draft(about), uri)
                }
            },
            EXPLAIN => self.ask_about(client, argument, "Explain"),
            FIX => self.ask_about(client, argument, "Fix"),
            TEST => self.ask_about(client, argument, "Write tests for"),
            UNDO => {
                let uri = uri.or_else(|| self.open_chat(client)).unwrap_or_default();
                self.undo_by_command(client, &uri, argument["yes"] == true)
            }
            MAKE => {
                let number = argument["edit"].as_u64().unwrap_or_default();
                self.edit_by_command(client, number, argument["leave"] != true)
            }
            COMMENT => self.send_comment(client, argument),
            ANSWER => self.answer_by_command(client, argument),
            DECIDE => self.decide_by_command(client, argument),
            _ => Err(CodedError::new(ErrorCode::InvalidParams, "There is no such command.")),
        }
    }

    fn ask_about(&mut self, client: ClientId, argument: &Value, what: &str) -> Result<(), CodedError> {
        let about = self.about(client, argument, what).ok_or_else(no_place)?;
        let origin = argument["uri"].as_str().map(str::to_owned);
        self.in_chat(client, OnceOpen::Send(about), origin)
    }

    /// A place in a file, in words and with what stands there. `what` is to be done about it.
    fn about(&self, client: ClientId, argument: &Value, what: &str) -> Option<String> {
        let uri = argument["uri"].as_str()?;
        let path = self.path_of(uri)?;
        let range = read_range(&argument["range"])?;
        let (text, language) = self.selected_text(client, uri, range)?;
        let (first, mut last) = (range.0.line + 1, range.1.line + 1);
        if range.1.character == 0 && last > first {
            last -= 1;
        }
        let lines = if first == last { format!("line {first}") } else { format!("lines {first} to {last}") };
        let what = if what.is_empty() { String::new() } else { format!("{what} ") };
        let mut about = format!("{what}`{path}`, {lines}");
        let problems = argument["problems"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for problem in problems.take(PROBLEMS) {
            about.push_str(&format!("\n- {}", problem.lines().collect::<Vec<_>>().join(" ")));
        }
        if !text.trim().is_empty() {
            let fence = "`".repeat(longest_run(&text).max(2) + 1);
            let end = if text.ends_with('\n') { "" } else { "\n" };
            about.push_str(&format!("\n\n{fence}{language}\n{text}{end}{fence}"));
        }
        Some(about)
    }

    fn send_comment(&mut self, client: ClientId, argument: &Value) -> Result<(), CodedError> {
        let uri = argument["uri"].as_str().ok_or_else(no_place)?;
        let line =
            argument["line"].as_u64().and_then(|line| usize::try_from(line).ok()).ok_or_else(no_place)?;
        let text = self.document_text(client, uri).ok_or_else(no_place)?;
        let path = self.path_of(uri).ok_or_else(no_place)?;
        let prompts = prompts_of(text.lines().take(LINES), PROMPTS);
        let prompt = prompts.into_iter().find(|prompt| prompt.lines.contains(&line)).ok_or_else(|| {
            CodedError::new(ErrorCode::NotFound, "The comment has changed; look at it and send it again.")
        })?;
        let asked = format!(
            "{}\n\nThis was asked in a comment in `{path}`, line {}; take the comment out when it is done.",
            prompt.text.trim(),
            prompt.lines.start() + 1
        );
        self.in_chat(client, OnceOpen::Send(asked), Some(uri.to_owned()))
    }

    fn answer_by_command(&mut self, client: ClientId, argument: &Value) -> Result<(), CodedError> {
        let (session_id, request_id) = (text_of(argument, "sessionId")?, text_of(argument, "requestId")?);
        let waits = self.waiting_ask(client, &session_id, &request_id)?;
        let wanted = argument["optionId"].as_str().unwrap_or_default();
        let options = titles(&waits.ask.permission.options, true);
        let option = options.into_iter().map(|(_, option)| option).find(|option| option.option_id == wanted);
        let option = option.ok_or_else(|| {
            CodedError::new(ErrorCode::InvalidParams, "This request has no such answer; look at it again.")
        })?;
        self.answer_ask(client, &session_id, &request_id, &option)
    }

    fn decide_by_command(&mut self, client: ClientId, argument: &Value) -> Result<(), CodedError> {
        let (session_id, request_id) = (text_of(argument, "sessionId")?, text_of(argument, "requestId")?);
        let accepted = argument["accepted"].as_bool().unwrap_or(false);
        let waits = self.waiting_ask(client, &session_id, &request_id)?;
        if accepted && !waits.is_shown {
            return Err(not_shown());
        }
        let hunk = argument["hunk"].as_str().map(str::to_owned);
        let file_path = argument["filePath"].as_str().map(str::to_owned);
        let scope = match (&hunk, &file_path) {
            (Some(_), _) => PatchScope::Hunk,
            (None, Some(_)) => PatchScope::File,
            (None, None) => PatchScope::All,
        };
        let decide = PatchDecideParams {
            patch_id: waits.ask.permission.patch_id.clone().unwrap_or_default(),
            session_id: Some(session_id),
            tab_id: None,
            scope,
            accepted,
            file_path,
            root: argument["root"].as_str().map(str::to_owned),
            hunks: hunk.map(|id| vec![HunkDecision { id, accepted, reason: None, content: None }]),
            digest: Some(waits.ask.permission.digest.clone()),
        };
        let (reply, mut decided) = Reply::new();
        self.patch_decide(client, decide, reply);
        match decided.try_recv() {
            Ok(Err(error)) => Err(error),
            Ok(Ok(_)) | Err(_) => Ok(()),
        }
    }
}

fn read_range(value: &Value) -> Option<(Position, Position)> {
    let place = |value: &Value| {
        let number = |key: &str| u32::try_from(value[key].as_u64()?).ok();
        Some(Position { line: number("line")?, character: number("character")? })
    };
    Some((place(&value["start"])?, place(&value["end"])?))
}

fn text_of(argument: &Value, key: &str) -> Result<String, CodedError> {
    argument[key].as_str().map(str::to_owned).ok_or_else(|| {
        CodedError::new(
            ErrorCode::InvalidParams,
            "The command does not say what it is about; use the code action.",
        )
    })
}

fn no_place() -> CodedError {
    CodedError::new(
        ErrorCode::InvalidParams,
        "The command needs an open file of the workspace; use the code action in that file.",
    )
}

/// The longest row of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
