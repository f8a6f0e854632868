//! A command line in one text, as words: what `--engine acp:"…"` names.
//!
//! Owns what is refused. Splits as a shell does, and does nothing else that one does: no variables, no patterns.

/// The words of a command line.
///
/// # Errors
/// One sentence when a quote is left open or there is no word.
pub(super) fn words(line: &str) -> Result<Vec<String>, String> {
    let words = shlex::split(line)
        .ok_or("The command line ends within a quote or after a backslash; complete it.")?;
    if words.first().is_none_or(String::is_empty) {
        return Err(
            "The command line is empty; name the agent's program, as in acp:\"opencode acp\".".to_owned()
        );
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::words;

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
