//! `breadboard-ls pair`: the code in a host's terminal, traded for its token.
//!
//! Owns where the token goes: to stdout for an editor that keeps it, or into a file that its owner alone can read. The code comes from
//! stdin, since a command line can be read by others. Never says the token besides.

use std::io::{IsTerminal, Write};

use super::ask::refuse;
use super::exit::Exit;
use super::pair_args::PairArgs;
use super::private_file;
use crate::engine::desktop::pair as trade;

/// Most bytes of a line with a code.
const LINE: u64 = 256;

/// Asks for the code, and keeps or prints the token.
pub(super) fn pair(args: &PairArgs) -> Exit {
    if std::io::stdin().is_terminal() {
        let _ = write!(std::io::stderr(), "Pairing code in the terminal of {}: ", args.url);
    }
    let code = match code() {
        Ok(code) => code,
        Err(sentence) => return refuse(&sentence, Exit::Usage),
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return refuse("There is no room for another thread; free some memory and try again.", Exit::Failed);
    };
    let token = match runtime.block_on(trade(&args.url, args.ca_file.clone(), &code)) {
        Ok(token) => token.0,
        Err(sentence) => return refuse(&sentence, Exit::Failed),
    };
    let Some(file) = &args.token_file else {
        return match writeln!(std::io::stdout(), "{token}") {
            Ok(()) => Exit::Done,
            Err(_) => Exit::Failed,
        };
    };
    match private_file::replace(file, &format!("{token}\n")) {
        Ok(()) => {
            let _ = writeln!(std::io::stderr(), "breadboard-ls: The token is in {}.", file.display());
            Exit::Done
        }
        Err(error) => {
            let why = format!("The token cannot be kept in {}: {error}; name another file.", file.display());
            refuse(&why, Exit::Failed)
        }
    }
}

fn code() -> Result<String, String> {
    use std::io::{BufRead, Read};
    let mut line = String::new();
    let read = std::io::stdin().lock().take(LINE).read_line(&mut line);
    let code = line.trim();
    match read {
        Ok(_) if !code.is_empty() => Ok(code.to_owned()),
        Ok(_) | Err(_) => Err("There is no code; type the one in the terminal of the host.".to_owned()),
    }
}
