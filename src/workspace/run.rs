//! `FileJob::Run`: one command of an agent, in the workspace.
//!
//! Owns its environment, its bounds and its output. It runs under guardians (`crate::process`), so that whatever it left running
//! is ended too. Never decides whether it may run, and never passes on a secret of ours.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::task::JoinHandle;

use super::capture::Capture;
use super::live_output::LiveOutput;
use super::root::{Roots, cause, parse, refusal, short};
use crate::app::ports::CommandRan;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::policy::confinement::Confinement;
use crate::process::{
    Confined, Contained, Directory, Ending, Hold, Job, NotStarted, ProcessBounds, Stream as End, Streams,
};
use crate::protocol::standing::CommandBounds;

/// How long things may take, and what they may use.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// The command.
    pub time: Duration,
    /// Output of what it left running, after its own end.
    pub rest: Duration,
    /// Each of its processes.
    pub process: ProcessBounds,
    /// The files that it sees and changes; `None`: all of the user's.
    pub confinement: Option<Confinement>,
}

impl Limits {
    /// As the user set them.
    pub(super) fn of(bounds: &CommandBounds) -> Self {
        Self {
            time: Duration::from_secs(bounds.timeout_seconds),
            rest: Duration::from_millis(500),
            process: ProcessBounds {
                cpu_seconds: bounds.cpu_seconds,
                memory_mebibytes: bounds.memory_mebibytes,
            },
            confinement: None,
        }
    }
}

/// How often it is checked whether anybody still waits.
const WATCH: Duration = Duration::from_millis(100);

/// The directory to run in, from a path relative to the first root: the one that the root's handle leads to. Refused when the
/// path that the user was shown leads to another one.
pub(super) fn directory(roots: &Roots, cwd: &str) -> Result<Directory, CodedError> {
    let path = parse(cwd)?;
    let root = roots.choose(None)?;
    let place = root.find(&path)?;
    let opened = root.dir()?.open_dir(&place).map_err(|error| refusal(&error, &path))?;
    let shown = root.path()?.join(place);
    Directory::from_handle(opened.into_std_file(), shown.clone())
        .ok()
        .filter(Directory::is_at_its_path)
        .ok_or_else(|| refused(cwd, &NotStarted::DirectoryReplaced(shown)))
}

/// Runs a command to its end, or to the end of its time, or until nobody waits for it.
pub(super) async fn run(
    command: &str,
    directory: Directory,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    guard: PathBuf,
    limits: Limits,
    is_abandoned: impl Fn() -> bool,
    live: Option<Arc<LiveOutput>>,
) -> Result<CommandRan, CodedError> {
    if command.trim().is_empty() || command.contains('\0') {
        return Err(CodedError::new(ErrorCode::InvalidParams, "There is no command to run; name one."));
    }
    let (program, args) = limits.process.line(command);
    let inherited = environment.into_iter().collect();
    let (hold, confinement) = (Hold::Cgroup, limits.confinement);
    let job = Job { program, args, inherited, env: Vec::new(), cwd: directory, guard, hold, confinement };
    let (streams, outputs) = streams().map_err(|error| refused(command, &NotStarted::Failed(error)))?;
    let started = Instant::now();
    let spawned = Contained::spawn(&job, streams).await;
    let mut process = spawned.map_err(|why| refused(command, &why))?;
    let (stdout, stderr) = (
        OutputStream::read(outputs.0, live.clone(), false),
        OutputStream::read(outputs.1, live.clone(), true),
    );
    let outcome = wait(&mut process, limits.time, &is_abandoned, live.as_deref()).await;
    let (ending, timed_out) = match outcome {
        CommandOutcome::Ended(ending) => (ending, false),
        CommandOutcome::TimeOver | CommandOutcome::Abandoned => {
            process.end().await;
            (process.exited().await, matches!(outcome, CommandOutcome::TimeOver))
        }
    };
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let rest = tokio::time::Instant::now() + limits.rest;
    let (stdout, mut stderr) = (stdout.finish(rest).await, stderr.finish(rest).await);
    stderr.push_str(&about_confinement(process.confined(), exit_code(ending), &stdout, &stderr));
    live.iter().for_each(|live| live.end());
    // The next command finds nothing of this one.
    process.end_at_once().await;
    Ok(CommandRan { exit_code: exit_code(ending), stdout, stderr, duration_ms, timed_out })
}

/// What is told behind the output of a command: that it was not confined, or that it was where that may be why it failed.
fn about_confinement(confined: Confined, code: i32, stdout: &str, stderr: &str) -> String {
    let denied = ["ermission denied", "EACCES", "EPERM", "peration not permitted", "ead-only file system"];
    let is_denied = || denied.iter().any(|word| stderr.contains(word) || stdout.contains(word));
    let why = match confined {
        Confined::Impossible => {
            "This system cannot confine commands, so this one could read and change every file of the user."
        }
        Confined::Yes if code != 0 && is_denied() => {
            "It ran confined: it could change only the workspace, temporary files and caches of builds, and could read no other \
             file of the user and no key. Whoever wants more says so in the settings of commands."
        }
        Confined::Yes | Confined::NotWanted => return String::new(),
    };
    let gap = if stderr.is_empty() || stderr.ends_with('\n') { "" } else { "\n" };
    format!("{gap}[{why}]\n")
}

enum CommandOutcome {
    Ended(Ending),
    TimeOver,
    Abandoned,
}

async fn wait(
    process: &mut Contained,
    time: Duration,
    is_abandoned: &impl Fn() -> bool,
    live: Option<&LiveOutput>,
) -> CommandOutcome {
    let over = tokio::time::sleep(time);
    tokio::pin!(over);
    let mut watch = tokio::time::interval(WATCH);
    loop {
        tokio::select! {
            ending = process.exited() => return CommandOutcome::Ended(ending),
            () = &mut over => return CommandOutcome::TimeOver,
            _ = watch.tick() => {
                live.iter().for_each(|live| live.tick());
                if is_abandoned() {
                    return CommandOutcome::Abandoned;
                }
            }
        }
    }
}

/// Why a command was not run.
fn refused(command: &str, why: &NotStarted) -> CodedError {
    match why {
        NotStarted::NoDirectory(_) => CodedError::new(ErrorCode::NotFound, why.sentence(command)),
        NotStarted::DirectoryReplaced(_) => CodedError::new(ErrorCode::Conflict, why.sentence(command)),
        NotStarted::Failed(error) => CodedError::new(
            ErrorCode::NotFound,
            format!("`{}` could not be started ({}); check the shell.", short(command), cause(error)),
        ),
    }
}

/// Nothing to read, and a pipe for each output.
pub(super) fn streams() -> io::Result<(Streams, (ChildStdout, ChildStderr))> {
    let (stdout, their_stdout) = io::pipe()?;
    let (stderr, their_stderr) = io::pipe()?;
    let nothing = File::open(if cfg!(windows) { "NUL" } else { "/dev/null" })?;
    let stdout = ChildStdout::from_std(End::from(stdout).into())?;
    let stderr = ChildStderr::from_std(End::from(stderr).into())?;
    Ok(([nothing.into(), their_stdout.into(), their_stderr.into()], (stdout, stderr)))
}

/// As a shell says it; -1 when nobody could say it, because the guardians were killed too.
fn exit_code(ending: Ending) -> i32 {
    ending.code.or(ending.signal.map(|signal| 128 + signal)).unwrap_or(-1)
}

/// One stream, read as it comes, so that a command never waits for us.
struct OutputStream {
    captured: Arc<Mutex<Capture>>,
    reader: JoinHandle<()>,
}

impl OutputStream {
    fn read(
        mut pipe: impl AsyncRead + Unpin + Send + 'static,
        live: Option<Arc<LiveOutput>>,
        is_error: bool,
    ) -> Self {
        let captured = Arc::new(Mutex::new(Capture::default()));
        let into = Arc::clone(&captured);
        let reader = tokio::spawn(async move {
            let mut piece = vec![0; 16 * 1_024];
            while let Ok(read @ 1..) = pipe.read(&mut piece).await {
                into.lock().unwrap_or_else(PoisonError::into_inner).push(&piece[..read]);
                if let Some(live) = &live {
                    live.take(&piece[..read], is_error).await;
                }
            }
        });
        Self { captured, reader }
    }

    /// What was printed up to the end of the stream, or up to a moment when something still holds it open.
    async fn finish(mut self, until: tokio::time::Instant) -> String {
        if tokio::time::timeout_at(until, &mut self.reader).await.is_err() {
            self.reader.abort();
        }
        self.captured.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::{CommandRan, Limits, LiveOutput, directory, run};
    use crate::domain::coded_error::{CodedError, ErrorCode};
    use crate::process::{Directory, ProcessBounds, this_program};
    use crate::protocol::standing::CommandBounds;
    use crate::workspace::capture::KEPT;
    use crate::workspace::root::Roots;
    use crate::workspace::root::tests::folder;

    fn limits() -> Limits {
        Limits::of(&CommandBounds::default())
    }

    fn environment(extra: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap();
        let extra = extra.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        std::iter::once((OsString::from("PATH"), path)).chain(extra).collect()
    }

    async fn ran(command: &str, at: &Path, limits: Limits) -> Result<CommandRan, CodedError> {
        run(command, Directory::open(at).unwrap(), environment(&[]), this_program(), limits, || false, None)
            .await
    }

    /// Waits until no process of the group of `leader` is left.
    async fn gone(leader: &str) {
        let id = rustix::process::Pid::from_raw(leader.trim().parse().unwrap()).unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while rustix::process::test_kill_process_group(id).is_ok() && !only_zombies(leader.trim()) {
            assert!(Instant::now() < until, "the group {leader} still runs");
            tokio::task::yield_now().await;
        }
    }

    /// In a container nobody may reap what lost its parent.
    fn only_zombies(group: &str) -> bool {
        let Ok(entries) = std::fs::read_dir("/proc") else { return false };
        entries
            .flatten()
            .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
            .filter_map(|stat| stat.rsplit_once(')').map(|(_, rest)| rest.to_owned()))
            .filter(|rest| rest.split_whitespace().nth(2) == Some(group))
            .all(|rest| rest.split_whitespace().next() == Some("Z"))
    }

    #[tokio::test]
    async fn a_command_answers_with_its_code_and_output() {
        let root = tempfile::tempdir().unwrap();
        let result = ran("echo out; echo err >&2; cat; exit 3", root.path(), limits()).await.unwrap();
        let expected = CommandRan {
            exit_code: 3,
            stdout: "out\n".to_owned(),
            stderr: "err\n".to_owned(),
            duration_ms: result.duration_ms,
            timed_out: false,
        };
        assert_eq!(result, expected);
        assert_eq!(ran("kill -9 $$", root.path(), limits()).await.unwrap().exit_code, 137);
        assert_eq!(ran("  ", root.path(), limits()).await.unwrap_err().code, ErrorCode::InvalidParams);
    }

    #[tokio::test]
    async fn no_secret_reaches_a_command() {
        let root = tempfile::tempdir().unwrap();
        let given = environment(&[
            ("BREADBOARD_API_URL", "u"),
            ("BREADBOARD_API_TOKEN", "t"),
            ("SOME_SECRET", "s"),
            ("X_API_KEY", "k"),
            ("HARMLESS", "h"),
        ]);
        let result = run(
            "env | cut -d= -f1",
            Directory::open(root.path()).unwrap(),
            given,
            this_program(),
            limits(),
            || false,
            None,
        )
        .await
        .unwrap();
        for name in ["BREADBOARD_API_URL", "BREADBOARD_API_TOKEN", "SOME_SECRET", "X_API_KEY"] {
            assert!(!result.stdout.lines().any(|line| line == name), "{name}");
        }
        assert!(result.stdout.lines().any(|line| line == "HARMLESS"), "{}", result.stdout);
    }

    #[tokio::test]
    async fn r000_36_a_command_runs_inside_the_workspace_only() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("d")).unwrap();
        std::fs::write(root.path().join("file"), "").unwrap();
        std::os::unix::fs::symlink("/etc", root.path().join("out")).unwrap();
        let roots = Roots::open(&[folder("ws", root.path())]);
        let at = directory(&roots, "d").unwrap();
        let result =
            run("pwd -P", at, environment(&[]), this_program(), limits(), || false, None).await.unwrap();
        assert_eq!(Path::new(result.stdout.trim()), root.path().join("d").canonicalize().unwrap());
        for (cwd, code) in [
            ("out", ErrorCode::PathOutsideWorkspace),
            ("..", ErrorCode::PathOutsideWorkspace),
            ("/etc", ErrorCode::PathOutsideWorkspace),
            ("missing", ErrorCode::NotFound),
            ("file", ErrorCode::NotFound),
        ] {
            assert_eq!(directory(&roots, cwd).unwrap_err().code, code, "{cwd}");
        }
    }

    #[tokio::test]
    async fn a_flood_is_cut_in_the_middle() {
        let root = tempfile::tempdir().unwrap();
        let command = "printf first; head -c 5000000 /dev/zero | tr '\\0' x; printf last";
        let result = ran(command, root.path(), limits()).await.unwrap();
        let left_out = 5_000_009 - 2 * KEPT;
        assert!(result.stdout.starts_with("first") && result.stdout.ends_with("last"));
        assert!(result.stdout.contains(&format!("[… {left_out} bytes left out …]")));
    }

    #[tokio::test]
    async fn r002_92_no_process_of_a_command_has_more_memory_or_processor_time_than_it_may() {
        let root = tempfile::tempdir().unwrap();
        let process = ProcessBounds { memory_mebibytes: 64, cpu_seconds: 1 };
        let small = Limits { process, ..limits() };
        let command = "dd if=/dev/zero of=/dev/null bs=200M count=1 2>&1; echo code $?; ulimit -d unlimited || echo kept";
        let result = ran(command, root.path(), small.clone()).await.unwrap();
        assert!(result.stdout.contains("code 1") && result.stdout.ends_with("kept\n"), "{result:?}");
        let result = ran("while :; do :; done", root.path(), small).await.unwrap();
        assert_eq!((result.exit_code, result.timed_out), (137, false), "{result:?}");
        let enough =
            ran("dd if=/dev/zero of=/dev/null bs=200M count=1", root.path(), limits()).await.unwrap();
        assert_eq!(enough.exit_code, 0, "{enough:?}");
    }

    #[tokio::test]
    async fn r002_91_what_a_command_prints_is_told_while_it_runs() {
        let root = tempfile::tempdir().unwrap();
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let live = LiveOutput::to(Box::new(move |text, is_error| drop(told.send((text, is_error)))), None);
        let done = root.path().join("heard");
        let wait =
            format!("echo out; echo err >&2; while ! test -e '{}'; do sleep 0.01; done", done.display());
        let at = Directory::open(root.path()).unwrap();
        let running = run(&wait, at, environment(&[]), this_program(), limits(), || false, Some(live));
        // The command ends only after both were heard.
        let hearing = async {
            let mut both = vec![heard.recv().await.unwrap(), heard.recv().await.unwrap()];
            std::fs::write(&done, "").unwrap();
            both.sort();
            both
        };
        let (ran, both) = tokio::join!(running, hearing);
        assert_eq!(both, [("err\n".to_owned(), true), ("out\n".to_owned(), false)]);
        assert_eq!((ran.unwrap().exit_code), 0);
    }

    #[tokio::test]
    async fn past_its_time_the_whole_group_ends_even_when_it_does_not_want_to() {
        let root = tempfile::tempdir().unwrap();
        let limits = Limits { time: Duration::from_secs(1), ..limits() };
        let command = "echo $$; trap '' TERM; (trap '' TERM; while :; do sleep 600; done) & while :; do sleep 600; done";
        let result = ran(command, root.path(), limits.clone()).await.unwrap();
        assert_eq!((result.exit_code, result.timed_out), (137, true));
        gone(&result.stdout).await;
        let polite =
            ran("trap 'echo bye; exit 7' TERM; sleep 600 & wait", root.path(), limits).await.unwrap();
        assert_eq!((polite.exit_code, polite.stdout.as_str(), polite.timed_out), (7, "bye\n", true));
    }

    #[tokio::test]
    async fn what_a_command_leaves_running_ends_with_it() {
        let root = tempfile::tempdir().unwrap();
        let limits = Limits { rest: Duration::from_millis(50), ..limits() };
        let result = ran("echo $$; sleep 600 &", root.path(), limits).await.unwrap();
        assert_eq!((result.exit_code, result.timed_out), (0, false));
        gone(&result.stdout).await;
    }

    #[tokio::test]
    async fn a_command_nobody_waits_for_is_ended() {
        let root = tempfile::tempdir().unwrap();
        let started = root.path().join("started");
        let seen = started.clone();
        let result = run(
            "echo $$; : > started; sleep 600",
            Directory::open(root.path()).unwrap(),
            environment(&[]),
            this_program(),
            limits(),
            move || seen.exists(),
            None,
        )
        .await
        .unwrap();
        assert!(started.exists());
        assert_eq!((result.exit_code, result.timed_out), (143, false));
        gone(&result.stdout).await;
    }
}
