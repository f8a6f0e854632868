//! Watches the process of the editor, so that no server outlives a crashed one whose pipes somebody else still holds.
//!
//! Owns one thread that waits for that process to end, and one that waits for the reader of our stdout to go. Never ends
//! anything itself. On Linux it waits on a pidfd, on Windows on a handle of the process; on other Unixes it looks every 300 ms.

/// Calls `on_gone`, on a thread of its own, when the process ends or is not there.
#[cfg(unix)]
pub(super) fn watch(process_id: u32, on_gone: impl FnOnce() + Send + 'static) {
    let Some(pid) = i32::try_from(process_id).ok().and_then(rustix::process::Pid::from_raw) else { return };
    let spawned = std::thread::Builder::new().name("client-watch".to_owned()).spawn(move || {
        wait_for_end(pid);
        on_gone();
    });
    if let Err(error) = spawned {
        tracing::warn!(
            "The editor's process cannot be watched ({error}); the end of stdin still ends the server."
        );
    }
}

/// Calls `on_gone`, on a thread of its own, when the process ends or is not there.
#[cfg(windows)]
pub(super) fn watch(process_id: u32, on_gone: impl FnOnce() + Send + 'static) {
    let spawned = std::thread::Builder::new().name("client-watch".to_owned()).spawn(
        move || match wait_for_end(process_id) {
            Ok(()) => on_gone(),
            Err(error) => tracing::warn!(
                "The editor's process cannot be watched ({error}); the end of stdin still ends the server."
            ),
        },
    );
    if let Err(error) = spawned {
        tracing::warn!(
            "The editor's process cannot be watched ({error}); the end of stdin still ends the server."
        );
    }
}

/// Waits for the end of a process; one that is not there has ended.
#[cfg(windows)]
#[allow(unsafe_code)]
fn wait_for_end(process_id: u32) -> std::io::Result<()> {
    use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
    use windows::Win32::Foundation::{ERROR_INVALID_PARAMETER, HANDLE, WAIT_OBJECT_0};
    use windows::Win32::System::Threading::{
        INFINITE, OpenProcess, PROCESS_SYNCHRONIZE, WaitForSingleObject,
    };

    // SAFETY: it takes numbers, and what it gives is ours alone.
    let process = match unsafe { OpenProcess(PROCESS_SYNCHRONIZE, false, process_id) } {
        Ok(process) => unsafe { OwnedHandle::from_raw_handle(process.0) },
        // No process has this number.
        Err(error) if error.code() == ERROR_INVALID_PARAMETER.to_hresult() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // SAFETY: the handle is open until the end of this function.
    match unsafe { WaitForSingleObject(HANDLE(process.as_raw_handle()), INFINITE) } {
        WAIT_OBJECT_0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
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

#[cfg(target_os = "linux")]
fn wait_for_end(pid: rustix::process::Pid) {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, pidfd_open};

    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => loop {
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], None) {
                Ok(_) => return,
                Err(Errno::INTR) => {}
                Err(_) => return look_until_gone(pid),
            }
        },
        Err(Errno::SRCH) => {}
        // An old kernel, or a sandbox that forbids it.
        Err(_) => look_until_gone(pid),
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn wait_for_end(pid: rustix::process::Pid) {
    look_until_gone(pid);
}

#[cfg(unix)]
fn look_until_gone(pid: rustix::process::Pid) {
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(300);
    // Not being allowed to signal it means that it is there.
    while rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH) {
        std::thread::sleep(PAUSE);
    }
}

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
        hears.recv_timeout(Duration::from_secs(10)).unwrap();
        client.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_not_there_is_told_at_once() {
        let mut client = Command::new("true").spawn().unwrap();
        client.wait().unwrap();
        let (told, hears) = mpsc::channel();
        watch(client.id(), move || told.send(()).unwrap());
        hears.recv_timeout(Duration::from_secs(10)).unwrap();
    }
}
