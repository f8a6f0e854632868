//! `breadboard-ls ask`: one question, one turn, on the terminal.
//!
//! Owns the conversation: which request follows what, who is asked, when it ends. Text is made by `render`, written by
//! `console`; the wire is `client`'s.

mod answers;

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, Read, Stderr, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use self::answers::Open;
use super::args::AskArgs;
use super::client::{Client, ClientError, Incoming, Refusal};
use super::console::Console;
use super::exit::{Exit, TurnOutcome};
use super::handshake::{END, hello, initialize, start};
use super::interrupt;
use super::render::{Renderer, Seen};
use super::terminal::{Terminal, Tone, marked, visible, visible_code, visible_line};
use crate::domain::approval::{Decision, Permission};
use crate::domain::dialect::{Dialect, fact};
use crate::domain::event::SessionEvent;
use crate::domain::fact::{Answered, Fact, TurnReport};
use crate::protocol::notification::{ConnectionParams, EventsParams};
use crate::protocol::request::ConnectionStatus;

/// Longest wait for a session: an agent may have to be unpacked, started and connected to its tools first.
const SESSION: Duration = Duration::from_secs(200);

/// Asks, shows the answer, and tells how it went.
pub(super) fn ask(args: &AskArgs) -> Exit {
    let terminal = Terminal::detect(|name| std::env::var(name).ok());
    let workspace = match folder(&args.workspace) {
        Ok(workspace) => workspace,
        Err(sentence) => return refuse(&sentence, Exit::Usage),
    };
    if args.question.trim().is_empty() {
        return refuse("The question is empty; put it in quotes behind `ask`.", Exit::Usage);
    }
    let mut client = match start(&args.server) {
        Ok(client) => client,
        Err(error) => return refuse(&error.to_string(), Exit::Server),
    };
    let interrupted = interrupt::watch(client.sender());
    let opened = open(&mut client, args, &workspace, terminal.stdin);
    let Opened { session_id, trusted, dialect } = match opened {
        Ok(Some(opened)) => opened,
        Ok(None) => {
            client.finish(END);
            return Exit::Unanswered;
        }
        Err(error) => return give_up(client, &error),
    };
    let seen =
        Seen { out: terminal.out(), err: terminal.err(), one_screen: terminal.stdout && terminal.stderr };
    let mut turn = Turn {
        client,
        console: Console::new(std::io::stdout(), std::io::stderr(), terminal.progress() && !args.json),
        renderer: Renderer::new(seen),
        json: args.json,
        interactive: terminal.stdin,
        workspace,
        session_id,
        dialect,
        trusted,
        trust_refused: false,
        seq: 0,
        waiting: VecDeque::new(),
        open: None,
        question: 0,
        reading: false,
        answers: HashMap::new(),
        coming: HashMap::new(),
        stop: None,
        interrupted,
        outcome: TurnOutcome::default(),
    };
    match turn.run(&args.question) {
        Ok(()) => {
            let exit = turn.outcome.exit();
            turn.client.finish(END);
            exit
        }
        Err(Ended::Refused(refusal)) => {
            turn.say(Tone::Bad, &marked(&refusal.message));
            turn.client.finish(END);
            Exit::Failed
        }
        Err(Ended::NobodyTrusts) => {
            turn.client.finish(END);
            Exit::Unanswered
        }
        // Nobody reads any more, so there is nothing to say and nobody to say it to.
        Err(Ended::Unread) => {
            turn.client.finish(END);
            Exit::Failed
        }
        Err(Ended::Client(error)) => give_up(turn.client, &error),
    }
}

fn folder(path: &Path) -> Result<PathBuf, String> {
    let shown = path.display();
    let whole = path.canonicalize().map_err(|error| {
        format!("The workspace {shown} cannot be opened ({error}); give another --workspace.")
    })?;
    if whole.is_dir() {
        Ok(whole)
    } else {
        Err(format!("The workspace {shown} is not a folder; give the folder."))
    }
}

fn refuse(sentence: &str, exit: Exit) -> Exit {
    let _ = writeln!(std::io::stderr(), "breadboard-ls: {}", marked(sentence));
    exit
}

/// The end of a conversation that failed: the reason, and the server's last words if it is gone.
fn give_up(client: Client, error: &ClientError) -> Exit {
    match error {
        ClientError::Interrupted => {
            client.finish(END);
            Exit::Interrupted
        }
        ClientError::Refused(_) => {
            client.finish(END);
            refuse(&error.to_string(), Exit::Failed)
        }
        ClientError::Start(_) | ClientError::Gone(_) | ClientError::Nonsense(_) | ClientError::Silent(_) => {
            let last = client.abandon(END);
            let exit = refuse(&error.to_string(), Exit::Server);
            for line in last {
                let _ = writeln!(std::io::stderr(), "  server: {}", visible(&line));
            }
            exit
        }
    }
}

/// A session in which to ask.
struct Opened {
    session_id: String,
    trusted: bool,
    /// What its engine speaks.
    dialect: Dialect,
}

/// Makes the session; `None` when that needs trust and nobody gives it.
fn open(
    client: &mut Client,
    args: &AskArgs,
    workspace: &Path,
    interactive: bool,
) -> Result<Option<Opened>, ClientError> {
    initialize(client, workspace, args.server.trust)?;
    let hello = hello(client)?;
    let mut trusted = hello.workspace_trusted;
    let mut made = client.request("bb/createSession", json!({}), SESSION);
    if let Err(ClientError::Refused(refusal)) = &made
        && refusal.code == "untrusted_workspace"
    {
        if !trust_for_session(workspace, refusal, interactive) {
            return Ok(None);
        }
        trusted = true;
        client.notify("bb/workspaceTrust", json!({ "trusted": true }))?;
        made = client.request("bb/createSession", json!({}), SESSION);
    }
    let made = made?;
    let session_id = made.get("sessionId").and_then(Value::as_str).ok_or_else(|| {
        ClientError::Nonsense("The server made a session without an id; run `doctor`.".to_owned())
    })?;
    let dialect = hello.engine.kind.dialect();
    Ok(Some(Opened { session_id: session_id.to_owned(), trusted, dialect }))
}

/// An agent is a program, which is started for its first session: asks whether it may be, where somebody can be asked.
fn trust_for_session(workspace: &Path, refusal: &Refusal, interactive: bool) -> bool {
    let said = marked(&refusal.message);
    let mut err = std::io::stderr();
    if !interactive {
        let _ = writeln!(err, "breadboard-ls: {said} Nobody can be asked here: pass --trust.");
        return false;
    }
    let shown = visible_code(&workspace.to_string_lossy()).into_owned();
    let _ = write!(err, "{said}\nTrust this folder ({shown})? [y/N] ");
    let mut line = String::new();
    let read = std::io::stdin().lock().take(64).read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Why a turn ended before its end.
enum Ended {
    Client(ClientError),
    Refused(Refusal),
    NobodyTrusts,
    Unread,
}

impl From<ClientError> for Ended {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

/// What follows one event or line.
#[derive(PartialEq, Eq)]
enum Next {
    Listen,
    Finished,
}

struct Turn {
    client: Client,
    console: Console<Stdout, Stderr>,
    renderer: Renderer,
    json: bool,
    interactive: bool,
    workspace: PathBuf,
    session_id: String,
    dialect: Dialect,
    trusted: bool,
    trust_refused: bool,
    seq: u64,
    waiting: VecDeque<Permission>,
    open: Option<Open>,
    question: u64,
    reading: bool,
    answers: HashMap<u64, (Permission, Decision)>,
    /// Requests whose whole subject is on its way, by the id of our own request.
    coming: HashMap<u64, Permission>,
    stop: Option<u64>,
    interrupted: Arc<AtomicBool>,
    outcome: TurnOutcome,
}

impl Turn {
    fn run(&mut self, question: &str) -> Result<(), Ended> {
        let mut prompt = Some(self.prompt(question)?);
        loop {
            let incoming = self.client.next();
            if self.stop.is_none() && self.interrupted.load(Ordering::SeqCst) {
                self.stop(question_is_open(&self.open))?;
                if self.stop.is_none() {
                    return Ok(());
                }
            }
            let next = match incoming {
                Incoming::Notification { method, raw } => self.notification(&method, &raw)?,
                Incoming::Answer { id, outcome } if Some(id) == prompt => {
                    prompt = None;
                    self.prompt_answered(outcome)?
                }
                Incoming::Answer { id, outcome } => self.answered(id, outcome)?,
                Incoming::Line { question: number, text } => {
                    let again = self.typed(number, text)?;
                    if again {
                        prompt = Some(self.prompt(question)?);
                    }
                    Next::Listen
                }
                Incoming::Interrupt => Next::Listen,
                Incoming::Gone(why) => return Err(ClientError::Gone(why).into()),
            };
            if next == Next::Finished {
                break;
            }
        }
        let last = self.renderer.close();
        self.show(&last)
    }

    fn prompt(&mut self, question: &str) -> Result<u64, Ended> {
        let params = json!({ "sessionId": self.session_id, "text": question });
        Ok(self.client.send_request("bb/sendMessage", params)?)
    }

    fn prompt_answered(&mut self, outcome: Result<Value, Refusal>) -> Result<Next, Ended> {
        match outcome {
            Ok(_) => Ok(Next::Listen),
            Err(refusal) if refusal.code == "untrusted_workspace" => {
                if !self.interactive {
                    self.say(
                        Tone::Bad,
                        &format!("{} Nobody can be asked here: pass --trust.", marked(&refusal.message)),
                    );
                    return Err(Ended::NobodyTrusts);
                }
                self.say(Tone::Warn, &marked(&refusal.message));
                self.open = Some(Open::TrustForPrompt);
                self.put_question();
                Ok(Next::Listen)
            }
            Err(refusal) => Err(Ended::Refused(refusal)),
        }
    }

    fn notification(&mut self, method: &str, raw: &str) -> Result<Next, Ended> {
        if self.json {
            let line = one_line(raw);
            self.console.raw(&line).map_err(|_| Ended::Unread)?;
        }
        match method {
            "bb/events" => {
                let batch: EventsParams = params_of(raw)?;
                if batch.session_id == self.session_id {
                    for event in batch.events {
                        if self.event(event)? == Next::Finished {
                            return Ok(Next::Finished);
                        }
                    }
                }
                Ok(Next::Listen)
            }
            "bb/connection" => {
                let connection: ConnectionParams = params_of(raw)?;
                if connection.status == ConnectionStatus::Error {
                    let why =
                        connection.last_error.unwrap_or_else(|| "The engine is not connected.".to_owned());
                    self.say(Tone::Warn, &visible_line(&why, 1_000));
                }
                Ok(Next::Listen)
            }
            _ => Ok(Next::Listen),
        }
    }

    fn event(&mut self, event: SessionEvent) -> Result<Next, Ended> {
        if event.seq != self.seq + 1 {
            // Shown, not fatal: what is there is still worth reading.
            self.outcome.errors = true;
            self.say(
                Tone::Bad,
                &format!("error: events {} to {} are missing", self.seq + 1, event.seq.saturating_sub(1)),
            );
        }
        self.seq = event.seq;
        let fact = fact(self.dialect, &event);
        if !self.json {
            let pieces = self.renderer.draw(event.origin, &fact);
            self.show(&pieces)?;
        }
        // A task asks inside an event of its own, so the permission tells and not the class.
        if let Some(permission) = event.permission.clone() {
            self.asked(*permission)?;
        }
        match fact {
            Fact::Failure(_) | Fact::Gap(_) | Fact::Exited { .. } => self.outcome.errors = true,
            Fact::Answered(Answered::Settled { request_id, .. }) => self.settled(request_id)?,
            Fact::TurnEnded(end) => match end.report {
                TurnReport::Whole { success, .. } => {
                    self.outcome.unsuccessful = !success;
                    return Ok(Next::Finished);
                }
                TurnReport::Part(report) => {
                    // Where the engine says no more of it, it went well.
                    self.outcome.unsuccessful |= report.completed == Some(false) || report.error.is_some();
                    if report.last {
                        return Ok(Next::Finished);
                    }
                }
            },
            Fact::TurnClosed(closed) => {
                self.outcome.unsuccessful |= closed.notice.is_some();
                return Ok(Next::Finished);
            }
            Fact::Prompt(_)
            | Fact::Text(_)
            | Fact::ToolCall(_)
            | Fact::ToolOutput(_)
            | Fact::ToolResult(_)
            | Fact::Plan(_)
            | Fact::Patch(_)
            | Fact::Ask { .. }
            | Fact::Answered(Answered::Confirmed(_) | Answered::Unnamed)
            | Fact::TurnBegan
            | Fact::Usage(_)
            | Fact::Reward(_)
            | Fact::Mode(_)
            | Fact::Commands(_)
            | Fact::Task(_)
            | Fact::Checkpoints(_)
            | Fact::Restored(_)
            | Fact::Compaction(_)
            | Fact::Search { .. }
            | Fact::Link(_)
            | Fact::TreeNode
            | Fact::Tree { .. }
            | Fact::Notice(_)
            | Fact::Nothing
            | Fact::Unknown => {}
        }
        Ok(Next::Listen)
    }

    fn answered(&mut self, id: u64, outcome: Result<Value, Refusal>) -> Result<Next, Ended> {
        if self.stop == Some(id) {
            let stopping =
                outcome.as_ref().is_ok_and(|said| said.get("stopping") == Some(&Value::Bool(true)));
            // A turn that does not run has no end to wait for.
            return Ok(if stopping { Next::Listen } else { Next::Finished });
        }
        if let Some(permission) = self.coming.remove(&id) {
            self.whole_came(permission, outcome)?;
            return Ok(Next::Listen);
        }
        let Some((pending, decision)) = self.answers.remove(&id) else { return Ok(Next::Listen) };
        if let Err(refusal) = outcome {
            self.say(Tone::Bad, &format!("the answer was not taken: {}", marked(&refusal.message)));
            // The engine still waits. A denial needs nothing that could be missing; if even that is refused, it was
            // settled already.
            if decision != Decision::Deny {
                self.decide(pending, Decision::Deny)?;
            }
        }
        Ok(Next::Listen)
    }

    /// The first Ctrl-C. Before the prompt was taken there is no turn to stop, so `stop` stays empty.
    fn stop(&mut self, prompt_held_back: bool) -> Result<(), Ended> {
        self.outcome.interrupted = true;
        if prompt_held_back {
            return Ok(());
        }
        self.say(Tone::Warn, "stopping… (Ctrl-C again quits at once)");
        let params = json!({ "sessionId": self.session_id });
        self.stop = Some(self.client.send_request("bb/stop", params)?);
        Ok(())
    }

    fn say(&mut self, tone: Tone, text: &str) {
        let pieces = self.renderer.remark(tone, text);
        // A remark goes to stderr; at most a newline of it goes to stdout, whose end the next answer will notice.
        let _ = self.show(&pieces);
    }

    fn show(&mut self, pieces: &[super::render::Piece]) -> Result<(), Ended> {
        self.console.show(pieces).map_err(|_| Ended::Unread)
    }
}

fn question_is_open(open: &Option<Open>) -> bool {
    matches!(open, Some(Open::TrustForPrompt))
}

#[derive(serde::Deserialize)]
struct Message<P> {
    params: P,
}

fn params_of<P: serde::de::DeserializeOwned>(raw: &str) -> Result<P, ClientError> {
    serde_json::from_str::<Message<P>>(raw).map(|message| message.params).map_err(|error| {
        ClientError::Nonsense(format!("A notification of the server does not fit this version ({error})."))
    })
}

/// The message as it came, on one line. Only a message that was laid out over several lines is written anew.
fn one_line(raw: &str) -> String {
    let raw = raw.trim();
    if !raw.contains(['\n', '\r']) {
        return raw.to_owned();
    }
    serde_json::from_str::<Value>(raw)
        .map_or_else(|_| raw.replace(['\n', '\r'], " "), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_laid_out_over_lines_becomes_one_line() {
        assert_eq!(one_line("{\"a\": 1}"), "{\"a\": 1}");
        assert_eq!(one_line("{\r\n  \"a\": 1\n}"), "{\"a\":1}");
    }

    #[test]
    fn a_workspace_must_be_a_folder_that_is_there() {
        let place = tempfile::tempdir().expect("a folder");
        let file = place.path().join("file");
        std::fs::write(&file, "").expect("a file");
        assert!(folder(place.path()).is_ok());
        assert!(folder(&file).expect_err("is a file").contains("not a folder"));
        assert!(folder(&place.path().join("none")).expect_err("is not there").contains("cannot be opened"));
    }
}
