//! `FileJob::Run`: one command of an agent, in the workspace.
//!
//! Owns its process group, its environment, its time and its output. Whatever the command left running when it ended is
//! ended too. Never decides whether it may run, and never passes on a secret of ours.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use super::capture::Capture;
use super::root::{Roots, cause, parse, refusal, short};
use crate::domain::policy::environment::may_inherit;
use crate::protocol::{ErrorCode, WireError};

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The command.
    pub time: Duration,
    /// Its end, once it was asked to.
    pub grace: Duration,
    /// Output of what it left running, after its own end.
    pub rest: Duration,
}

/// The limits of every command: a build or a test run of some size fits, a server that never ends does not.
pub const LIMITS: Limits = Limits {
    time: Duration::from_secs(120),
    grace: Duration::from_secs(2),
    rest: Duration::from_millis(500),
};

/// How often it is checked whether anybody still waits.
const WATCH: Duration = Duration::from_millis(100);

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ran {
    /// Its exit code; 128 and the signal's number when one ended it, as a shell says it.
    pub exit_code: i32,
    /// What it printed.
    pub stdout: String,
    /// What it complained.
    pub stderr: String,
    /// How long it ran.
    pub duration_ms: u64,
    /// Present, and true, when its time was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

/// The directory to run in, from a path relative to the first root.
pub fn directory(roots: &Roots, cwd: &str) -> Result<PathBuf, WireError> {
    let path = parse(cwd)?;
    let root = roots.choose(None)?;
    let place = root.find(&path)?;
    root.dir()?.open_dir(&place).map_err(|error| refusal(&error, &path))?;
    Ok(root.path()?.join(place))
}

/// Runs a command to its end, or to the end of its time, or until nobody waits for it.
pub async fn run(
    command: &str,
    directory: PathBuf,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    limits: Limits,
    is_abandoned: impl Fn() -> bool,
) -> Result<Ran, WireError> {
    if command.trim().is_empty() || command.contains('\0') {
        return Err(WireError::new(ErrorCode::InvalidParams, "There is no command to run; name one."));
    }
    let mut shell = shell(command);
    shell
        .current_dir(directory)
        .env_clear()
        .envs(environment.into_iter().filter(|(name, _)| may_inherit(&name.to_string_lossy())))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let started = Instant::now();
    let mut child = shell.spawn().map_err(|error| {
        WireError::new(
            ErrorCode::NotFound,
            format!("`{}` could not be started ({}); check the shell.", short(command), cause(&error)),
        )
    })?;
    // From here on the whole group ends when this function does, however it does.
    let group = Group::of(&child);
    let (stdout, stderr) = (Stream::read(child.stdout.take()), Stream::read(child.stderr.take()));
    let outcome = wait(&mut child, limits.time, &is_abandoned).await;
    let (status, timed_out) = match outcome {
        Outcome::Ended(status) => (status, None),
        Outcome::TimeOver | Outcome::Abandoned => {
            group.ask_to_end();
            let asked = tokio::time::timeout(limits.grace, child.wait()).await;
            group.end();
            let status = match asked {
                Ok(status) => status,
                Err(_) => child.wait().await,
            };
            (status, matches!(outcome, Outcome::TimeOver).then_some(true))
        }
    };
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let rest = tokio::time::Instant::now() + limits.rest;
    let (stdout, stderr) = (stdout.finish(rest).await, stderr.finish(rest).await);
    drop(group);
    let status = status.map_err(|_| WireError::internal())?;
    Ok(Ran { exit_code: exit_code(status), stdout, stderr, duration_ms, timed_out })
}

enum Outcome {
    Ended(std::io::Result<ExitStatus>),
    TimeOver,
    Abandoned,
}

async fn wait(child: &mut Child, time: Duration, is_abandoned: &impl Fn() -> bool) -> Outcome {
    let over = tokio::time::sleep(time);
    tokio::pin!(over);
    let mut watch = tokio::time::interval(WATCH);
    loop {
        tokio::select! {
            status = child.wait() => return Outcome::Ended(status),
            () = &mut over => return Outcome::TimeOver,
            _ = watch.tick() => if is_abandoned() { return Outcome::Abandoned },
        }
    }
}

#[cfg(unix)]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).process_group(0);
    shell
}

#[cfg(not(unix))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.arg("/C").arg(command);
    shell
}

#[cfg(unix)]
fn exit_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

#[cfg(not(unix))]
fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(-1)
}

/// The process group of a command, ended when dropped.
pub(super) struct Group {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    pub(super) fn of(child: &Child) -> Self {
        Self { id: child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) }
    }

    fn ask_to_end(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    fn end(&self) {
        self.signal(rustix::process::Signal::KILL);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(id) = self.id {
            // An empty group cannot be told anything, and needs not.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }
}

/// Elsewhere only the command itself is ended, by its handle.
#[cfg(not(unix))]
impl Group {
    pub(super) fn of(_: &Child) -> Self {
        Self {}
    }

    fn ask_to_end(&self) {}

    fn end(&self) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// One stream, read as it comes, so that a command never waits for us.
struct Stream {
    captured: Arc<Mutex<Capture>>,
    reader: JoinHandle<()>,
}

impl Stream {
    fn read(pipe: Option<impl AsyncRead + Unpin + Send + 'static>) -> Self {
        let captured = Arc::new(Mutex::new(Capture::default()));
        let into = Arc::clone(&captured);
        let reader = tokio::spawn(async move {
            let Some(mut pipe) = pipe else { return };
            let mut piece = vec![0; 16 * 1_024];
            while let Ok(read @ 1..) = pipe.read(&mut piece).await {
                into.lock().unwrap_or_else(PoisonError::into_inner).push(&piece[..read]);
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

    use super::{LIMITS, Limits, Ran, directory, run};
    use crate::protocol::{ErrorCode, WireError};
    use crate::workspace::capture::KEPT;
    use crate::workspace::root::Roots;
    use crate::workspace::root::tests::folder;

    fn environment(extra: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap();
        let extra = extra.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        std::iter::once((OsString::from("PATH"), path)).chain(extra).collect()
    }

    async fn ran(command: &str, at: &Path, limits: Limits) -> Result<Ran, WireError> {
        run(command, at.to_owned(), environment(&[]), limits, || false).await
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
        let result = ran("echo out; echo err >&2; cat; exit 3", root.path(), LIMITS).await.unwrap();
        let expected = Ran {
            exit_code: 3,
            stdout: "out\n".to_owned(),
            stderr: "err\n".to_owned(),
            duration_ms: result.duration_ms,
            timed_out: None,
        };
        assert_eq!(result, expected);
        assert_eq!(ran("kill -9 $$", root.path(), LIMITS).await.unwrap().exit_code, 137);
        assert_eq!(ran("  ", root.path(), LIMITS).await.unwrap_err().code, ErrorCode::InvalidParams);
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
        let result = run("env | cut -d= -f1", root.path().to_owned(), given, LIMITS, || false).await.unwrap();
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
        let result = ran("pwd -P", &at, LIMITS).await.unwrap();
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
        let result = ran(command, root.path(), LIMITS).await.unwrap();
        let left_out = 5_000_009 - 2 * KEPT;
        assert!(result.stdout.starts_with("first") && result.stdout.ends_with("last"));
        assert!(result.stdout.contains(&format!("[… {left_out} bytes left out …]")));
    }

    #[tokio::test]
    async fn past_its_time_the_whole_group_ends_even_when_it_does_not_want_to() {
        let root = tempfile::tempdir().unwrap();
        let limits = Limits { time: Duration::from_secs(1), grace: Duration::from_millis(100), ..LIMITS };
        let command = "echo $$; trap '' TERM; (trap '' TERM; while :; do sleep 600; done) & while :; do sleep 600; done";
        let result = ran(command, root.path(), limits).await.unwrap();
        assert_eq!((result.exit_code, result.timed_out), (137, Some(true)));
        gone(&result.stdout).await;
        let polite = ran(
            "trap 'echo bye; exit 7' TERM; sleep 600 & wait",
            root.path(),
            Limits { grace: LIMITS.grace, ..limits },
        );
        let polite = polite.await.unwrap();
        assert_eq!((polite.exit_code, polite.stdout.as_str(), polite.timed_out), (7, "bye\n", Some(true)));
    }

    #[tokio::test]
    async fn what_a_command_leaves_running_ends_with_it() {
        let root = tempfile::tempdir().unwrap();
        let limits = Limits { rest: Duration::from_millis(50), ..LIMITS };
        let result = ran("echo $$; sleep 600 &", root.path(), limits).await.unwrap();
        assert_eq!((result.exit_code, result.timed_out), (0, None));
        gone(&result.stdout).await;
    }

    #[tokio::test]
    async fn a_command_nobody_waits_for_is_ended() {
        let root = tempfile::tempdir().unwrap();
        let started = root.path().join("started");
        let seen = started.clone();
        let result = run(
            "echo $$; : > started; sleep 600",
            root.path().to_owned(),
            environment(&[]),
            LIMITS,
            move || seen.exists(),
        )
        .await
        .unwrap();
        assert!(started.exists());
        assert_eq!((result.exit_code, result.timed_out), (143, None));
        gone(&result.stdout).await;
    }
}
