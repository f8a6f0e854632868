//! What the exit codes mean. The one place that knows the numbers.

use std::process::ExitCode;

/// How a command ended, as a script sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Answered, or nothing failed.
    Done,
    /// The turn failed, or a check did.
    Failed,
    /// The command line is wrong.
    Usage,
    /// The server could not be started, ended early or spoke nonsense.
    Server,
    /// The turn ended, but something was denied because nobody could be asked.
    Unanswered,
    /// Stopped by Ctrl-C.
    Interrupted,
}

/// The exit codes of every command, for the help of the program.
pub(super) const EXIT_HELP: &str = "Exit codes:\n  0    done\n  1    failed, or a check failed\n  2    wrong usage\n  3    the server could not be \
started, exited early or sent invalid messages\n  4    a question was declined, or nobody could be asked\n  130  stopped with Ctrl-C";

/// The exit codes of `ask` for its help.
pub(super) const ASK_EXIT_HELP: &str = "The answer and proposed diffs go to stdout, everything else to stderr.\n\n\
Exit codes:\n  0    answered\n  1    the turn failed, was refused, was cut short or did not do what was asked, or the engine kept silent\n  2    wrong \
usage\n  3    the server could not be started, exited early or sent invalid messages\n  4    a permission was denied because nobody could be \
asked\n  130  stopped with Ctrl-C";

/// The exit codes of `doctor` for its help.
pub(super) const DOCTOR_EXIT_HELP: &str =
    "Exit codes:\n  0    no check failed (there may be warnings)\n  1    a check failed\n  2    wrong usage";

/// The exit codes of `setup` for its help, with what it says of keys and of the file.
pub(super) const SETUP_EXIT_HELP: &str = "Answers are read from stdin, one per line. Keys are read from the environment (OPENAI_API_KEY and \
others) and never saved.\n\nThe file is breadboard-ls/settings.json in $XDG_CONFIG_HOME or ~/.config. Its `engine` and `model` apply \
where no editor, option or variable names either.\n\nExit codes:\n  0    saved\n  1    it could not be saved\n  2    wrong \
usage\n  3    the server could not be started\n  4    nothing was chosen";

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Server => 3,
            Self::Unanswered => 4,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// What happened during a turn, as far as the exit code cares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AskOutcome {
    /// The user stopped it.
    pub interrupted: bool,
    /// An event of class `run.error_or_gap` came.
    pub errors: bool,
    /// Something was denied because nobody could be asked.
    pub unanswered: bool,
    /// The engine said at the end that it did not succeed.
    pub unsuccessful: bool,
}

impl AskOutcome {
    /// The exit of a turn that ended. A stop explains whatever else happened; an error explains more than a denial; a
    /// denial is the likely reason why a turn did not succeed.
    pub(super) fn exit(self) -> Exit {
        if self.interrupted {
            Exit::Interrupted
        } else if self.errors {
            Exit::Failed
        } else if self.unanswered {
            Exit::Unanswered
        } else if self.unsuccessful {
            Exit::Failed
        } else {
            Exit::Done
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_its_exit_code() {
        let base = AskOutcome::default();
        let rows = [
            (base, 0),
            (AskOutcome { unsuccessful: true, ..base }, 1),
            (AskOutcome { errors: true, ..base }, 1),
            (AskOutcome { errors: true, unanswered: true, ..base }, 1),
            (AskOutcome { unanswered: true, ..base }, 4),
            (AskOutcome { unanswered: true, unsuccessful: true, ..base }, 4),
            (AskOutcome { interrupted: true, errors: true, unanswered: true, unsuccessful: true }, 130),
        ];
        for (outcome, code) in rows {
            assert_eq!(outcome.exit().code(), code, "{outcome:?}");
        }
        assert_eq!((Exit::Usage.code(), Exit::Server.code()), (2, 3));
    }
}
