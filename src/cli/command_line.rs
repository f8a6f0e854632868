//! A command line in one text, as words: what `--engine acp:"…"` names.
//!
//! Owns the splitting: blanks, quotes and backslashes as in a shell, and nothing else of one: no variables, no patterns.

/// The words of a command line.
///
/// # Errors
/// One sentence when a quote is left open or there is no word.
pub fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            quote @ ('"' | '\'') => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        None => return Err(format!("The command line leaves a {quote} open; close it.")),
                        Some(end) if end == quote => break,
                        Some('\\') if quote == '"' => match letters.next() {
                            Some(escaped @ ('"' | '\\')) => word.push(escaped),
                            Some(other) => word.extend(['\\', other]),
                            None => word.push('\\'),
                        },
                        Some(other) => word.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(letters.next()),
            blank if blank.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
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
        for line in ["", "  ", "'a", "a \"b", "''"] {
            assert!(words(line).is_err(), "{line}");
        }
    }
}
