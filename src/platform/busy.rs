//! Files that another program holds: on Windows nobody renames over one, and scanners and indexers hold each new file for a moment.
//!
//! Owns how often and how long it is tried again. Elsewhere an open file is in nobody's way.

use std::io;
use std::time::Duration;

/// Tries in all; with the pauses half a second, after which a person holds the file and not a scanner.
const TRIES: u32 = 10;
/// From one try to the next.
const PAUSE: Duration = Duration::from_millis(50);

/// What another program may only do for a moment, tried until it is over. Blocking.
///
/// # Errors
/// What the last try came to.
pub(crate) fn until_free<T>(attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    try_again(attempt, |error| cfg!(windows) && may_be_held(error), || std::thread::sleep(PAUSE))
}

/// Whether another program holds the file. Only Windows lets one do that.
pub(crate) fn is_held(error: &io::Error) -> bool {
    cfg!(windows)
        && error.raw_os_error().is_some_and(|code| [SHARING_VIOLATION, LOCK_VIOLATION].contains(&code))
}

/// `ERROR_ACCESS_DENIED` (winerror.h): also what renaming over an open file comes to.
const ACCESS_DENIED: i32 = 5;
/// `ERROR_SHARING_VIOLATION` (winerror.h).
const SHARING_VIOLATION: i32 = 32;
/// `ERROR_LOCK_VIOLATION` (winerror.h).
const LOCK_VIOLATION: i32 = 33;

fn may_be_held(error: &io::Error) -> bool {
    error
        .raw_os_error()
        .is_some_and(|code| [ACCESS_DENIED, SHARING_VIOLATION, LOCK_VIOLATION].contains(&code))
}

fn try_again<T>(
    mut attempt: impl FnMut() -> io::Result<T>,
    is_held: impl Fn(&io::Error) -> bool,
    mut pause: impl FnMut(),
) -> io::Result<T> {
    for _ in 1..TRIES {
        match attempt() {
            Err(error) if is_held(&error) => pause(),
            outcome => return outcome,
        }
    }
    attempt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_for_a_moment_is_tried_again_and_nothing_else_is() {
        // (what each try comes to, what is told, how many tries)
        let cases: [(&[i32], Result<(), i32>, usize); 5] = [
            (&[0], Ok(()), 1),
            (&[SHARING_VIOLATION, ACCESS_DENIED, 0], Ok(()), 3),
            (&[LOCK_VIOLATION; 20], Err(LOCK_VIOLATION), TRIES as usize),
            (&[2, 0], Err(2), 1),
            (&[SHARING_VIOLATION, 3, 0], Err(3), 2),
        ];
        for (comes, told, count) in cases {
            let (mut tries, mut pauses) = (0, 0);
            let attempt = || {
                let code = comes[tries];
                tries += 1;
                if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
            };
            let outcome = try_again(attempt, may_be_held, || pauses += 1);
            assert_eq!(outcome.map_err(|error| error.raw_os_error().unwrap_or(0)), told, "{comes:?}");
            assert_eq!((tries, pauses), (count, count - 1));
        }
    }
}
