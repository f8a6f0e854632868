//! Where the answers of a person come from.
//!
//! Owns the choice: stdin where that is a terminal, else the terminal of this process, where something was piped in and what
//! is asked can be seen. Never shows anything.

use std::fs::File;
use std::io::{BufRead, Read};
use std::process::Stdio;
use std::sync::Arc;

use super::super::terminal::Terminal;

/// Longest line that is read, in bytes; what follows counts as the next line.
const TYPED: u64 = 1 << 10;

/// Where answers come from.
#[derive(Debug, Clone)]
pub(super) enum Keyboard {
    /// Stdin is a terminal.
    Stdin,
    /// Stdin is taken, and the terminal was opened beside it.
    Terminal(Arc<File>),
    /// Nobody can be asked.
    Nobody,
}

impl Keyboard {
    /// Looks for one. `is_taken`: the question came from stdin, or a part of it.
    pub(super) fn find(terminal: &Terminal, is_taken: bool) -> Self {
        if terminal.stdin {
            return Self::Stdin;
        }
        let beside = (is_taken && terminal.stderr).then(terminal_of_this_process).flatten();
        beside.map_or(Self::Nobody, |file| Self::Terminal(Arc::new(file)))
    }

    /// Whether somebody can be asked.
    pub(super) fn is_there(&self) -> bool {
        !matches!(self, Self::Nobody)
    }

    /// The terminal for another program, where that is not stdin itself.
    pub(super) fn handle(&self) -> Option<Stdio> {
        match self {
            Self::Terminal(file) => file.try_clone().ok().map(Stdio::from),
            Self::Stdin | Self::Nobody => None,
        }
    }

    /// Waits for a line; `None` at the end, or where nobody can be asked.
    pub(super) fn line(&self) -> Option<String> {
        let mut line = Vec::new();
        match self {
            Self::Stdin => {
                std::io::stdin().lock().take(TYPED).read_until(b'\n', &mut line).ok()?;
            }
            // Byte by byte: what was typed behind the line belongs to the next question.
            Self::Terminal(file) => {
                let mut typed = file.as_ref().take(TYPED);
                let mut byte = [0];
                while !line.ends_with(b"\n") && typed.read(&mut byte).ok()? == 1 {
                    line.extend(byte);
                }
            }
            Self::Nobody => {}
        }
        (!line.is_empty()).then(|| String::from_utf8_lossy(&line).trim().to_lowercase())
    }
}

#[cfg(unix)]
fn terminal_of_this_process() -> Option<File> {
    File::open("/dev/tty").ok()
}

#[cfg(not(unix))]
fn terminal_of_this_process() -> Option<File> {
    None
}
