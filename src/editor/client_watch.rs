//! Watches the process of the editor, so that no server outlives a crashed one whose pipes somebody else still holds.
//!
//! Owns one thread that waits for that process to end, and one that waits for the reader of our stdout to go. Never ends
//! anything itself.

use crate::platform::wait_for_end;

/// Calls `on_gone`, on a thread of its own, when the process ends or is not there.
pub(super) fn watch(process_id: u32, on_gone: impl FnOnce() + Send + 'static) {
    let spawned =
        std::thread::Builder::new().name("client-watch".to_owned()).spawn(move || {
            match wait_for_end(process_id) {
                Ok(()) => on_gone(),
                Err(error) => not_watched(&error),
            }
        });
    if let Err(error) = spawned {
        not_watched(&error);
    }
}

fn not_watched(error: &std::io::Error) {
    tracing::warn!(
        "The editor's process cannot be watched ({error}); the end of stdin still ends the server."
    );
}

/// Calls `on_dead`, on a thread of its own, when nobody can read our stdout any more, though nothing is written to it.
#[cfg(unix)]
pub(crate) fn watch_stdout(on_dead: impl FnOnce() + Send + 'static) {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;

    let spawned = std::thread::Builder::new().name("stdout-watch".to_owned()).spawn(move || {
        let stdout = std::io::stdout();
        loop {
            let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
            match poll(&mut watched, None) {
                Ok(_) if watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => {
                    return on_dead();
                }
                Err(Errno::INTR) => {}
                // Not something that can be watched; the next write tells.
                Ok(_) | Err(_) => return,
            }
        }
    });
    if let Err(error) = spawned {
        tracing::warn!("Our stdout cannot be watched ({error}); a write that fails still ends the server.");
    }
}

/// Here the next write tells.
#[cfg(not(unix))]
pub(crate) fn watch_stdout(_on_dead: impl FnOnce() + Send + 'static) {}

#[cfg(all(test, unix))]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_end_of_the_process_is_told_and_not_its_life() {
        let mut client = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let (told, hears) = mpsc::channel();
        watch(client.id(), move || told.send(()).unwrap());
        assert_eq!(hears.try_recv(), Err(mpsc::TryRecvError::Empty));
        drop(client.stdin.take());
        hears.recv_timeout(Duration::from_secs(60)).unwrap();
        client.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_not_there_is_told_at_once() {
        let mut client = Command::new("true").spawn().unwrap();
        client.wait().unwrap();
        let (told, hears) = mpsc::channel();
        watch(client.id(), move || told.send(()).unwrap());
        hears.recv_timeout(Duration::from_secs(60)).unwrap();
    }
}
