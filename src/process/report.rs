//! What a guardian tells the server: one line each, on the control socket.
//!
//! Owns the spelling, both ways. Never waits.

/// One report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The inner guardian runs, under this process id.
    Guarded(i32),
    /// Whether the program is confined, as it was to be: 1, or 0 where the system cannot.
    Confined(i32),
    /// The program runs, under this process id.
    Started(i32),
    /// It could not be started: the system's number of the error.
    Failed(i32),
    /// It ended with this code.
    Exited(i32),
    /// This signal ended it.
    Killed(i32),
}

impl Report {
    /// The line, with its end.
    pub(super) fn line(self) -> String {
        let (word, number) = match self {
            Self::Guarded(pid) => ("guarded", pid),
            Self::Confined(is) => ("confined", is),
            Self::Started(pid) => ("started", pid),
            Self::Failed(error) => ("failed", error),
            Self::Exited(code) => ("exited", code),
            Self::Killed(signal) => ("killed", signal),
        };
        format!("{word} {number}\n")
    }

    /// Takes the first whole line off what was read. A line that says nothing is left out.
    pub(super) fn take(read: &mut Vec<u8>) -> Option<Self> {
        while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = read.drain(..=end).collect();
            let report = std::str::from_utf8(&line[..end]).ok().and_then(Self::parse);
            if report.is_some() {
                return report;
            }
        }
        None
    }

    fn parse(line: &str) -> Option<Self> {
        let (word, number) = line.split_once(' ')?;
        let number = number.parse().ok()?;
        match word {
            "guarded" => Some(Self::Guarded(number)),
            "confined" => Some(Self::Confined(number)),
            "started" => Some(Self::Started(number)),
            "failed" => Some(Self::Failed(number)),
            "exited" => Some(Self::Exited(number)),
            "killed" => Some(Self::Killed(number)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn what_is_said_is_what_is_heard_however_it_is_cut() {
        let all = [
            Report::Guarded(6),
            Report::Confined(1),
            Report::Started(7),
            Report::Failed(2),
            Report::Exited(0),
            Report::Killed(9),
        ];
        let text: String =
            all.iter().map(|report| report.line()).collect::<String>() + "nonsense\nstarted x\n";
        let (mut read, mut heard) = (Vec::new(), Vec::new());
        for byte in text.bytes() {
            read.push(byte);
            heard.extend(Report::take(&mut read));
        }
        assert_eq!((heard.as_slice(), read.as_slice()), (all.as_slice(), &b""[..]));
    }
}
