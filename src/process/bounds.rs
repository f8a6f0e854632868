//! What each process of a command may use: processor time and memory.
//!
//! Owns the shell that sets these bounds and then becomes the command. They are bounds of each process, none of which can raise them
//! again; a system that does not know one of them goes without it. How long a command may take is for whoever waits for it.

/// Bounds of each process of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessBounds {
    /// Seconds of processor time.
    pub(crate) cpu_seconds: u64,
    /// Mebibytes of memory.
    pub(crate) memory_mebibytes: u64,
}

impl ProcessBounds {
    /// A line for the shell, within them.
    pub(crate) fn line(self, line: &str) -> (String, Vec<String>) {
        if cfg!(not(unix)) {
            return ("cmd".to_owned(), vec!["/C".to_owned(), line.to_owned()]);
        }
        self.then("exec sh -c \"$0\"", std::iter::once(line.to_owned()))
    }

    /// A program with its arguments, within them.
    #[cfg(unix)]
    pub(crate) fn program(self, program: String, args: Vec<String>) -> (String, Vec<String>) {
        self.then("exec \"$0\" \"$@\"", std::iter::once(program).chain(args))
    }

    fn then(self, become_it: &str, words: impl Iterator<Item = String>) -> (String, Vec<String>) {
        let (cpu, memory) = (self.cpu_seconds, self.memory_mebibytes.saturating_mul(1_024));
        let script = format!("ulimit -t {cpu} 2>/dev/null; ulimit -d {memory} 2>/dev/null; {become_it}");
        ("sh".to_owned(), ["-c".to_owned(), script].into_iter().chain(words).collect())
    }
}
