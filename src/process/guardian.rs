//! A guardian: the small process that stands over a program and ends it, with all that it started.
//!
//! Owns one child and everything below it, by being the one that orphans fall to. The inner guardian starts the program; the
//! outer one starts the inner one and outlives its being killed. A guardian ends its tree when its control socket does, when
//! it is told to, and when its child ends; it ends after the last of the tree. Says once a second that it lives. Never reads a
//! stream of the program.

#[cfg(target_os = "linux")]
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

#[cfg(target_os = "linux")]
use super::confine;
#[cfg(target_os = "linux")]
use super::guarded_tree::{MARK, Orphans};
use super::hand_over::{self, Handles};
pub(crate) use super::heartbeat::Post;
use super::heartbeat::{self, Heart};
use super::report::Report;
use super::{Streams, this_program, tree};
use crate::domain::policy::confinement::Confinement;

/// From the first word, TERM, to the last, KILL.
const GRACE: Duration = Duration::from_millis(1_000);
/// How much longer the outer guardian leaves it to the inner one.
const TRUST: Duration = Duration::from_millis(500);
/// How often it is looked again for what was forked meanwhile, when no death says so.
const LOOK: Duration = Duration::from_millis(50);
/// How long it is waited whether anything is left when the program has ended: usually nothing is, and then nobody is looked for.
const SETTLE: Duration = Duration::from_millis(5);
/// What does not die of KILL for so long cannot be ended by us: it waits in the kernel, or runs as another user.
const GIVE_UP: Duration = Duration::from_secs(10);

/// The byte that means: at once, without asking. The end of the control socket means: ask first.
pub(super) const AT_ONCE: u8 = b'k';

/// What a guardian calls itself, so that a command that ends the server by name does not end it too.
pub(super) const NAME: &str = "bb-guard";

/// Guards a program until it and everything below it has ended; answers with its exit code, 128 and the signal's number when
/// one ended it. The control socket is stdin. An error means that nothing was started.
pub(crate) fn guard(post: Post, program: OsString, args: Vec<OsString>) -> io::Result<u8> {
    let above = rustix::process::getppid();
    // What is done to the group or the terminal of the server is not done to us. Fails only for who leads a group already.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let orphans = {
        use rustix::process::{getpid, set_child_subreaper, set_parent_process_death_signal};
        // For lists of processes; the name is no more than that.
        let _ = rustix::thread::set_name(c"bb-guard");
        // Who was stopped goes on when the one above dies, sees that the control socket has ended, and ends the tree. If it died
        // before this line, the socket has ended already.
        let _ = set_parent_process_death_signal(Some(Signal::CONT));
        // Emulators of other processors refuse it.
        if set_child_subreaper(Some(getpid())).is_ok() { Orphans::FallToUs } else { Orphans::Elsewhere }
    };
    // Whatever becomes of the server, its lock is held until this guardian has ended.
    let Handles { streams, directory, heartbeat, cgroup, locks, confinement } =
        hand_over::receive(io::stdin())?;
    let heart = Heart::new(heartbeat);
    let cgroup = ProcessGroup::from_handle(cgroup);
    let started = match post {
        Post::Outer => {
            let handles = Handles {
                streams: &streams,
                directory: directory.as_fd(),
                heartbeat: heart.pipe().as_fd(),
                cgroup: cgroup.handle(),
                locks: locks.iter().map(AsFd::as_fd).collect(),
                confinement,
            };
            let started = start_inner(&handles, &program, &args);
            // Whoever reads their other ends must see them end with the program.
            drop(streams);
            started
        }
        Post::Inner => {
            report(post, Report::Guarded(rustix::process::getpid().as_raw_pid()));
            cgroup.join();
            start_program(streams, &directory, &program, &args, confinement.as_ref())
                .map(|child| (child, None))
        }
    };
    let (child, inner) = match started {
        Ok(started) => started,
        Err(error) => {
            report(post, Report::Failed(error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error())));
            cgroup.remove(post, above);
            return Err(error);
        }
    };
    if post == Post::Inner {
        report(post, Report::Started(child.as_raw_pid()));
    }
    let mut watch = Watch { post, child, inner, heart, events: listen()?, ended: None };
    watch.until_ordered();
    #[cfg(target_os = "linux")]
    if post == Post::Outer && orphans == Orphans::Elsewhere {
        kill_the_marked();
    }
    cgroup.remove(post, above);
    Ok(watch.ended.map_or(128 + 9, exit_code))
}

/// Where orphans fall to nobody who would look for them, they are known by the mark that they inherited. Nothing below this guardian
/// is left when this begins.
#[cfg(target_os = "linux")]
fn kill_the_marked() {
    let Some(mark) = std::env::var_os(MARK) else { return };
    let until = Instant::now() + GIVE_UP;
    while Instant::now() < until && tree::kill_marked(&tree::entry(MARK, &mark)) {
        thread::sleep(SETTLE);
    }
}

/// The program in a process group of its own, so that a signal to its group reaches no guardian, and in the directory that was
/// handed over, whatever lies at its path now. It dies with this guardian.
fn start_program(
    streams: Streams,
    directory: &OwnedFd,
    program: &OsString,
    args: &[OsString],
    confinement: Option<&Confinement>,
) -> io::Result<Pid> {
    #[cfg(target_os = "linux")]
    let rules = confinement.map(confine::rules).transpose()?;
    #[cfg(not(target_os = "linux"))]
    let rules = confinement.map(|_| None::<()>);
    if let Some(rules) = &rules {
        report(Post::Inner, Report::Confined(i32::from(rules.is_some())));
    }
    rustix::process::fchdir(directory)?;
    let [stdin, stdout, stderr] = streams;
    let mut command = Command::new(program);
    command.args(args).process_group(0).stdin(stdin).stdout(stdout).stderr(stderr);
    #[cfg(target_os = "linux")]
    prepare(&mut command, rules.flatten());
    Ok(Pid::from_child(&command.spawn()?))
}

/// Once the guardian is gone, nobody would see what the program does; whatever it started is found by the outer guardian or by
/// the server. The rules come last: the program alone has them, and not the guardian.
#[cfg(target_os = "linux")]
fn prepare(command: &mut Command, mut rules: Option<landlock::RulesetCreated>) {
    use rustix::process::{getpid, getppid, set_parent_process_death_signal};
    let parent = getpid();
    let before_exec = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have died before the line above, and then no signal comes.
        if getppid() != Some(parent) {
            return Err(Errno::SRCH.into());
        }
        match rules.take() {
            Some(rules) => rules.restrict_self().map(drop).map_err(|_| Errno::PERM.into()),
            None => Ok(()),
        }
    };
    // SAFETY: a guardian has one thread until its program runs, so no lock is held by another; and between `fork` and `exec` only
    // system calls are made.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(before_exec);
    }
}

/// The inner guardian, with a control socket to us for its stdin; it reports to the server itself.
fn start_inner(
    handles: &Handles<&Streams, BorrowedFd<'_>>,
    program: &OsString,
    args: &[OsString],
) -> io::Result<(Pid, Option<UnixStream>)> {
    let (ours, theirs) = UnixStream::pair()?;
    let reports = io::stdin().as_fd().try_clone_to_owned()?;
    let mut command = command(&this_program(), Post::Inner, program, args);
    command.stdin(OwnedFd::from(theirs)).stdout(reports).stderr(Stdio::null());
    hand_over::send(&ours, handles)?;
    let child = command.spawn()?;
    Ok((Pid::from_child(&child), Some(ours)))
}

/// The command line of a guardian.
#[cfg(not(test))]
pub(super) fn command(
    guard: &Path,
    post: Post,
    program: impl AsRef<OsStr>,
    args: &[impl AsRef<OsStr>],
) -> Command {
    let mut command = Command::new(guard);
    command.arg0(NAME).arg("guard");
    if post == Post::Inner {
        command.arg("--inner");
    }
    command.arg("--").arg(program).args(args);
    command
}

/// The program of a unit test is the test itself: one of its tests guards, and finds its words in the environment.
#[cfg(test)]
pub(super) fn command(
    guard: &Path,
    post: Post,
    program: impl AsRef<OsStr>,
    args: &[impl AsRef<OsStr>],
) -> Command {
    tests::command(guard, post, program.as_ref(), args)
}

/// The cgroup of the tree, where there is one.
#[cfg(target_os = "linux")]
struct ProcessGroup(Option<super::cgroup::Cgroup>);

#[cfg(target_os = "linux")]
impl ProcessGroup {
    fn from_handle(handle: Option<OwnedFd>) -> Self {
        Self(handle.and_then(super::cgroup::Cgroup::from_handle))
    }

    fn handle(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|group| group.handle().as_fd())
    }

    /// The inner guardian and the program belong to it; the outer one stays outside, to remove it.
    fn join(&self) {
        if let Some(group) = &self.0 {
            group.join();
        }
    }

    /// Nothing is left of the tree but the guardians. The outer one removes it; the inner one does if that is dead, and must
    /// leave it first, which takes the kernel a while.
    fn remove(&self, post: Post, above: Option<Pid>) {
        let Some(group) = &self.0 else { return };
        match post {
            Post::Outer => group.remove(),
            Post::Inner if rustix::process::getppid() != above => {
                group.leave();
                group.remove();
            }
            Post::Inner => {}
        }
    }
}

/// There are none elsewhere.
#[cfg(not(target_os = "linux"))]
struct ProcessGroup;

#[cfg(not(target_os = "linux"))]
impl ProcessGroup {
    fn from_handle(_: Option<OwnedFd>) -> Self {
        Self
    }

    fn handle(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn join(&self) {}

    fn remove(&self, _: Post, _: Option<Pid>) {}
}

/// Says something to the server. Where it is gone, nobody needs to hear it.
fn report(post: Post, report: Report) {
    let line = report.line();
    let _ = match post {
        Post::Inner => io::stdout().write_all(line.as_bytes()).and_then(|()| io::stdout().flush()),
        Post::Outer => io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .and_then(|socket| UnixStream::from(socket).write_all(line.as_bytes())),
    };
}

/// What a guardian waits for.
enum GuardianEvent {
    /// A child of ours ended, be it our own or one that fell to us.
    Died(Pid, WaitStatus),
    /// There is no child any more, and so nothing below us.
    NoneLeft,
    /// The tree shall end.
    Order(GuardianOrder),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GuardianOrder {
    /// TERM, and KILL for what is left after a while.
    Ask,
    /// KILL.
    AtOnce,
}

/// Waits for deaths and for orders, each on a thread, since nothing waits for both everywhere.
fn listen() -> io::Result<Receiver<GuardianEvent>> {
    let (tell, events) = mpsc::channel();
    let tell_deaths = tell.clone();
    thread::Builder::new().stack_size(STACK).spawn(move || reap(&tell_deaths))?;
    thread::Builder::new().stack_size(STACK).spawn(move || obey(&tell))?;
    Ok(events)
}

/// The two threads call one function each.
const STACK: usize = 64 * 1_024;

fn reap(tell: &Sender<GuardianEvent>) {
    loop {
        let event = match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => GuardianEvent::Died(pid, status),
            Err(Errno::CHILD) => GuardianEvent::NoneLeft,
            Ok(None) | Err(_) => continue,
        };
        let was_last = matches!(event, GuardianEvent::NoneLeft);
        if tell.send(event).is_err() || was_last {
            return;
        }
    }
}

fn obey(tell: &Sender<GuardianEvent>) {
    loop {
        let mut byte = [0];
        let order = match io::stdin().read(&mut byte) {
            Ok(1..) if byte[0] == AT_ONCE => GuardianOrder::AtOnce,
            Ok(1..) => continue,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => GuardianOrder::Ask,
        };
        if tell.send(GuardianEvent::Order(order)).is_err() || order == GuardianOrder::Ask {
            return;
        }
    }
}

struct Watch {
    post: Post,
    child: Pid,
    /// The inner guardian's control socket.
    inner: Option<UnixStream>,
    heart: Heart,
    events: Receiver<GuardianEvent>,
    ended: Option<WaitStatus>,
}

/// What a wait for the end of the tree came to.
enum WaitedChild {
    AllGone,
    AtOnce,
    TimeOver,
}

impl Watch {
    /// Waits for an order or the end of our child, and then ends everything.
    fn until_ordered(&mut self) {
        let mut last_beat = Instant::now();
        let order = loop {
            if last_beat.elapsed() >= heartbeat::PERIOD {
                self.heart.beat(self.post);
                last_beat = Instant::now();
            }
            let time = if self.ended.is_some() {
                SETTLE
            } else {
                heartbeat::PERIOD.saturating_sub(last_beat.elapsed())
            };
            match self.events.recv_timeout(time) {
                Ok(GuardianEvent::Order(order)) => break order,
                Ok(GuardianEvent::NoneLeft) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(GuardianEvent::Died(pid, status)) => self.note(pid, status),
                // Its child ended and left something behind.
                Err(RecvTimeoutError::Timeout) if self.ended.is_some() => break GuardianOrder::Ask,
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let waited = match (self.post, order) {
            (Post::Inner, GuardianOrder::Ask) => {
                tree::signal_all(self.child, Signal::TERM);
                // Who was stopped hears it only when it goes on.
                tree::signal_all(self.child, Signal::CONT);
                self.wait(GRACE)
            }
            (Post::Inner, GuardianOrder::AtOnce) => WaitedChild::AtOnce,
            (Post::Outer, order) => self.leave_to_inner(order),
        };
        if !matches!(waited, WaitedChild::AllGone) {
            self.kill();
        }
    }

    /// The inner guardian does it, as long as it lives and takes no longer than it may.
    fn leave_to_inner(&mut self, order: GuardianOrder) -> WaitedChild {
        if self.ended.is_some() {
            return WaitedChild::AtOnce;
        }
        // It may have been stopped, and hears nothing then. It is our child and not buried yet, so the id is its own.
        let _ = rustix::process::kill_process(self.child, Signal::CONT);
        self.pass_on(order);
        let mut waited = self.wait(if order == GuardianOrder::Ask { GRACE + TRUST } else { TRUST });
        if matches!(waited, WaitedChild::AtOnce) && self.ended.is_none() {
            self.pass_on(GuardianOrder::AtOnce);
            waited = self.wait(TRUST);
        }
        waited
    }

    fn pass_on(&mut self, order: GuardianOrder) {
        let Some(inner) = &mut self.inner else { return };
        // When it is gone, the wait that follows ends at once.
        let _ = match order {
            GuardianOrder::Ask => inner.shutdown(Shutdown::Write),
            GuardianOrder::AtOnce => inner.write_all(&[AT_ONCE]),
        };
    }

    /// Waits until all are gone, somebody wants it at once, or the time is over; for the outer guardian also until the inner
    /// one has ended.
    fn wait(&mut self, time: Duration) -> WaitedChild {
        let until = Instant::now() + time;
        loop {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(GuardianEvent::NoneLeft) | Err(RecvTimeoutError::Disconnected) => {
                    return WaitedChild::AllGone;
                }
                Ok(GuardianEvent::Order(GuardianOrder::AtOnce)) => return WaitedChild::AtOnce,
                Ok(GuardianEvent::Order(GuardianOrder::Ask)) => {}
                Err(RecvTimeoutError::Timeout) => return WaitedChild::TimeOver,
                Ok(GuardianEvent::Died(pid, status)) => {
                    self.note(pid, status);
                    if self.post == Post::Outer && self.ended.is_some() {
                        return WaitedChild::AtOnce;
                    }
                }
            }
        }
    }

    /// Kills until nothing is left. What is forked between the look and the signal falls to us when its parent dies, which is
    /// the next event.
    fn kill(&mut self) {
        let until = Instant::now() + GIVE_UP;
        while Instant::now() < until {
            tree::signal_all(self.child, Signal::KILL);
            #[cfg(target_os = "linux")]
            tree::kill_orphans(&HashSet::new());
            let mut next =
                self.events.recv_timeout(LOOK).map_err(|error| error == RecvTimeoutError::Disconnected);
            // Many that die together are one reason to look again.
            loop {
                match next {
                    Ok(GuardianEvent::NoneLeft) | Err(true) => return,
                    Ok(GuardianEvent::Died(pid, status)) => self.note(pid, status),
                    Ok(GuardianEvent::Order(_)) => {}
                    Err(false) => break,
                }
                next = self.events.try_recv().map_err(|error| error == mpsc::TryRecvError::Disconnected);
            }
        }
    }

    fn note(&mut self, pid: Pid, status: WaitStatus) {
        if pid != self.child {
            return;
        }
        self.ended = Some(status);
        if self.post == Post::Inner {
            report(
                self.post,
                match status.terminating_signal() {
                    Some(signal) => Report::Killed(signal),
                    None => Report::Exited(exit_code(status).into()),
                },
            );
        }
    }
}

fn exit_code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::Command;

    use super::{NAME, Post, guard};

    /// Which of the two, and the words of the program, each with an end.
    const WORDS: &str = "GUARDED_BY_A_TEST";

    pub(super) fn command(guard: &Path, post: Post, program: &OsStr, args: &[impl AsRef<OsStr>]) -> Command {
        let mut words = OsString::from(if post == Post::Inner { "inner" } else { "outer" });
        for word in std::iter::once(program).chain(args.iter().map(AsRef::as_ref)) {
            words.push("\u{1f}");
            words.push(word);
        }
        let mut command = Command::new(guard);
        command.arg0(NAME).args(["process::guardian::tests::guards", "--exact", "--ignored", "--nocapture"]);
        // With one thread the name of the test would stand in front of the first report.
        command.env(WORDS, words).env("RUST_TEST_THREADS", "2");
        command
    }

    /// Not a test: the guardian of the unit tests.
    #[test]
    #[ignore = "started by the tests that run something"]
    fn guards() {
        let Some(words) = std::env::var_os(WORDS) else { return };
        let mut words = words
            .into_vec()
            .split(|byte| *byte == 0x1f)
            .map(|word| OsString::from_vec(word.to_vec()))
            .collect::<Vec<_>>()
            .into_iter();
        let post = if words.next().is_some_and(|word| word == "inner") { Post::Inner } else { Post::Outer };
        let program = words.next().unwrap();
        let code = guard(post, program, words.collect()).unwrap_or(1);
        std::process::exit(code.into());
    }
}
