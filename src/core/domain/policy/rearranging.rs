//! Characters that show a text in another order, or on other lines, than it has.
//!
//! Owns the list. Never changes a text: whether such a character is refused, escaped or replaced is for those who show it.

/// True for the separators of lines and paragraphs, and for the characters that embed, override or isolate a direction.
/// Control characters are not among them; `char::is_control` knows those.
pub fn rearranges(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::rearranges;

    #[test]
    fn overrides_isolates_and_separators_rearrange_and_letters_and_marks_do_not() {
        let all: Vec<char> = ('\u{2000}'..='\u{2070}').filter(|c| rearranges(*c)).collect();
        let expected: Vec<char> = ('\u{2028}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').collect();
        assert_eq!(all, expected);
        assert!(!"aö中א\n\t\u{1b}\u{200f}".chars().any(rearranges));
    }
}
