//! What of a text that a person gave as a token is the token.
//!
//! Owns the rule: what stands around it was copied by accident, and what no header can carry is none. Never keeps one.

/// The text holds a control character, so that no header can carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoToken;

/// The token in a text, without the blanks and line ends around it; `None`: there is nothing else.
///
/// # Errors
/// A control character stands within it.
pub fn token_in(text: &str) -> Result<Option<&str>, NoToken> {
    let token = text.trim();
    if token.chars().any(char::is_control) {
        return Err(NoToken);
    }
    Ok(Some(token).filter(|token| !token.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_token_goes_and_what_no_header_carries_is_refused() {
        for (text, token) in [
            ("sk-1", Ok(Some("sk-1"))),
            (" sk-1\r\n", Ok(Some("sk-1"))),
            ("\tsk 1", Ok(Some("sk 1"))),
            ("\n ", Ok(None)),
            ("", Ok(None)),
            ("sk-1\nsk-2", Err(NoToken)),
            ("sk\u{0}1", Err(NoToken)),
            ("sk\u{9b}1", Err(NoToken)),
        ] {
            assert_eq!(token_in(text), token, "{text:?}");
        }
    }
}
