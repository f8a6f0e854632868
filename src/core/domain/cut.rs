//! Cutting text to a bound without splitting a character.
//!
//! Owns the marks that say "cut". Never loses the whole: that stays in the events.

use std::borrow::Cow;

use serde_json::Value;

use super::json_size::json_bytes;
use super::shown;

/// The longest start of `text` that has at most `max` bytes and ends between two characters.
pub(in crate::domain) fn start_of(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = (0..=max).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}

/// The longest end of `text` that has at most `max` bytes and begins between two characters.
pub(in crate::domain) fn end_of(text: &str, max: usize) -> &str {
    let from = text.len().saturating_sub(max);
    let from = (from..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    &text[from..]
}

/// The same start of what a program printed; it ends between two colours too.
pub(in crate::domain) fn start_of_output(text: &str, max: usize) -> &str {
    let start = start_of(text, max);
    if start.len() < text.len() { shown::without_unfinished(start) } else { start }
}

/// The same end of what a program printed; it begins between two colours too.
pub(in crate::domain) fn end_of_output(text: &str, max: usize) -> &str {
    let end = end_of(text, max);
    end.get(shown::cut_at(text, text.len() - end.len())..).unwrap_or(end)
}

/// `text`, or its start and `…`.
pub(in crate::domain) fn line(text: &str, max: usize) -> String {
    let start = start_of(text, max);
    if start.len() == text.len() { text.to_owned() } else { format!("{start}…") }
}

/// A value as it is, or, when its JSON is longer than `max` bytes, the start of that JSON as a string.
pub(in crate::domain) fn value(value: Cow<'_, Value>, max: usize) -> Value {
    if json_bytes(&value) <= max { value.into_owned() } else { Value::String(line(&value.to_string(), max)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(start_of("aé", 2), "a");
        assert_eq!(start_of("aé", 3), "aé");
        assert_eq!(line("ééé", 3), "é…");
        assert_eq!(start_of("é", 0), "");
        assert_eq!((end_of("éa", 2), end_of("éa", 3), end_of("é", 0)), ("a", "éa", ""));
    }

    #[test]
    fn a_cut_of_output_never_splits_a_colour() {
        let text = "ab\u{1b}[31mcd";
        let starts: Vec<&str> = (0..=9).map(|max| start_of_output(text, max)).collect();
        assert_eq!(starts, ["", "a", "ab", "ab", "ab", "ab", "ab", "ab\u{1b}[31m", "ab\u{1b}[31mc", text]);
        let ends: Vec<&str> = (0..=9).map(|max| end_of_output(text, max)).collect();
        assert_eq!(ends, ["", "d", "cd", "cd", "cd", "cd", "cd", "\u{1b}[31mcd", "b\u{1b}[31mcd", text]);
    }

    #[test]
    fn a_large_value_becomes_the_start_of_its_json() {
        assert_eq!(value(Cow::Owned(json!({"a": 1})), 100), json!({"a": 1}));
        assert_eq!(value(Cow::Owned(json!({"abc": "defgh"})), 8), json!("{\"abc\":\"…"));
    }
}
