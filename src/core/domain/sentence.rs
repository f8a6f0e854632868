//! A reason as a sentence of its own, for whoever shows it without words around it.
//!
//! Never changes what it says.

/// The clause with a capital in front and a full stop behind. A first word that is a name with a sign in it stays as it is.
pub fn sentence(clause: &str) -> String {
    let clause = clause.trim();
    let first = clause.split_whitespace().next().unwrap_or_default();
    let word = first.trim_end_matches([',', ';', ':']);
    let mut letters = clause.chars();
    let mut said = match letters.next() {
        Some(letter) if word.chars().all(char::is_lowercase) => {
            letter.to_uppercase().chain(letters).collect()
        }
        Some(_) => clause.to_owned(),
        None => return String::new(),
    };
    if !said.ends_with(['.', '!', '?', '…']) {
        said.push('.');
    }
    said
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn a_reason_begins_with_a_capital_and_ends_with_a_full_stop_once() {
        for (clause, said) in [
            ("the engine no longer has them", "The engine no longer has them."),
            (" an error: it broke. ", "An error: it broke."),
            ("breadboard-ls ended first", "breadboard-ls ended first."),
            ("HTTP 409", "HTTP 409."),
            ("What now?", "What now?"),
            ("élan", "Élan."),
            ("", ""),
        ] {
            assert_eq!(sentence(clause), said);
        }
    }
}
