//! `breadboard-ls guard`: the process that stands over a program. The server starts it; no person does.
//!
//! Owns its exit code. Never says anything on a stream of the program.

use std::process::ExitCode;

use super::args::GuardArgs;
use super::exit::Exit;

/// Guards until nothing is left of the program; ends with the program's code.
#[cfg(unix)]
pub fn guard(args: GuardArgs) -> ExitCode {
    use crate::process::{Post, guard};
    let post = if args.inner { Post::Inner } else { Post::Outer };
    match guard(post, args.program, args.args) {
        Ok(code) => ExitCode::from(code),
        // The server was told, or it is not there.
        Err(_) => Exit::Failed.into(),
    }
}

/// Nothing is guarded here.
#[cfg(not(unix))]
pub fn guard(_: GuardArgs) -> ExitCode {
    Exit::Failed.into()
}
