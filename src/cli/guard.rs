//! `breadboard-ls guard`: the process that stands over a program. The server starts it; no person does.
//!
//! Owns its exit code. Never says anything on a stream of the program.

use std::ffi::OsString;
use std::process::ExitCode;

use super::args::GuardArgs;
use super::exit::Exit;

/// The options as the server spells them: `guard [--inner] -- <program> <argument>...`. `None` for anything else.
pub(super) fn words(argv: &[OsString]) -> Option<GuardArgs> {
    let (first, rest) = argv.get(1..)?.split_first()?;
    let (inner, rest) = match rest.split_first()? {
        (word, rest) if word == "--inner" => (true, rest),
        _ => (false, rest),
    };
    let (separator, rest) = rest.split_first()?;
    let (program, args) = rest.split_first()?;
    let is_ours = first == "guard" && separator == "--";
    is_ours.then(|| GuardArgs { inner, program: program.clone(), args: args.to_vec() })
}

/// Guards until nothing is left of the program; ends with the program's code.
#[cfg(unix)]
pub(super) fn guard(args: GuardArgs) -> ExitCode {
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
pub(super) fn guard(_: GuardArgs) -> ExitCode {
    Exit::Failed.into()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::words;

    #[test]
    fn only_the_servers_own_spelling_is_read_without_the_parser() {
        let read = |line: &str| {
            let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            words(&argv).map(|given| (given.inner, given.program, given.args))
        };
        let args = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(read("bb-guard guard -- sh -c --"), Some((false, "sh".into(), args("-c --"))));
        assert_eq!(read("bb-guard guard --inner -- a --inner"), Some((true, "a".into(), args("--inner"))));
        for other in
            ["bb-guard", "bb-guard guard", "bb-guard guard --", "bb-guard guard sh", "bb-guard ask -- x"]
        {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
