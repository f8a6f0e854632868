//! One turn of `ask`: the prompt, what the server says of it, its end.
//!
//! Owns which request follows what, and the turn's state. What an event means is in `turn_events`, what is asked in `answers`; never
//! draws.

use std::collections::{HashMap, VecDeque};
use std::io::{Stderr, Stdout};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::args::AskArgs;
use super::super::client::{Client, ClientError, Incoming, Refusal};
use super::super::console::Console;
use super::super::exit::AskOutcome;
use super::super::render::{Places, RenderPiece, Renderer, SeenSoFar};
use super::super::terminal::{Tone, marked};
use super::again::Again;
use super::keyboard::Keyboard;
use super::opened::{AskEnded, Next, Open, OpenedSession, Person};
use super::patience::{Due, Patience};
use crate::domain::approval::{Decision, Permission};
use crate::domain::dialect::Dialect;
use crate::domain::fact::NoticeLevel;
use crate::domain::view::ViewState;

/// What an engine is asked when a session is taken up without a question.
const CONTINUE: &str = "Continue where you stopped.";

/// How long a session may take to end after its engine said that it failed; that is said at once, where it is so.
pub(super) const AFTERWORD: Duration = Duration::from_secs(2);

/// Said where what waits cannot be asked about.
const WAITS: &str = "This session waits for an answer, and nobody can be asked here; answer it in an editor, or run `ask --continue` in a terminal.";

/// One turn, from the prompt to its end.
pub(super) struct AskTurn {
    pub(super) client: Client,
    pub(super) console: Console<Stdout, Stderr>,
    pub(super) renderer: Renderer,
    pub(super) json: bool,
    pub(super) interactive: bool,
    pub(super) keyboard: Keyboard,
    pub(super) workspace: PathBuf,
    pub(super) session_id: String,
    pub(super) dialect: Dialect,
    /// What every client is shown of the turn.
    pub(super) view: ViewState,
    pub(super) trusted: bool,
    pub(super) trust_refused: bool,
    /// The last event that came.
    pub(super) seq: u64,
    /// Asks behind that question.
    pub(super) waiting: VecDeque<Permission>,
    /// Asks that waited in the session before this turn.
    waited: Vec<Permission>,
    /// The question on the screen.
    pub(super) open: Option<Open>,
    /// Its number.
    pub(super) question: u64,
    /// Whether somebody waits for a line.
    pub(super) reading: bool,
    /// What was answered, by the id of our own request.
    pub(super) answers: HashMap<u64, (Permission, Decision)>,
    /// Edits that were decided change by change, by the id of our own request.
    pub(super) parts: HashMap<u64, Permission>,
    /// Requests whose whole subject is on its way, by the id of our own request.
    pub(super) coming: HashMap<u64, Permission>,
    /// Our request to stop.
    pub(super) stop: Option<u64>,
    pub(super) patience: Patience,
    pub(super) again: Again,
    pub(super) advice: Option<&'static str>,
    /// The engine failed over the session, which it then ends.
    pub(super) failed_at_engine: bool,
    /// That we wait was said where there is no progress line.
    wait_told: bool,
    interrupted: Arc<AtomicBool>,
    pub(super) outcome: AskOutcome,
}

impl AskTurn {
    pub(super) fn new(
        client: Client,
        console: Console<Stdout, Stderr>,
        person: Person<'_>,
        args: &AskArgs,
        workspace: PathBuf,
        opened: OpenedSession,
        interrupted: Arc<AtomicBool>,
    ) -> Self {
        let terminal = person.terminal;
        let seen = SeenSoFar {
            out: terminal.out(),
            err: terminal.err(),
            one_screen: terminal.stdout && terminal.stderr,
        };
        let limit = args.timeout.map(Duration::from_secs);
        let mut view = ViewState::default().speaking(opened.dialect);
        for event in &opened.earlier {
            view.apply(event);
        }
        Self {
            client,
            console,
            renderer: Renderer::new(seen).linking(Places::within(&workspace)),
            json: args.json,
            interactive: person.keyboard.is_there(),
            keyboard: person.keyboard,
            workspace,
            session_id: opened.session_id,
            dialect: opened.dialect,
            view,
            trusted: opened.trusted,
            trust_refused: false,
            seq: opened.seq,
            waiting: VecDeque::new(),
            waited: opened.waiting,
            open: None,
            question: 0,
            reading: false,
            answers: HashMap::new(),
            parts: HashMap::new(),
            coming: HashMap::new(),
            stop: None,
            patience: Patience::new(limit, Instant::now()),
            again: Again::new(limit),
            advice: opened.advice.filter(|_| !args.json),
            failed_at_engine: false,
            wait_told: false,
            interrupted,
            outcome: AskOutcome::default(),
        }
    }

    /// Asks the question, behind what waits in the session for an answer; without one the engine is asked to continue, where
    /// nothing waits.
    pub(super) fn run(&mut self, question: Option<&str>) -> Result<(), AskEnded> {
        let waits = std::mem::take(&mut self.waited);
        if !waits.is_empty() && !self.interactive {
            // It may be for somebody who can be asked.
            self.say(Tone::Warn, WAITS);
            self.outcome.unanswered = true;
            return Ok(());
        }
        let mut later = question.filter(|_| !waits.is_empty());
        let mut question = question.unwrap_or(CONTINUE);
        let mut prompt = if waits.is_empty() { Some(self.prompt(question)?) } else { None };
        if !waits.is_empty() {
            // What waits is a word of its engine.
            self.patience.hear(true);
        }
        for permission in waits {
            self.asked(permission)?;
        }
        loop {
            if self.open.is_some() {
                self.console.question_again();
            }
            // A person takes the time that it takes.
            let until = self.again.until();
            let held_back = until.is_some() || question_is_open(&self.open);
            let deadline = until.or(self.patience.deadline().filter(|_| !held_back));
            let incoming = self.client.next(deadline);
            if self.stop.is_none() && self.interrupted.load(Ordering::SeqCst) {
                self.stop(held_back)?;
                if self.stop.is_none() {
                    return Ok(());
                }
            }
            // Asked also while something comes: a connection that fails again and again keeps nobody waiting for longer.
            if !held_back && let Some(due) = self.patience.due(Instant::now()) {
                self.overdue(due)?;
            }
            if self.again.is_due(Instant::now()) {
                self.patience.begin(Instant::now());
                prompt = Some(self.prompt(question)?);
            }
            let Some(incoming) = incoming else { continue };
            if self.hear(incoming, question, &mut prompt)? == Next::Finished {
                let Some(next) = later.take().filter(|_| self.stop.is_none()) else { break };
                // The turn that waited is over, and this is the next one.
                question = next;
                self.again.another();
                self.patience.begin(Instant::now());
                prompt = Some(self.prompt(question)?);
            }
        }
        self.close()
    }

    /// What follows the last turn: what it made, why the session ends where it does, and the advice.
    fn close(&mut self) -> Result<(), AskEnded> {
        self.hear_what_was_made()?;
        if self.failed_at_engine {
            self.hear_the_end()?;
        }
        let last = self.renderer.close();
        self.show(&last)?;
        if let Some(advice) = self.advice.filter(|_| !self.outcome.interrupted) {
            self.say(Tone::Dim, advice);
        }
        Ok(())
    }

    /// What follows what came. `prompt` is our own request for the question, while it is not answered.
    fn hear(
        &mut self,
        incoming: Incoming,
        question: &str,
        prompt: &mut Option<u64>,
    ) -> Result<Next, AskEnded> {
        match incoming {
            Incoming::Notification { method, raw } => self.notification(&method, &raw),
            Incoming::Answer { id, outcome } if Some(id) == *prompt => {
                *prompt = None;
                self.prompt_answered(outcome)
            }
            Incoming::Answer { id, outcome } => self.answered(id, outcome),
            Incoming::Line { question: number, text } => {
                if self.typed(number, text)? {
                    self.patience.begin(Instant::now());
                    *prompt = Some(self.prompt(question)?);
                }
                Ok(Next::Listen)
            }
            Incoming::Interrupt => Ok(Next::Listen),
            Incoming::Gone(why) => Err(ClientError::Gone(why).into()),
        }
    }

    fn overdue(&mut self, due: Due) -> Result<(), AskEnded> {
        match due {
            Due::Say(sentence) if self.console.has_progress() && self.open.is_none() => {
                self.show(&[RenderPiece::Progress(sentence)])
            }
            Due::Say(sentence) => {
                if !std::mem::replace(&mut self.wait_told, true) {
                    self.say(Tone::Dim, &format!("{}.", marked(&sentence)));
                    self.patience.told();
                }
                Ok(())
            }
            Due::GiveUp(sentence) => {
                let pieces = self.renderer.remark_once(NoticeLevel::Error, &sentence);
                self.show(&pieces)?;
                if self.open.take().is_some() {
                    self.say(Tone::Dim, "the question is dropped, since no answer would reach the engine.");
                }
                // What it may still do is not waited for.
                let _ = self.client.send_request("bb/stop", json!({ "sessionId": self.session_id }));
                Err(AskEnded::GaveUp)
            }
        }
    }

    fn prompt(&mut self, question: &str) -> Result<u64, AskEnded> {
        let params = json!({ "sessionId": self.session_id, "text": question });
        Ok(self.client.send_request("bb/sendMessage", params)?)
    }

    fn prompt_answered(&mut self, outcome: Result<Value, Refusal>) -> Result<Next, AskEnded> {
        match outcome {
            Ok(_) => Ok(Next::Listen),
            Err(refusal) if refusal.code == "untrusted_workspace" => {
                if !self.interactive {
                    self.say(
                        Tone::Bad,
                        &format!("{} Nobody can be asked here: pass --trust.", marked(&refusal.message)),
                    );
                    return Err(AskEnded::NobodyTrusts);
                }
                self.say(Tone::Warn, &marked(&refusal.message));
                self.open = Some(Open::TrustForPrompt);
                self.put_question();
                Ok(Next::Listen)
            }
            Err(refusal) => Err(AskEnded::Refused(refusal)),
        }
    }

    fn answered(&mut self, id: u64, outcome: Result<Value, Refusal>) -> Result<Next, AskEnded> {
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
        if let Some(permission) = self.parts.remove(&id) {
            self.parts_decided(permission, outcome)?;
            return Ok(Next::Listen);
        }
        self.open = match self.open.take() {
            Some(Open::Parting(permission, awaited)) if awaited == id => {
                self.parts_came(*permission, outcome)?;
                return Ok(Next::Listen);
            }
            open => open,
        };
        let Some((pending, decision)) = self.answers.remove(&id) else { return Ok(Next::Listen) };
        if let Err(refusal) = outcome {
            self.say(Tone::Bad, &format!("the answer was not taken: {}", marked(&refusal.message)));
            // The engine still waits. A denial needs nothing that could be missing; if even that is refused, it was
            // settled already.
            if decision != Decision::Deny {
                self.decide(pending, None)?;
            }
        }
        Ok(Next::Listen)
    }

    /// The first Ctrl-C. Before the prompt was taken there is no turn to stop, so `stop` stays empty.
    fn stop(&mut self, prompt_held_back: bool) -> Result<(), AskEnded> {
        self.outcome.interrupted = true;
        if prompt_held_back {
            return Ok(());
        }
        self.say(Tone::Warn, "stopping… (Ctrl-C again quits at once)");
        let params = json!({ "sessionId": self.session_id });
        self.stop = Some(self.client.send_request("bb/stop", params)?);
        Ok(())
    }

    pub(super) fn say(&mut self, tone: Tone, text: &str) {
        let pieces = self.renderer.remark(tone, text);
        // A remark goes to stderr; at most a newline of it goes to stdout, whose end the next answer will notice.
        let _ = self.show(&pieces);
    }

    pub(super) fn show(&mut self, pieces: &[RenderPiece]) -> Result<(), AskEnded> {
        self.console.show(pieces).map_err(|error| AskEnded::at_stdout(&error))
    }
}

fn question_is_open(open: &Option<Open>) -> bool {
    matches!(open, Some(Open::TrustForPrompt))
}
