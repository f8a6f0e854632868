//! Ctrl-C: the first asks the turn to stop, the second ends this process at once.
//!
//! Owns the signal. Never talks to the server: the driver does, when it hears of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use super::client::Incoming;
use super::exit::Exit;

/// Whether another program has the terminal, and Ctrl-C is for that.
static LEFT_TO_OTHERS: AtomicBool = AtomicBool::new(false);

/// Does something while Ctrl-C is for another program on the terminal.
pub(super) fn leaving_to_others<T>(work: impl FnOnce() -> T) -> T {
    LEFT_TO_OTHERS.store(true, Ordering::SeqCst);
    let done = work();
    LEFT_TO_OTHERS.store(false, Ordering::SeqCst);
    done
}

/// Watches for Ctrl-C from now on. The flag is raised by the first; the message only wakes a driver that waits, so it may
/// be lost when the queue is full, since then the driver does not wait.
pub(super) fn watch(wake: SyncSender<Incoming>) -> Arc<AtomicBool> {
    let raised = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&raised);
    std::thread::spawn(move || {
        // Without a runtime the default stays: Ctrl-C ends us, and the server ends when its stdin does.
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if LEFT_TO_OTHERS.load(Ordering::SeqCst) {
                    continue;
                }
                if flag.swap(true, Ordering::SeqCst) {
                    std::process::exit(i32::from(Exit::Interrupted.code()));
                }
                let _ = wake.try_send(Incoming::Interrupt);
            }
        });
    });
    raised
}
