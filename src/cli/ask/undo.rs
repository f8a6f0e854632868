//! `breadboard-ls undo`: shows what a turn changed and what taking it back would do, asks, and takes it back.
//!
//! Owns the question: nothing is written before a person, or an option, said so. What can be taken back is the server's to know.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::super::args::UndoArgs;
use super::super::client::{Client, ClientError, Refusal};
use super::super::exit::Exit;
use super::super::handshake::{ANSWER, END, hello, initialize, start};
use super::super::printed::print;
use super::super::terminal::{Terminal, Tone, marked, marked_diff, marked_line, visible_code};
use super::keyboard::Keyboard;
use super::{folder, give_up, refuse};
use crate::domain::approval::ChangeKind;
use crate::protocol::request::ListSessionsResult;
use crate::protocol::turn::{
    RevertOutcome, TurnChangesResult, TurnListResult, TurnRevertFile, TurnRevertResult,
};

/// Longest wait for what writes files: one that is open is changed in its editor.
const WRITTEN: Duration = Duration::from_secs(60);

/// Characters of a prompt in a list.
const PROMPT: usize = 60;

/// Takes a turn back, or lists what can be.
pub(in crate::cli) fn undo(args: &UndoArgs) -> Exit {
    let terminal = Terminal::detect(|name| std::env::var(name).ok());
    let workspace = match folder(&args.workspace) {
        Ok(workspace) => workspace,
        Err(sentence) => return refuse(&sentence, Exit::Usage),
    };
    let mut client = match start(&args.server) {
        Ok(client) => client,
        Err(error) => return refuse(&error.to_string(), Exit::Server),
    };
    let undo = UndoRun { args, terminal, keyboard: Keyboard::find(&terminal, false), workspace: &workspace };
    match undo.run(&mut client) {
        Ok(exit) => {
            client.finish(END);
            exit
        }
        Err(error) => give_up(client, &error),
    }
}

struct UndoRun<'a> {
    args: &'a UndoArgs,
    terminal: Terminal,
    keyboard: Keyboard,
    workspace: &'a Path,
}

impl UndoRun<'_> {
    fn run(&self, client: &mut Client) -> Result<Exit, ClientError> {
        initialize(client, self.workspace, self.args.server.trust)?;
        let trusted = hello(client)?.workspace_trusted;
        let session_id = self.session(client)?;
        if self.args.list {
            return self.list(client, &session_id);
        }
        let mut wanted = Map::new();
        wanted.insert("sessionId".to_owned(), json!(session_id));
        wanted.extend(self.args.turn.map(|turn| ("turn".to_owned(), json!(turn))));
        let changes = asked(client, "bb/turn/changes", Value::Object(wanted), ANSWER);
        let changes: TurnChangesResult = changes.map_err(|error| self.nothing_to_undo(error))?;
        let params = |preview: bool| {
            let mut params = json!({ "sessionId": session_id, "turn": changes.turn, "preview": preview });
            if let (Some(file), Some(params)) = (&self.args.file, params.as_object_mut()) {
                params.insert("filePath".to_owned(), json!(file));
            }
            params
        };
        let preview: TurnRevertResult = asked(client, "bb/turn/revert", params(true), ANSWER)?;
        self.show(&preview.files);
        for uncovered in &changes.uncovered {
            self.say(Tone::Warn, &uncovered.message);
        }
        if !preview.files.iter().any(|file| file.outcome == RevertOutcome::Reverted) {
            self.say(Tone::Dim, "There is nothing to undo.");
            return Ok(Exit::Done);
        }
        if !self.args.yes && !self.agrees("Undo this? [y/N] ", "pass --yes") {
            return Ok(Exit::Unanswered);
        }
        if !trusted {
            let shown = visible_code(&self.workspace.to_string_lossy()).into_owned();
            if !self.agrees(&format!("Trust this folder ({shown})? [y/N] "), "pass --trust") {
                return Ok(Exit::Unanswered);
            }
            client.notify("bb/workspaceTrust", json!({ "trusted": true }))?;
        }
        let done: TurnRevertResult = asked(client, "bb/turn/revert", params(false), WRITTEN)?;
        Ok(self.told(&done))
    }

    /// The session that was named, or the newest.
    fn session(&self, client: &mut Client) -> Result<String, ClientError> {
        if let Some(session) = &self.args.session {
            return Ok(session.clone());
        }
        let listed: ListSessionsResult = asked(client, "bb/listSessions", json!({}), ANSWER)?;
        // Pinned ones stand first, whatever their age.
        let newest = listed.sessions.into_iter().rev().max_by_key(|session| session.updated_at);
        let newest = newest.map(|session| session.session_id);
        newest.ok_or_else(|| {
            let message = "There is no session of this workspace, so there is nothing to undo.".to_owned();
            ClientError::Refused(Refusal { number: 0, code: String::new(), message })
        })
    }

    /// Why there is nothing to undo, where nobody named a turn: then the turns that one could name are none.
    fn nothing_to_undo(&self, error: ClientError) -> ClientError {
        match error {
            ClientError::Refused(refusal) if refusal.code == "not_found" && self.args.turn.is_none() => {
                let whose = match self.args.session {
                    Some(_) => "This session",
                    None => "The newest session",
                };
                let message = format!(
                    "{whose} changed no file, or too long ago, so there is nothing to undo; `breadboard-ls sessions` lists the \
                     sessions, and --session undoes what another one did."
                );
                ClientError::Refused(Refusal { message, ..refusal })
            }
            other => other,
        }
    }

    fn list(&self, client: &mut Client, session_id: &str) -> Result<Exit, ClientError> {
        let listed: TurnListResult =
            asked(client, "bb/turn/list", json!({ "sessionId": session_id }), ANSWER)?;
        let mut text = String::new();
        for turn in &listed.turns {
            let what =
                turn.of.map_or_else(|| marked_line(&turn.text, PROMPT), |of| format!("undid turn {of}"));
            let files = if turn.files == 1 { "1 file".to_owned() } else { format!("{} files", turn.files) };
            text.push_str(&format!(
                "{:>6}  {files:<9} +{} -{}  {what}\n",
                turn.turn, turn.added, turn.removed
            ));
        }
        if listed.turns.is_empty() {
            text.push_str("No turn of this session changed a file, or it was too long ago.\n");
        }
        Ok(print(text.as_bytes(), Exit::Done))
    }

    /// What each file would become.
    fn show(&self, files: &[TurnRevertFile]) {
        let look = self.terminal.out();
        let mut text = String::new();
        for file in files {
            let path = marked(&file.file_path);
            match file.outcome {
                RevertOutcome::Reverted => {
                    let verb = verb(file);
                    let line = format!("{verb} {path}  +{} -{}", file.added, file.removed);
                    text.push_str(&look.paint(Tone::Strong, &line));
                    text.push('\n');
                    if let Some(diff) = &file.diff {
                        text.push_str(&marked_diff(look, diff));
                    }
                }
                RevertOutcome::Conflict => {
                    let why = file.message.as_deref().unwrap_or("It changed since.");
                    text.push_str(&look.paint(Tone::Bad, &marked(why)));
                    text.push('\n');
                    for conflict in &file.conflicts {
                        let head = format!("line {}: now there is", conflict.line);
                        text.push_str(&format!(
                            "{}\n{}",
                            look.paint(Tone::Dim, &head),
                            marked(&conflict.yours)
                        ));
                        let head = "undoing would put there";
                        text.push_str(&format!(
                            "{}\n{}",
                            look.paint(Tone::Dim, head),
                            marked(&conflict.theirs)
                        ));
                    }
                }
                RevertOutcome::Unchanged => {
                    let why = if file.kept > 0 { "is kept" } else { "is as it was" };
                    text.push_str(&look.paint(Tone::Dim, &format!("{path} {why}")));
                    text.push('\n');
                }
            }
        }
        // A reader that has gone away has what it wanted.
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }

    fn told(&self, done: &TurnRevertResult) -> Exit {
        let taken = done.files.iter().filter(|file| file.outcome == RevertOutcome::Reverted).count();
        let mut exit = Exit::Done;
        for file in done.files.iter().filter(|file| file.outcome == RevertOutcome::Conflict) {
            exit = Exit::Failed;
            self.say(Tone::Bad, file.message.as_deref().unwrap_or("A file was left as it is."));
        }
        let files = if taken == 1 { "1 file".to_owned() } else { format!("{taken} files") };
        match done.undo {
            Some(turn) => self.say(
                Tone::Good,
                &format!("Undone in {files}. `breadboard-ls undo --turn {turn}` undoes that."),
            ),
            None => self.say(Tone::Warn, "Nothing was undone."),
        }
        exit
    }

    fn agrees(&self, question: &str, instead: &str) -> bool {
        let mut err = std::io::stderr();
        if !self.keyboard.is_there() {
            let _ = writeln!(err, "breadboard-ls: nobody can be asked here; {instead}.");
            return false;
        }
        let _ = write!(err, "{question}");
        matches!(self.keyboard.line().as_deref(), Some("y" | "yes"))
    }

    fn say(&self, tone: Tone, sentence: &str) {
        let _ = writeln!(std::io::stderr(), "{}", self.terminal.err().paint(tone, &marked(sentence)));
    }
}

fn verb(file: &TurnRevertFile) -> &'static str {
    match file.change {
        Some(ChangeKind::Create) => "restore",
        Some(ChangeKind::Delete) => "delete",
        Some(ChangeKind::Rename) => "rename back",
        Some(ChangeKind::Modify) | None => "change",
    }
}

fn asked<T: DeserializeOwned>(
    client: &mut Client,
    method: &str,
    params: Value,
    most: Duration,
) -> Result<T, ClientError> {
    let answer = client.request(method, params, most)?;
    serde_json::from_value(answer).map_err(|error| {
        ClientError::Nonsense(format!(
            "An answer of the server does not fit this version ({error}); run `doctor`."
        ))
    })
}
