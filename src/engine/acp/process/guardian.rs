//! A guardian: the small process that stands over an agent and ends it, with all that it started.
//!
//! Owns one child and everything below it, by being the one that orphans fall to. The inner guardian starts the program; the
//! outer one starts the inner one and outlives its being killed. A guardian ends its tree when its control socket does, when
//! it is told to, and when its child ends; it ends after the last of the tree. Never reads a stream of the program.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::hand_over::{self, Streams};
use super::report::Report;
use super::{this_program, tree};

/// From the first word, TERM, to the last, KILL.
const GRACE: Duration = Duration::from_millis(1_000);
/// How much longer the outer guardian leaves it to the inner one.
const TRUST: Duration = Duration::from_millis(500);
/// How often it is looked again for what was forked meanwhile, when no death says so.
const LOOK: Duration = Duration::from_millis(50);
/// What does not die of KILL for so long cannot be ended by us: it waits in the kernel, or runs as another user.
const GIVE_UP: Duration = Duration::from_secs(10);

/// The byte that means: at once, without asking. The end of the control socket means: ask first.
pub(super) const AT_ONCE: u8 = b'k';

/// What a guardian calls itself, so that a command that ends the server by name does not end it too.
pub(super) const NAME: &str = "bb-guard";

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Post {
    /// Holds the inner one.
    Outer,
    /// Holds the program.
    Inner,
}

/// Guards a program until it and everything below it has ended; answers with its exit code, 128 and the signal's number when
/// one ended it. The control socket is stdin. An error means that nothing was started.
pub fn guard(post: Post, program: OsString, args: Vec<OsString>) -> io::Result<u8> {
    // What is done to the group or the terminal of the server is not done to us. Fails only for who leads a group already.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    {
        // For lists of processes; the name is no more than that.
        let _ = rustix::thread::set_name(c"bb-guard");
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    }
    let streams = hand_over::receive(io::stdin())?;
    let started = match post {
        Post::Outer => start_inner(streams, &program, &args),
        Post::Inner => start_program(streams, &program, &args).map(|child| (child, None)),
    };
    let (child, inner) = match started {
        Ok(started) => started,
        Err(error) => {
            report(post, Report::Failed(error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error())));
            return Err(error);
        }
    };
    if post == Post::Inner {
        report(post, Report::Started(child.as_raw_pid()));
    }
    let mut watch = Watch { post, child, inner, events: listen()?, ended: None };
    watch.until_ordered();
    Ok(watch.ended.map_or(128 + 9, exit_code))
}

/// The program in a process group of its own, so that a signal to its group reaches no guardian.
fn start_program(streams: Streams, program: &OsString, args: &[OsString]) -> io::Result<Pid> {
    let [stdin, stdout, stderr] = streams;
    let mut command = Command::new(program);
    command.args(args).process_group(0).stdin(stdin).stdout(stdout).stderr(stderr);
    Ok(Pid::from_child(&command.spawn()?))
}

/// The inner guardian, with a control socket to us for its stdin; it reports to the server itself.
fn start_inner(
    streams: Streams,
    program: &OsString,
    args: &[OsString],
) -> io::Result<(Pid, Option<UnixStream>)> {
    let (ours, theirs) = UnixStream::pair()?;
    let reports = io::stdin().as_fd().try_clone_to_owned()?;
    let mut command = Command::new(this_program());
    command.arg0(NAME).args(["guard", "--inner", "--"]).arg(program).args(args);
    command.stdin(OwnedFd::from(theirs)).stdout(reports).stderr(Stdio::null());
    let child = command.spawn()?;
    hand_over::send(&ours, &streams)?;
    Ok((Pid::from_child(&child), Some(ours)))
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
enum Event {
    /// A child of ours ended, be it our own or one that fell to us.
    Died(Pid, WaitStatus),
    /// There is no child any more, and so nothing below us.
    NoneLeft,
    /// The tree shall end.
    Order(Order),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// TERM, and KILL for what is left after a while.
    Ask,
    /// KILL.
    AtOnce,
}

/// Waits for deaths and for orders, each on a thread, since nothing waits for both everywhere.
fn listen() -> io::Result<Receiver<Event>> {
    let (tell, events) = mpsc::channel();
    let tell_deaths = tell.clone();
    thread::Builder::new().stack_size(STACK).spawn(move || reap(&tell_deaths))?;
    thread::Builder::new().stack_size(STACK).spawn(move || obey(&tell))?;
    Ok(events)
}

/// The two threads call one function each.
const STACK: usize = 64 * 1_024;

fn reap(tell: &Sender<Event>) {
    loop {
        let event = match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => Event::Died(pid, status),
            Err(Errno::CHILD) => Event::NoneLeft,
            Ok(None) | Err(_) => continue,
        };
        let was_last = matches!(event, Event::NoneLeft);
        if tell.send(event).is_err() || was_last {
            return;
        }
    }
}

fn obey(tell: &Sender<Event>) {
    loop {
        let mut byte = [0];
        let order = match io::stdin().read(&mut byte) {
            Ok(1..) if byte[0] == AT_ONCE => Order::AtOnce,
            Ok(1..) => continue,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => Order::Ask,
        };
        if tell.send(Event::Order(order)).is_err() || order == Order::Ask {
            return;
        }
    }
}

struct Watch {
    post: Post,
    child: Pid,
    /// The inner guardian's control socket.
    inner: Option<UnixStream>,
    events: Receiver<Event>,
    ended: Option<WaitStatus>,
}

/// What a wait for the end of the tree came to.
enum Waited {
    AllGone,
    AtOnce,
    TimeOver,
}

impl Watch {
    /// Waits for an order or the end of our child, and then ends everything.
    fn until_ordered(&mut self) {
        let order = loop {
            match self.events.recv() {
                Ok(Event::Order(order)) => break order,
                Ok(Event::NoneLeft) | Err(_) => return,
                Ok(Event::Died(pid, status)) => {
                    self.note(pid, status);
                    if self.ended.is_some() {
                        break Order::Ask;
                    }
                }
            }
        };
        let waited = match (self.post, order) {
            (Post::Inner, Order::Ask) => {
                tree::signal_all(self.child, Signal::TERM);
                // Who was stopped hears it only when it goes on.
                tree::signal_all(self.child, Signal::CONT);
                self.wait(GRACE)
            }
            (Post::Inner, Order::AtOnce) => Waited::AtOnce,
            (Post::Outer, order) => self.leave_to_inner(order),
        };
        if !matches!(waited, Waited::AllGone) {
            self.kill();
        }
    }

    /// The inner guardian does it, as long as it lives and takes no longer than it may.
    fn leave_to_inner(&mut self, order: Order) -> Waited {
        if self.ended.is_some() {
            return Waited::AtOnce;
        }
        self.pass_on(order);
        let mut waited = self.wait(if order == Order::Ask { GRACE + TRUST } else { TRUST });
        if matches!(waited, Waited::AtOnce) && self.ended.is_none() {
            self.pass_on(Order::AtOnce);
            waited = self.wait(TRUST);
        }
        waited
    }

    fn pass_on(&mut self, order: Order) {
        let Some(inner) = &mut self.inner else { return };
        // When it is gone, the wait that follows ends at once.
        let _ = match order {
            Order::Ask => inner.shutdown(Shutdown::Write),
            Order::AtOnce => inner.write_all(&[AT_ONCE]),
        };
    }

    /// Waits until all are gone, somebody wants it at once, or the time is over; for the outer guardian also until the inner
    /// one has ended.
    fn wait(&mut self, time: Duration) -> Waited {
        let until = Instant::now() + time;
        loop {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::NoneLeft) | Err(RecvTimeoutError::Disconnected) => return Waited::AllGone,
                Ok(Event::Order(Order::AtOnce)) => return Waited::AtOnce,
                Ok(Event::Order(Order::Ask)) => {}
                Err(RecvTimeoutError::Timeout) => return Waited::TimeOver,
                Ok(Event::Died(pid, status)) => {
                    self.note(pid, status);
                    if self.post == Post::Outer && self.ended.is_some() {
                        return Waited::AtOnce;
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
            tree::kill_orphans();
            let mut next =
                self.events.recv_timeout(LOOK).map_err(|error| error == RecvTimeoutError::Disconnected);
            // Many that die together are one reason to look again.
            loop {
                match next {
                    Ok(Event::NoneLeft) | Err(true) => return,
                    Ok(Event::Died(pid, status)) => self.note(pid, status),
                    Ok(Event::Order(_)) => {}
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
