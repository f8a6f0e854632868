//! The commands that run in the background: of which turn they are, what they printed, who stops them.
//!
//! Owns them from their start to a while after their end, and the bounds of both. Never runs one: it asks the loop to, as for any
//! command, and says the end of each itself, since the turn that began it does something else meanwhile (decision 0040).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::EmbeddedParts;
use crate::app::inbox::{Answer, Reply};
use crate::app::ports::{BackgroundRun, ClientRequest, CommandRan, EngineReport};
use crate::domain::background::Background;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::dialect::desktop::message::{ServerMessage, ToolStatus};
use crate::domain::steps::CallInOutput;
use crate::host::ports::{BackgroundNews, BackgroundStart, BackgroundState, NewsWait, PortError};

/// Commands of one session that run at one time: a server, a watcher, a build or two.
const IN_SESSION: usize = 8;

/// Commands that run at one time in all; each has guardians, pipes and a shell.
const IN_ALL: usize = 16;

/// Commands that are over and can still be read. The oldest is forgotten.
const OVER: usize = 32;

/// Bytes of output that wait to be read: what a model reads at once and some more. The oldest give way, and are counted.
const UNREAD: usize = 64 * 1024;

/// Bytes of the output that the end of a call shows.
const SHOWN: usize = 16 * 1024;

/// Pieces on their way here. While they wait, the command waits.
const PIECES: usize = 16;

/// How long a command is waited for before the model hears that it was started: long enough for one that cannot start.
const FIRST_NEWS: Duration = Duration::from_millis(500);

/// How long a stop waits for the end: a process is killed after a second and gone after three.
const STOP_TIME: Duration = Duration::from_secs(5);

/// Why a command was stopped, as the end of a sentence.
pub(super) const BY_TURN: &str = "with its turn";
pub(super) const BY_USER: &str = "by the user";
pub(super) const BY_MODEL: &str = "as you asked";
pub(super) const BY_TRUST: &str = "since the workspace is not trusted any more";
pub(super) const BY_SESSION: &str = "with its session";

/// All of them, of all sessions; oldest first.
#[derive(Default)]
pub(super) struct BackgroundCommands(Mutex<VecDeque<Arc<BackgroundCommand>>>);

/// One command.
struct BackgroundCommand {
    session_id: String,
    turn: u64,
    call: CallInOutput,
    lasts: Background,
    stop: watch::Sender<bool>,
    /// Told whenever something of `news` changed.
    changed: watch::Sender<()>,
    news: Mutex<UnreadNews>,
}

struct UnreadNews {
    unread: VecDeque<u8>,
    skipped: u64,
    state: BackgroundState,
    /// Who stopped it first.
    stopped: Option<&'static str>,
}

impl BackgroundCommand {
    fn news(&self) -> MutexGuard<'_, UnreadNews> {
        // No code panics while it holds the lock.
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.news().state != BackgroundState::Running
    }

    fn stop(&self, why: &'static str) {
        self.news().stopped.get_or_insert(why);
        self.stop.send_replace(true);
    }

    fn printed(&self, bytes: &[u8]) {
        {
            let mut news = self.news();
            news.unread.extend(bytes);
            let over = news.unread.len().saturating_sub(UNREAD);
            news.unread.drain(..over);
            news.skipped += over as u64;
        }
        self.changed.send_replace(());
    }

    /// What is new, which then counts as read.
    fn read(&self) -> BackgroundNews {
        let mut news = self.news();
        let state = news.state.clone();
        // Half a letter waits for its other half, while more can come.
        let half =
            if state == BackgroundState::Running { half_a_letter(news.unread.make_contiguous()) } else { 0 };
        let whole = news.unread.len() - half;
        let bytes: Vec<u8> = news.unread.drain(..whole).collect();
        let skipped = std::mem::take(&mut news.skipped);
        BackgroundNews { printed: String::from_utf8_lossy(&bytes).into_owned(), skipped, state }
    }

    fn holds(&self, text: &str) -> bool {
        String::from_utf8_lossy(self.news().unread.make_contiguous()).contains(text)
    }

    /// Waits until it is over, or has printed what is waited for.
    async fn wait(&self, wait: &NewsWait) {
        let mut changed = self.changed.subscribe();
        let waiting = async {
            while !(self.is_over() || wait.until.as_ref().is_some_and(|text| self.holds(text))) {
                if changed.changed().await.is_err() {
                    return;
                }
            }
        };
        // Past its time it is told as it stands.
        let _ = tokio::time::timeout(wait.time, waiting).await;
    }
}

/// Bytes at the end that begin a letter and do not end it.
fn half_a_letter(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        Ok(_) | Err(_) => 0,
    }
}

impl BackgroundCommands {
    fn all(&self) -> MutexGuard<'_, VecDeque<Arc<BackgroundCommand>>> {
        // No code panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn those(&self, which: impl Fn(&BackgroundCommand) -> bool) -> Vec<Arc<BackgroundCommand>> {
        self.all().iter().filter(|command| which(command)).cloned().collect()
    }

    /// The command of this call.
    fn named(&self, session_id: &str, id: &str) -> Option<Arc<BackgroundCommand>> {
        self.those(|one| one.session_id == session_id && one.call.call_id == id).pop()
    }

    /// Takes one in, if there is room.
    fn add(&self, command: Arc<BackgroundCommand>) -> Result<(), PortError> {
        let mut all = self.all();
        let running = || all.iter().filter(|one| !one.is_over());
        let here = running().filter(|one| one.session_id == command.session_id).count();
        if here >= IN_SESSION || running().count() >= IN_ALL {
            return Err(PortError {
                code: "overloaded".to_owned(),
                message: "Too many commands run in the background; stop one of them first.".to_owned(),
            });
        }
        while all.iter().filter(|one| one.is_over()).count() > OVER {
            let Some(oldest) = all.iter().position(|one| one.is_over()) else { break };
            all.remove(oldest);
        }
        all.push_back(command);
        Ok(())
    }

    /// The user, or the loss of something that they need, stops them.
    pub(super) fn stop_call(&self, session_id: &str, call_id: &str) {
        self.named(session_id, call_id).iter().for_each(|command| command.stop(BY_USER));
    }

    /// Nothing may run any more.
    pub(super) fn stop_all(&self, why: &'static str) {
        self.all().iter().for_each(|command| command.stop(why));
    }

    /// A session is gone, or goes to another window.
    pub(super) fn forget(&self, session_id: &str) {
        self.all().retain(|command| {
            let is_other = command.session_id != session_id;
            if !is_other {
                command.stop(BY_SESSION);
            }
            is_other
        });
    }

    /// What is new of one, after a wait.
    pub(super) async fn news(&self, session_id: &str, id: &str, wait: &NewsWait) -> Option<BackgroundNews> {
        let command = self.named(session_id, id)?;
        command.wait(wait).await;
        Some(command.read())
    }

    /// Stops one, and tells what is new of it.
    pub(super) async fn stop(&self, session_id: &str, id: &str) -> Option<BackgroundNews> {
        self.named(session_id, id)?.stop(BY_MODEL);
        self.news(session_id, id, &NewsWait { time: STOP_TIME, until: None }).await
    }

    /// Stops those that end with a turn, and waits until they are over.
    pub(super) async fn end_turn(&self, session_id: &str, turn: u64) {
        let of_turn = self.those(|one| {
            one.session_id == session_id
                && one.turn == turn
                && one.lasts == Background::Turn
                && !one.is_over()
        });
        of_turn.iter().for_each(|command| command.stop(BY_TURN));
        for command in of_turn {
            command.wait(&NewsWait { time: STOP_TIME, until: None }).await;
        }
    }
}

/// Starts a command for a turn, and tells what is known of it after a moment.
pub(super) async fn start(
    shared: &Arc<EmbeddedParts>,
    session_id: &str,
    turn: u64,
    start: BackgroundStart,
) -> Result<BackgroundNews, PortError> {
    let BackgroundStart { call, command, cwd, lasts } = start;
    let (stop, stopped) = watch::channel(false);
    let one = Arc::new(BackgroundCommand {
        session_id: session_id.to_owned(),
        turn,
        call,
        lasts,
        stop,
        changed: watch::channel(()).0,
        news: Mutex::new(UnreadNews {
            unread: VecDeque::new(),
            skipped: 0,
            state: BackgroundState::Running,
            stopped: None,
        }),
    });
    shared.background.add(Arc::clone(&one))?;
    let (printed, pieces) = mpsc::channel(PIECES);
    let (reply, answer) = Reply::new();
    let background = Some(BackgroundRun { lasts, stop: stopped, printed });
    let call_id = Some(one.call.call_id.clone());
    let want = ClientRequest::RunCommand { command, cwd, call_id, background, reply };
    tell(shared, said(&one, ToolStatus::Started, Value::Null, shared)).await;
    tell(shared, EngineReport::Wants { session_id: session_id.to_owned(), want }).await;
    shared.runtime.spawn(follow(Arc::clone(shared), Arc::clone(&one), pieces, answer));
    one.wait(&NewsWait { time: FIRST_NEWS, until: None }).await;
    Ok(one.read())
}

/// Hears a command to its end, and says it.
async fn follow(
    shared: Arc<EmbeddedParts>,
    command: Arc<BackgroundCommand>,
    mut pieces: mpsc::Receiver<Vec<u8>>,
    mut answer: Answer<CommandRan>,
) {
    let mut open = true;
    let ran = loop {
        tokio::select! {
            piece = pieces.recv(), if open => match piece {
                Some(piece) => command.printed(&piece),
                None => open = false,
            },
            ran = &mut answer => break ran.unwrap_or_else(|_| Err(CodedError::internal())),
        }
    };
    while let Ok(piece) = pieces.try_recv() {
        command.printed(&piece);
    }
    let stopped = command.news().stopped;
    let (state, status, result) = end(ran, stopped);
    tell(&shared, said(&command, status, result, &shared)).await;
    let (session_id, call_id) = (command.session_id.clone(), command.call.call_id.clone());
    tell(&shared, EngineReport::BackgroundOver { session_id, call_id }).await;
    command.news().state = state;
    command.changed.send_replace(());
}

/// How a command ended: for the model, and for the user.
fn end(
    ran: Result<CommandRan, CodedError>,
    stopped: Option<&'static str>,
) -> (BackgroundState, ToolStatus, Value) {
    let output = |ran: &CommandRan| {
        let printed = format!("stdout:\n{}\nstderr:\n{}\n", ran.stdout, ran.stderr);
        let from = printed.ceil_char_boundary(printed.len().saturating_sub(SHOWN));
        printed[from..].to_owned()
    };
    let shown = |summary: String, text: String| json!({ "summary": summary, "text": text });
    match (ran, stopped) {
        (Ok(ran), Some(why)) => (
            BackgroundState::Stopped(why),
            ToolStatus::Completed,
            shown(format!("The command was stopped {}.", for_the_user(why)), output(&ran)),
        ),
        (Ok(ran), None) => (
            BackgroundState::Ended(ran.exit_code),
            ToolStatus::Completed,
            shown(format!("The command ended with exit code {}.", ran.exit_code), output(&ran)),
        ),
        // It was stopped before it began.
        (Err(error), Some(why)) if error.code == ErrorCode::Cancelled => (
            BackgroundState::Stopped(why),
            ToolStatus::Completed,
            shown(format!("The command was stopped {}.", for_the_user(why)), String::new()),
        ),
        (Err(error), _) => {
            let result = json!({ "error": error.message });
            let failed = PortError { code: error.code.as_str().to_owned(), message: error.message };
            (BackgroundState::Failed(failed), ToolStatus::Failed, result)
        }
    }
}

fn for_the_user(why: &'static str) -> &'static str {
    if why == BY_MODEL { "by the agent" } else { why }
}

/// What is said of its call.
fn said(
    command: &BackgroundCommand,
    status: ToolStatus,
    result: Value,
    shared: &EmbeddedParts,
) -> EngineReport {
    let CallInOutput { call_id, tool_name, args } = command.call.clone();
    let background = Some(command.lasts);
    let message = ServerMessage::ToolExecute { call_id, tool_name, args, status, result, background };
    let event = message.into_event(Some(command.turn), (shared.now_ms)());
    EngineReport::Said { session_id: command.session_id.clone(), event, cursor: None }
}

async fn tell(shared: &EmbeddedParts, report: EngineReport) {
    // A closed channel means that the loop is gone, and nobody is left to hear.
    let _ = shared.reports.send(report).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(session_id: &str, id: &str) -> Arc<BackgroundCommand> {
        let call = CallInOutput {
            call_id: id.to_owned(),
            tool_name: "run_command".to_owned(),
            args: serde_json::Map::new(),
        };
        Arc::new(BackgroundCommand {
            session_id: session_id.to_owned(),
            turn: 1,
            call,
            lasts: Background::Turn,
            stop: watch::channel(false).0,
            changed: watch::channel(()).0,
            news: Mutex::new(UnreadNews {
                unread: VecDeque::new(),
                skipped: 0,
                state: BackgroundState::Running,
                stopped: None,
            }),
        })
    }

    #[test]
    fn what_was_read_is_not_told_again_and_what_is_too_much_is_counted() {
        let one = command("s", "c");
        one.printed("one\né".as_bytes().split_last().unwrap().1);
        assert_eq!(one.read().printed, "one\n", "half a letter waits");
        one.printed(&["é".as_bytes()[1..].to_vec(), b"x".repeat(UNREAD)].concat());
        let news = one.read();
        assert_eq!((news.skipped, news.printed.len()), (2, UNREAD));
        assert_eq!(
            one.read(),
            BackgroundNews { printed: String::new(), skipped: 0, state: BackgroundState::Running }
        );
    }

    #[test]
    fn there_is_room_for_a_few_and_a_session_that_is_gone_takes_its_own_along() {
        let all = BackgroundCommands::default();
        for number in 0..IN_SESSION {
            all.add(command("s", &number.to_string())).unwrap();
        }
        assert_eq!(all.add(command("s", "more")).unwrap_err().code, "overloaded");
        all.add(command("t", "another")).unwrap();
        let of_s = all.named("s", "0").unwrap();
        all.forget("s");
        assert!(*of_s.stop.borrow() && all.named("s", "0").is_none());
        assert!(!*all.named("t", "another").unwrap().stop.borrow());
    }
}
