//! Waiting for the end of a process that is not ours.
//!
//! Owns the wait: on a pidfd of Linux, a queue of events of the kernel on macOS, a handle on Windows. Where the kernel gives none of
//! these, it looks every 300 ms. Never ends a process.

use std::io;

/// Waits until the process ends; one that is not there has ended. Blocks its thread.
///
/// # Errors
/// On Windows: the process may not be watched.
#[cfg(unix)]
pub(crate) fn wait_for_end(process_id: u32) -> io::Result<()> {
    let pid = i32::try_from(process_id).ok().and_then(rustix::process::Pid::from_raw);
    let Some(pid) = pid else { return Err(io::ErrorKind::InvalidInput.into()) };
    if wait_by_the_kernel(pid) == Waited::NotPossible {
        look_until_gone(pid);
    }
    Ok(())
}

/// Waits until the process ends; one that is not there has ended. Blocks its thread.
///
/// # Errors
/// The process may not be watched.
#[cfg(windows)]
#[allow(unsafe_code)]
pub(crate) fn wait_for_end(process_id: u32) -> io::Result<()> {
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
        _ => Err(io::Error::last_os_error()),
    }
}

/// What came of asking the kernel.
#[cfg(unix)]
#[derive(Debug, PartialEq, Eq)]
enum Waited {
    /// The process is gone.
    Gone,
    /// The kernel does not tell, or a sandbox forbids to ask.
    NotPossible,
}

#[cfg(target_os = "linux")]
fn wait_by_the_kernel(pid: rustix::process::Pid) -> Waited {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, pidfd_open};

    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => loop {
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], None) {
                Ok(_) => return Waited::Gone,
                Err(Errno::INTR) => {}
                Err(_) => return Waited::NotPossible,
            }
        },
        Err(Errno::SRCH) => Waited::Gone,
        Err(_) => Waited::NotPossible,
    }
}

#[cfg(target_vendor = "apple")]
#[allow(unsafe_code)]
fn wait_by_the_kernel(pid: rustix::process::Pid) -> Waited {
    use rustix::event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue};
    use rustix::io::Errno;

    let Ok(queue) = kqueue() else { return Waited::NotPossible };
    let end = EventFilter::Proc { pid, flags: ProcessEvents::EXIT };
    let watched = [Event::new(end, EventFlags::ADD | EventFlags::ONESHOT, std::ptr::null_mut())];
    let mut wanted: &[Event] = &watched;
    loop {
        let mut told: Vec<Event> = Vec::with_capacity(1);
        // SAFETY: the queue holds no handles but that of the process, which is a number.
        match unsafe { kevent(&queue, wanted, rustix::buffer::spare_capacity(&mut told), None) } {
            // What could not be added comes back as an event that says why.
            Ok(0) => wanted = &[],
            Ok(_) => {
                let failed = told.first().filter(|one| one.flags().contains(EventFlags::ERROR));
                let is_gone = failed.is_none_or(|one| one.data() == i64::from(Errno::SRCH.raw_os_error()));
                return if is_gone { Waited::Gone } else { Waited::NotPossible };
            }
            Err(Errno::SRCH) => return Waited::Gone,
            Err(Errno::INTR) => {}
            Err(_) => return Waited::NotPossible,
        }
    }
}

#[cfg(all(unix, not(any(target_os = "linux", target_vendor = "apple"))))]
fn wait_by_the_kernel(_: rustix::process::Pid) -> Waited {
    Waited::NotPossible
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

    use super::*;

    #[test]
    fn a_process_is_waited_for_whether_the_kernel_tells_or_it_is_looked_for() {
        for look in [false, true] {
            let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            let pid = child.id();
            let waiter = std::thread::spawn(move || {
                if look {
                    look_until_gone(rustix::process::Pid::from_raw(pid.cast_signed()).unwrap());
                } else {
                    wait_for_end(pid).unwrap();
                }
            });
            assert!(!waiter.is_finished());
            drop(child.stdin.take());
            // Buried, so that nobody finds it any more.
            child.wait().unwrap();
            waiter.join().unwrap();
            wait_for_end(pid).unwrap();
        }
        assert!(wait_for_end(0).is_err());
    }
}
