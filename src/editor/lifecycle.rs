//! The end of the process: when, in which order, with which code.
//!
//! Owns the exit. Whatever asks for it (`exit`, the end of stdin, a dead stdout, a dead editor), the process is gone within
//! a second: the shutdown answer, the journal and the outbox get a share of it each. Never waits for anything unbounded.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use super::outbox::FrameOutbox;

/// How long an answer to `shutdown` may take when `exit` came right behind it.
const FOR_SHUTDOWN: Duration = Duration::from_millis(200);

/// How long the journal may take to be flushed.
const FOR_FLUSH: Duration = Duration::from_millis(350);

/// How long the editor may take to read what waits.
const FOR_DRAIN: Duration = Duration::from_millis(300);

/// Why the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndCause {
    /// The editor said `exit`.
    Exit,
    /// The editor closed our stdin.
    StdinClosed,
    /// Nobody reads our stdout.
    StdoutDead,
    /// The process of the editor ended.
    EditorGone,
}

/// Ends the process once. See the module.
pub(crate) struct Lifecycle {
    state: Mutex<LifecycleState>,
    changed: Condvar,
    outbox: OnceLock<Arc<FrameOutbox>>,
    terminate: fn(i32),
}

struct LifecycleState {
    on_exit: Option<Box<dyn FnOnce() + Send>>,
    shutdown: Shutdown,
    ending: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shutdown {
    NotSeen,
    Running,
    Answered,
}

impl Lifecycle {
    /// `on_exit` flushes the journal; it may take 350 ms, then the process ends without it.
    pub(crate) fn new(on_exit: impl FnOnce() + Send + 'static) -> Arc<Self> {
        Self::ending_with(on_exit, |code| std::process::exit(code))
    }

    fn ending_with(on_exit: impl FnOnce() + Send + 'static, terminate: fn(i32)) -> Arc<Self> {
        let state =
            LifecycleState { on_exit: Some(Box::new(on_exit)), shutdown: Shutdown::NotSeen, ending: false };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            outbox: OnceLock::new(),
            terminate,
        })
    }

    /// What is drained at the end.
    pub(super) fn drains(&self, outbox: Arc<FrameOutbox>) {
        // The first one stays: there is one outbox a process.
        let _ = self.outbox.set(outbox);
    }

    /// `shutdown` was accepted; from now on the code is 0.
    pub(super) fn shutdown_accepted(&self) {
        self.lock().shutdown = Shutdown::Running;
    }

    /// `shutdown` was answered.
    pub(super) fn shutdown_answered(&self) {
        let mut state = self.lock();
        if state.shutdown == Shutdown::Running {
            state.shutdown = Shutdown::Answered;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Ends the process within a second; returns at once. Only the first call counts.
    pub(crate) fn end(self: &Arc<Self>, cause: EndCause) {
        let mut state = self.lock();
        if state.ending {
            return;
        }
        state.ending = true;
        let on_exit = state.on_exit.take();
        let code = i32::from(state.shutdown == Shutdown::NotSeen);
        drop(state);
        let lifecycle = Arc::clone(self);
        // A thread of its own, because the caller may be the writer that is waited for here.
        let spawned = std::thread::Builder::new()
            .name("exit".to_owned())
            .spawn(move || lifecycle.run(cause, code, on_exit));
        if spawned.is_err() {
            (self.terminate)(code);
        }
    }

    fn run(&self, cause: EndCause, code: i32, on_exit: Option<Box<dyn FnOnce() + Send>>) {
        tracing::debug!("ending with code {code}: {cause:?}");
        let state = self.lock();
        // A dead stdout takes no answer any more.
        if cause != EndCause::StdoutDead {
            drop(
                self.changed
                    .wait_timeout_while(state, FOR_SHUTDOWN, |state| state.shutdown == Shutdown::Running)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        } else {
            drop(state);
        }
        if let Some(on_exit) = on_exit {
            let (done, is_done) = mpsc::channel();
            let spawned = std::thread::Builder::new().name("flush".to_owned()).spawn(move || {
                on_exit();
                // Nobody waits any more when it took too long.
                let _ = done.send(());
            });
            if spawned.is_ok() {
                // A panic in there drops `done`, which ends the wait too.
                let _ = is_done.recv_timeout(FOR_FLUSH);
            }
        }
        if let Some(outbox) = self.outbox.get() {
            outbox.drain(FOR_DRAIN);
        }
        (self.terminate)(code);
    }

    fn lock(&self) -> MutexGuard<'_, LifecycleState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
    use std::time::Instant;

    use super::*;

    /// Waits until a code stands there; a test that hangs here has failed.
    fn code_in(place: &AtomicI32) -> i32 {
        let started = Instant::now();
        loop {
            let code = place.load(Ordering::SeqCst);
            if code >= 0 {
                return code;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "not ended");
            std::thread::yield_now();
        }
    }

    #[test]
    fn without_shutdown_the_code_is_1_and_the_journal_is_flushed_once() {
        static CODE: AtomicI32 = AtomicI32::new(-1);
        static FLUSHED: AtomicUsize = AtomicUsize::new(0);
        let lifecycle = Lifecycle::ending_with(
            || {
                FLUSHED.fetch_add(1, Ordering::SeqCst);
            },
            |code| CODE.store(code, Ordering::SeqCst),
        );
        lifecycle.end(EndCause::StdinClosed);
        lifecycle.end(EndCause::Exit);
        assert_eq!(code_in(&CODE), 1);
        assert_eq!(FLUSHED.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn after_shutdown_the_code_is_0_even_if_everything_hangs() {
        static CODE: AtomicI32 = AtomicI32::new(-1);
        struct Stuck(mpsc::Receiver<()>);
        impl std::io::Write for Stuck {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                // Blocks as a pipe does that nobody reads.
                let _ = self.0.recv();
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (_hold, held) = mpsc::channel();
        let (_hold_flush, held_flush) = mpsc::channel::<()>();
        let outbox = FrameOutbox::start(Stuck(held), || true, || {});
        outbox.answer(b"{}".to_vec());
        let lifecycle = Lifecycle::ending_with(
            move || {
                let _ = held_flush.recv();
            },
            |code| CODE.store(code, Ordering::SeqCst),
        );
        lifecycle.drains(outbox);
        lifecycle.shutdown_accepted();
        lifecycle.end(EndCause::Exit);
        assert_eq!(code_in(&CODE), 0);
        // Nothing else is waited for, so the process is gone within a second.
        assert!(FOR_SHUTDOWN + FOR_FLUSH + FOR_DRAIN < Duration::from_secs(1));
    }
}
