//! The type names of the BreadBoard dialect: which spellings are one name, and what a name says about a run.
//!
//! Never gives a name a class: that is `class`.

/// The longest name of the dialect has 30 bytes. A longer one is none of its names.
const LONGEST: usize = 32;

/// A type name with `_` for every `.`, so that the dotted and the underscore spelling of a name are one (R003-07).
/// `None`: too long to be a name of this dialect.
pub(crate) struct EngineWord {
    bytes: [u8; LONGEST],
    len: usize,
}

impl EngineWord {
    /// The name, folded. Costs no allocation.
    pub(crate) fn of(kind: &str) -> Option<Self> {
        let mut bytes = [0; LONGEST];
        let folded = bytes.get_mut(..kind.len())?;
        for (to, from) in folded.iter_mut().zip(kind.bytes()) {
            *to = if from == b'.' { b'_' } else { from };
        }
        Some(Self { bytes, len: kind.len() })
    }

    /// As text.
    pub(crate) fn as_str(&self) -> &str {
        // One ASCII byte for another keeps UTF-8 what it is.
        self.bytes.get(..self.len).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// The greeting of a stream.
pub const STREAM_OPEN: &str = "stream.open";
/// The engine cannot give all that was asked for.
pub const STREAM_GAP: &str = "stream.gap";

/// Whether two type names are spellings of one: they differ at most in `.` and `_`.
pub fn is(kind: &str, word: &str) -> bool {
    kind.len() == word.len()
        && kind
            .bytes()
            .zip(word.bytes())
            .all(|(a, b)| a == b || matches!((a, b), (b'.', b'_') | (b'_', b'.')))
}

/// Whether the input that runs is at its end with this event.
pub fn ends_run(kind: &str) -> bool {
    ["run_finished", "turn_completed", "turn_failed", "turn_cancelled"].into_iter().any(|word| is(kind, word))
}

/// Whether an input begins with this event, or has begun before it. An input makes one `user_message` and, as turn
/// numbers start again with it, its first `turn_start`.
pub fn begins_run(kind: &str) -> bool {
    is(kind, "user_message") || is(kind, "turn_start")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r003_07_a_word_has_one_folded_form_and_no_length_is_too_much() {
        let folded = |kind: &str| EngineWord::of(kind).map(|word| word.as_str().to_owned());
        assert_eq!(folded("tool.result").as_deref(), Some("tool_result"));
        assert_eq!(folded("tool_result").as_deref(), Some("tool_result"));
        assert_eq!(folded("é.ß").as_deref(), Some("é_ß"));
        assert_eq!(folded("").as_deref(), Some(""));
        assert_eq!(folded(&"x".repeat(32)), Some("x".repeat(32)));
        assert_eq!(folded(&"x".repeat(33)), None);
        assert!(is("tool.result", "tool_result") && is("tool_result", "tool.result"));
        assert!(!is("tool-result", "tool_result") && !is("tool_result ", "tool_result"));
    }

    #[test]
    fn a_run_begins_with_the_input_and_ends_with_the_word_of_either_version_of_the_engine() {
        let kinds = [
            "user_message",
            "turn_start",
            "run_finished",
            "turn_completed",
            "turn_failed",
            "turn_cancelled",
            "completion",
            "error",
            "local.turn_end",
            "stream.open",
            "",
        ];
        let begin: Vec<_> = kinds.into_iter().filter(|kind| begins_run(kind)).collect();
        let end: Vec<_> = kinds.into_iter().filter(|kind| ends_run(kind)).collect();
        assert_eq!(begin, ["user_message", "turn_start"]);
        assert_eq!(end, ["run_finished", "turn_completed", "turn_failed", "turn_cancelled"]);
    }
}
