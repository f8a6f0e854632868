//! What a script does to processes: it ends its own, ignores signals, and starts children that are hard to end.
//!
//! Owns every call to the operating system of the simulated agent, files aside.

use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

/// How long a child lives that nobody ends: longer than any test, shorter than a working day.
const CHILD_SECONDS: u64 = 600;

/// A child to be started. It sleeps.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ChildPlan {
    /// SIGTERM and SIGHUP do nothing to it.
    pub ignores_term: bool,
    /// It leads a process group of its own, so that a signal to the agent's group does not reach it.
    pub own_group: bool,
    /// It inherits stdout and stderr: the pipes stay open when the agent is gone.
    pub holds_output: bool,
    /// How long it lives if nobody ends it.
    pub seconds: u64,
}

impl Default for ChildPlan {
    fn default() -> Self {
        Self { ignores_term: false, own_group: false, holds_output: false, seconds: CHILD_SECONDS }
    }
}

/// Children stay in here until the process ends: nobody reaps them, which is the point.
static CHILDREN: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Ends the process.
pub(super) fn exit(code: i32) -> ! {
    std::process::exit(code)
}

/// Does nothing until a signal ends the process.
pub(super) fn live_on() -> ! {
    loop {
        std::thread::park();
    }
}

/// Starts a child and gives its process id.
///
/// # Errors
/// One sentence when it cannot be started.
#[cfg(unix)]
pub(super) fn start_child(plan: &ChildPlan) -> Result<u32, String> {
    use std::os::unix::process::CommandExt;

    let trap = if plan.ignores_term { "trap '' TERM HUP; " } else { "" };
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("{trap}exec sleep {}", plan.seconds)]).stdin(Stdio::null());
    if !plan.holds_output {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    if plan.own_group {
        command.process_group(0);
    }
    let child = command.spawn().map_err(|error| format!("no child could be started: {error}"))?;
    let id = child.id();
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner).push(child);
    Ok(id)
}

/// Dies by a signal.
///
/// # Errors
/// One sentence when there is no such signal, or when it did not end the process.
#[cfg(unix)]
pub(super) fn die_by(signal: i32) -> Result<(), String> {
    use rustix::process::{Signal, getpid, kill_process};

    let named = Signal::from_named_raw(signal).ok_or_else(|| format!("there is no signal {signal}"))?;
    kill_process(getpid(), named).map_err(|error| format!("signal {signal} could not be sent: {error}"))?;
    // It may arrive a moment later on another thread.
    std::thread::sleep(std::time::Duration::from_secs(1));
    Err(format!("signal {signal} did not end the process"))
}

/// From now on SIGTERM does nothing.
///
/// # Errors
/// One sentence when the signal cannot be taken.
#[cfg(unix)]
pub(super) fn ignore_term() -> Result<(), String> {
    let failed = |error: std::io::Error| format!("SIGTERM cannot be ignored: {error}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let inside = runtime.enter();
    // Once taken it stays taken, whether anybody listens or not.
    drop(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).map_err(failed)?);
    drop(inside);
    Ok(())
}

/// Closes stdout and goes on living.
///
/// # Errors
/// One sentence when it cannot be closed.
#[cfg(unix)]
pub(super) fn close_stdout() -> Result<(), String> {
    let nothing = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .map_err(|error| format!("stdout cannot be closed: {error}"))?;
    rustix::stdio::dup2_stdout(&nothing).map_err(|error| format!("stdout cannot be closed: {error}"))
}

/// Starts a child and gives its process id.
///
/// # Errors
/// One sentence when it cannot be started.
#[cfg(windows)]
pub(super) fn start_child(plan: &ChildPlan) -> Result<u32, String> {
    // There are neither signals nor process groups; what sleeps there in every installation is this.
    let mut command = Command::new("ping");
    command.args(["-n", &plan.seconds.to_string(), "127.0.0.1"]).stdin(Stdio::null());
    if !plan.holds_output {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let child = command.spawn().map_err(|error| format!("no child could be started: {error}"))?;
    let pid = child.id();
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner).push(child);
    Ok(pid)
}

#[cfg(not(unix))]
mod elsewhere {
    const NOT_HERE: &str = "this step needs a Unix system";

    pub(in crate::simulate::acp) fn die_by(_signal: i32) -> Result<(), String> {
        Err(NOT_HERE.to_owned())
    }

    pub(in crate::simulate::acp) fn ignore_term() -> Result<(), String> {
        Err(NOT_HERE.to_owned())
    }

    pub(in crate::simulate::acp) fn close_stdout() -> Result<(), String> {
        Err(NOT_HERE.to_owned())
    }
}

#[cfg(not(unix))]
pub(super) use elsewhere::{close_stdout, die_by, ignore_term};
