//! A command line in one text, as words: what `--engine acp:"…"` names.
//!
//! Owns what is refused. Splits as a shell does, and does nothing else that one does: no variables, no patterns.

/// What a backslash does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backslash {
    /// It takes the meaning of the next letter, as in a Unix shell.
    Escapes,
    /// It parts folders, as on Windows.
    Parts,
}

/// Stands for a backslash while words are split; for private use, so in no path.
const PARTING: char = '\u{e000}';

/// The words of a command line.
///
/// # Errors
/// One sentence when a quote is left open or there is no word.
pub(super) fn words(line: &str) -> Result<Vec<String>, String> {
    words_by(if cfg!(windows) { Backslash::Parts } else { Backslash::Escapes }, line)
}

fn words_by(backslash: Backslash, line: &str) -> Result<Vec<String>, String> {
    let unfinished = "The command line ends within a quote or after a backslash; complete it.";
    let words = match backslash {
        Backslash::Escapes => shlex::split(line).ok_or(unfinished)?,
        Backslash::Parts => {
            let words = shlex::split(&line.replace('\\', &PARTING.to_string())).ok_or(unfinished)?;
            words.into_iter().map(|word| word.replace(PARTING, "\\")).collect()
        }
    };
    if words.first().is_none_or(String::is_empty) {
        return Err(
            "The command line is empty; name the agent's program, as in acp:\"opencode acp\".".to_owned()
        );
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::{Backslash, words_by};

    fn words(line: &str) -> Result<Vec<String>, String> {
        words_by(Backslash::Escapes, line)
    }

    #[test]
    fn a_path_of_windows_keeps_its_backslashes() {
        for (line, wanted) in [
            (r"C:\Tools\agent.exe acp", vec![r"C:\Tools\agent.exe", "acp"]),
            (r#""C:\Program Files\a.cmd" --x "#, vec![r"C:\Program Files\a.cmd", "--x"]),
            (r"'\\server\s\a.exe'", vec![r"\\server\s\a.exe"]),
        ] {
            let wanted = wanted.into_iter().map(str::to_owned).collect();
            assert_eq!(words_by(Backslash::Parts, line), Ok(wanted), "{line}");
        }
        assert!(words_by(Backslash::Parts, "\"C:\\").is_err());
    }

    #[test]
    fn words_are_split_as_in_a_shell() {
        for (line, wanted) in [
            ("opencode acp", vec!["opencode", "acp"]),
            ("  a\t b  ", vec!["a", "b"]),
            (r#"'a b' "c \"d\"" e\ f"#, vec!["a b", "c \"d\"", "e f"]),
            (r#"a '' "" "\x""#, vec!["a", "", "", "\\x"]),
            ("a'b'c", vec!["abc"]),
        ] {
            assert_eq!(words(line), Ok(wanted.into_iter().map(str::to_owned).collect()), "{line}");
        }
        for line in ["", "  ", "'a", "a \"b", "''", "a \\"] {
            assert!(words(line).is_err(), "{line}");
        }
    }
}
