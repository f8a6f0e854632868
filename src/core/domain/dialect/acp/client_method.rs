//! What an agent may ask of its client: files and terminals.
//!
//! Owns the names of these methods. Never does one: the adapter does.

/// A method that a client may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientMethod {
    /// A file is read.
    Read,
    /// A file is written.
    Write,
    /// A terminal is made, in which a command runs.
    Create,
    /// What a terminal printed.
    Output,
    /// The end of a command is waited for.
    Wait,
    /// A command is ended.
    Kill,
    /// A terminal is let go.
    Release,
}

impl ClientMethod {
    /// The method of this name, where it is one.
    pub fn named(method: &str) -> Option<Self> {
        match method {
            "fs/read_text_file" => Some(Self::Read),
            "fs/write_text_file" => Some(Self::Write),
            "terminal/create" => Some(Self::Create),
            "terminal/output" => Some(Self::Output),
            "terminal/wait_for_exit" => Some(Self::Wait),
            "terminal/kill" => Some(Self::Kill),
            "terminal/release" => Some(Self::Release),
            _ => None,
        }
    }

    /// Whether it is about a file, and not about a terminal.
    pub fn is_of_files(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// Whether it may begin in a turn only. A terminal outlives its turn, and may be looked at and ended at any time.
    pub fn needs_a_turn(self) -> bool {
        self.is_of_files() || self == Self::Create
    }
}
