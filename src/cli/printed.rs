//! What a command prints on stdout, once it is whole.
//!
//! Owns what it means when stdout does not take it. Never makes a text.

use std::io::{Error, ErrorKind, Write};

use super::exit::Exit;

/// Prints the text. Where stdout does not take it, the command failed and says why; a reader that has gone away has what it wanted.
pub(super) fn print(text: &[u8], exit: Exit) -> Exit {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = writeln!(std::io::stderr(), "breadboard-ls: {}", unwritten(&error));
            Exit::Failed
        }
        Ok(()) | Err(_) => exit,
    }
}

/// That stdout did not take what was written.
pub(super) fn unwritten(error: &Error) -> String {
    format!("The output could not be written ({error}); free some space there, or send it somewhere else.")
}
