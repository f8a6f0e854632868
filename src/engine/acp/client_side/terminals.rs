//! `terminal/*`: commands of an agent that run under guardians, with bounded time, processor time, memory and output.
//!
//! Owns the processes of every session until it lets them go or ends. Never asks: the adapter creates a terminal only after the
//! user allowed its command.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::Sender;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::printed::Teller;
use super::screen::Screen;
use super::words::{CreateTerminal, Printed, TerminalExit, TerminalOutput};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::engine::acp::installed::program_on;
use crate::engine::acp::process::refusal;
use crate::platform::real_path;
use crate::process::{Contained, Directory, Ending, Hold, Job, NotStarted, ProcessBounds};
use crate::protocol::standing::CommandBounds;

/// Terminals of one session that were not released. An agent that forgets to release them is refused more, and hears why.
const MOST: usize = 32;
/// Bytes of output that are kept of one, unless the agent wants fewer: more than a model reads.
const MOST_OUTPUT: usize = 1 << 20;
/// How long the rest of the output is waited for after the end of the command. What it left running may hold the pipe open, and is
/// being ended.
const REST: Duration = Duration::from_millis(500);

/// The terminals of an agent, by session.
#[derive(Debug)]
pub struct Terminals {
    guard: PathBuf,
    /// What a command may take and use: what one of our own may.
    bounds: CommandBounds,
    /// Who hears what they print.
    news: Sender<Printed>,
    open: Mutex<OpenTerminals>,
}

#[derive(Debug, Default)]
struct OpenTerminals {
    made: u64,
    by_session: HashMap<String, HashMap<String, Arc<OpenTerminal>>>,
}

/// One command. Dropped by the last who has it, it is killed with all that it started.
#[derive(Debug)]
struct OpenTerminal {
    screen: Arc<Mutex<Screen>>,
    end: Arc<Notify>,
    ended: watch::Receiver<Option<Ending>>,
    keeper: JoinHandle<()>,
}

impl Drop for OpenTerminal {
    fn drop(&mut self) {
        // The process belongs to the task, and is killed where it is dropped.
        self.keeper.abort();
    }
}

impl Terminals {
    /// None yet. `guard` is the executable of `breadboard-ls`; what terminals print goes to `news`, which is to be read.
    pub fn new(guard: PathBuf, bounds: CommandBounds, news: Sender<Printed>) -> Self {
        Self { guard, bounds, news, open: Mutex::default() }
    }

    /// The directory that a command runs in, opened: the first of the session's folders unless it names another place in one of
    /// them, whatever links lead there.
    ///
    /// # Errors
    ///
    /// `path_outside_workspace`, `not_found`.
    pub fn place(wanted: Option<&Path>, folders: &[PathBuf]) -> Result<Directory, CodedError> {
        let outside = |path: &Path| {
            CodedError::new(
                ErrorCode::PathOutsideWorkspace,
                format!(
                    "`{}` is not in a folder of the session, so nothing runs there; name one that is.",
                    path.display()
                ),
            )
        };
        let Some(wanted) = wanted.or(folders.first().map(PathBuf::as_path)) else {
            return Err(outside(Path::new(".")));
        };
        let missing = |_| {
            CodedError::new(
                ErrorCode::NotFound,
                format!("The folder `{}` does not exist; name one that does.", wanted.display()),
            )
        };
        let real = real_path(wanted).map_err(missing)?;
        // By the path without links: what is shown to the user is then what was opened.
        let directory = Directory::open(&real).map_err(missing)?;
        let is_inside = wanted.is_absolute()
            && directory.real_path() == real
            && folders
                .iter()
                .filter_map(|folder| real_path(folder).ok())
                .any(|folder| real.starts_with(folder));
        if is_inside { Ok(directory) } else { Err(outside(wanted)) }
    }

    /// Starts a command in a directory that `place` gave, and answers with the terminal's id.
    ///
    /// # Errors
    ///
    /// `conflict` when another directory lies at its path now, `overloaded` past 32 terminals of a session, `not_found` for a
    /// program that is not there.
    pub async fn create(
        &self,
        session: &str,
        cwd: Directory,
        params: CreateTerminal,
    ) -> Result<String, CodedError> {
        if self.open().by_session.get(session).is_some_and(|open| open.len() >= MOST) {
            return Err(too_many());
        }
        let most =
            params.output_byte_limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(MOST_OUTPUT);
        let env: Vec<(OsString, OsString)> =
            params.env.into_iter().map(|variable| (variable.name.into(), variable.value.into())).collect();
        let (program, args) = self.words(params.command, params.args, &env, cwd.path())?;
        let inherited = std::env::vars_os().collect();
        let job = Job {
            program,
            args,
            inherited,
            env,
            cwd,
            guard: self.guard.clone(),
            hold: Hold::Cgroup,
            confinement: None,
        };
        let (streams, output) = streams().map_err(|error| {
            CodedError::new(
                ErrorCode::Overloaded,
                format!(
                    "There is no pipe left for a terminal ({}); release some and try again.",
                    error.kind()
                ),
            )
        })?;
        let process = Contained::spawn(&job, streams).await.map_err(|why| refusal(&job.program, &why))?;
        let time = Duration::from_secs(self.bounds.timeout_seconds);
        let id = self.next_id();
        let teller = Teller::begin(self.news.clone(), session, &id).await;
        let terminal = Arc::new(OpenTerminal::keep(process, output, most.min(MOST_OUTPUT), time, teller));
        let mut open = self.open();
        let of_session = open.by_session.entry(session.to_owned()).or_default();
        if of_session.len() >= MOST {
            return Err(too_many());
        }
        of_session.insert(id.clone(), terminal);
        Ok(id)
    }

    /// What it printed so far, and how it ended if it did.
    pub fn output(&self, session: &str, id: &str) -> Result<TerminalOutput, CodedError> {
        let terminal = self.find(session, id)?;
        let ended = *terminal.ended.borrow();
        let (output, truncated) = lock(&terminal.screen).text(ended.is_some());
        Ok(TerminalOutput { output, truncated, exit_status: ended.map(exit) })
    }

    /// Waits until its command has ended. Refused when it is released meanwhile.
    pub async fn wait_for_exit(&self, session: &str, id: &str) -> Result<TerminalExit, CodedError> {
        let mut ended = self.find(session, id)?.ended.clone();
        let ending = ended.wait_for(Option::is_some).await.ok().and_then(|ended| *ended);
        ending.map(exit).ok_or_else(|| unknown(id))
    }

    /// Ends its command and all that it started, and waits for it; the terminal and its output stay.
    pub async fn kill(&self, session: &str, id: &str) -> Result<(), CodedError> {
        let terminal = self.find(session, id)?;
        terminal.end.notify_one();
        let mut ended = terminal.ended.clone();
        // It is only gone when it was released meanwhile, and that kills too.
        let _ = ended.wait_for(Option::is_some).await;
        Ok(())
    }

    /// Lets a terminal go; what still runs of it is killed.
    pub fn release(&self, session: &str, id: &str) -> Result<(), CodedError> {
        let mut open = self.open();
        let of_session = open.by_session.get_mut(session).ok_or_else(|| unknown(id))?;
        let released = of_session.remove(id).ok_or_else(|| unknown(id));
        if of_session.is_empty() {
            open.by_session.remove(session);
        }
        released.map(drop)
    }

    /// Kills everything that runs in the terminals of a session, and forgets them.
    pub fn end_session(&self, session: &str) {
        let ended = self.open().by_session.remove(session);
        drop(ended);
    }

    /// What is started: a command without arguments that names no program is a line for the shell, since agents send both.
    fn words(
        &self,
        command: String,
        args: Vec<String>,
        env: &[(OsString, OsString)],
        cwd: &Path,
    ) -> Result<(String, Vec<String>), CodedError> {
        let CommandBounds { cpu_seconds, memory_mebibytes, .. } = self.bounds;
        let within = ProcessBounds { cpu_seconds, memory_mebibytes };
        let is_line = args.is_empty()
            && command.contains(|c: char| c.is_whitespace() || "|&;<>()$`\\\"'*?[#~=%{}".contains(c))
            && !cwd.join(&command).is_file();
        if is_line {
            return Ok(within.line(&command));
        }
        // The shell that sets the bounds would start, and find nothing to become.
        let given = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
        let path = given.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
        match program_on(&command, &path.to_string_lossy(), cwd) {
            Some(_) => Ok(within.program(command, args)),
            None => Err(refusal(&command, &NotStarted::Failed(io::ErrorKind::NotFound.into()))),
        }
    }

    fn next_id(&self) -> String {
        let mut open = self.open();
        open.made += 1;
        format!("terminal-{}", open.made)
    }

    fn find(&self, session: &str, id: &str) -> Result<Arc<OpenTerminal>, CodedError> {
        let open = self.open();
        open.by_session.get(session).and_then(|open| open.get(id)).cloned().ok_or_else(|| unknown(id))
    }

    fn open(&self) -> MutexGuard<'_, OpenTerminals> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenTerminal {
    fn keep(
        mut process: Contained,
        mut output: pipe::Receiver,
        most: usize,
        time: Duration,
        mut teller: Teller,
    ) -> Self {
        let screen = Arc::new(Mutex::new(Screen::new(most)));
        let end = Arc::new(Notify::new());
        let (tell, ended) = watch::channel(None);
        let (shown, asked) = (Arc::clone(&screen), Arc::clone(&end));
        let keeper = tokio::spawn(async move {
            let mut piece = vec![0; 16 * 1_024];
            let mut at_end = false;
            let mut was_late = false;
            let over = tokio::time::sleep(time);
            tokio::pin!(over);
            let ending = loop {
                tokio::select! {
                    ending = process.exited() => break ending,
                    () = asked.notified() => {
                        process.end().await;
                        break process.exited().await;
                    }
                    () = &mut over => {
                        was_late = true;
                        process.end().await;
                        break process.exited().await;
                    }
                    read = output.read(&mut piece), if !at_end => {
                        at_end = !show(&shown, &mut teller, &piece, read);
                    }
                    () = teller.due(), if teller.has_news() => teller.tell(),
                }
            };
            let rest = async {
                while !at_end {
                    let read = output.read(&mut piece).await;
                    at_end = !show(&shown, &mut teller, &piece, read);
                }
            };
            // Not in time: then the output is what came so far.
            let _ = tokio::time::timeout(REST, rest).await;
            if was_late {
                let why = too_long(time);
                teller.push(why.as_bytes());
                lock(&shown).push(why.as_bytes());
            }
            // The card has it all before the agent goes on.
            teller.end(exit(ending)).await;
            tell.send_replace(Some(ending));
            // What it left running is ended by its guardians; only then may they be let go.
            process.end().await;
        });
        Self { screen, end, ended, keeper }
    }
}

/// `false` at the end of the output.
fn show(screen: &Mutex<Screen>, teller: &mut Teller, piece: &[u8], read: io::Result<usize>) -> bool {
    match read {
        Ok(read @ 1..) => {
            teller.push(&piece[..read]);
            lock(screen).push(&piece[..read]);
            true
        }
        Ok(0) | Err(_) => false,
    }
}

fn lock(screen: &Mutex<Screen>) -> MutexGuard<'_, Screen> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nothing to read, and one pipe for both outputs, so that their order is kept.
fn streams() -> io::Result<([OwnedFd; 3], pipe::Receiver)> {
    let (output, stdout) = io::pipe()?;
    let stderr = stdout.try_clone()?;
    let stdin = std::fs::File::open("/dev/null")?;
    Ok(([stdin.into(), stdout.into(), stderr.into()], pipe::Receiver::from_owned_fd(output.into())?))
}

fn exit(ending: Ending) -> TerminalExit {
    TerminalExit {
        exit_code: ending.code.and_then(|code| u32::try_from(code).ok()),
        signal: ending.signal.map(name_of),
    }
}

fn name_of(signal: i32) -> String {
    match signal {
        1 => "SIGHUP".to_owned(),
        2 => "SIGINT".to_owned(),
        3 => "SIGQUIT".to_owned(),
        4 => "SIGILL".to_owned(),
        6 => "SIGABRT".to_owned(),
        8 => "SIGFPE".to_owned(),
        9 => "SIGKILL".to_owned(),
        11 => "SIGSEGV".to_owned(),
        13 => "SIGPIPE".to_owned(),
        14 => "SIGALRM".to_owned(),
        15 => "SIGTERM".to_owned(),
        // The others have different numbers on different systems.
        number => format!("signal {number}"),
    }
}

/// What stands behind the output of a command that was ended, so that the agent does not take it for a failure of its own.
fn too_long(time: Duration) -> String {
    format!(
        "\n[breadboard-ls ended this command after {} s, which is as long as a command may take here]\n",
        time.as_secs()
    )
}

fn unknown(id: &str) -> CodedError {
    let id: String = id.chars().take(120).collect();
    CodedError::new(
        ErrorCode::NotFound,
        format!("This session has no terminal `{id}`; it was released, or never created."),
    )
}

fn too_many() -> CodedError {
    CodedError::new(
        ErrorCode::Overloaded,
        format!("This session has {MOST} terminals already, so no more is made; release one."),
    )
}
