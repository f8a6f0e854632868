//! Finding a session by what was said in it.
//!
//! Owns which blocks count as said, the words of a question, and the piece of a text that is shown where one was found. Never
//! looks anything up: the store has the index.

use serde::Deserialize;

use super::cut::{end_of, start_of};

/// Bytes of one prompt or answer that can be found. What comes behind is read in the session.
const TEXT_BYTES: usize = 64 << 10;

/// Bytes before and behind the first word that was found.
const AROUND: usize = 60;

/// Words that are looked for; more would not find more.
const WORDS_MOST: usize = 16;

/// Who said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaidBy {
    /// Whoever prompts.
    User,
    /// Whoever answers.
    Assistant,
}

/// A prompt or an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its block in the chat.
    pub block_id: String,
    /// Who said it.
    pub speaker: SaidBy,
    /// What, up to `TEXT_BYTES`.
    pub text: String,
}

/// The fields of a stored block that matter here.
#[derive(Deserialize)]
struct StoredBlock {
    id: String,
    kind: String,
    text: Option<String>,
}

/// What a stored block of the chat says, if it is a prompt or an answer.
pub fn said(block: &[u8]) -> Option<Said> {
    let StoredBlock { id, kind, text } = serde_json::from_slice(block).ok()?;
    let speaker = match kind.as_str() {
        "user" => SaidBy::User,
        "assistant" => SaidBy::Assistant,
        _ => return None,
    };
    let text = text.filter(|text| !text.trim().is_empty())?;
    Some(Said { block_id: id, speaker, text: start_of(&text, TEXT_BYTES).to_owned() })
}

/// The words of a question, as they are compared: in lower case, and only those with a letter or a digit.
pub fn words(query: &str) -> Vec<String> {
    query
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(str::to_lowercase)
        .take(WORDS_MOST)
        .collect()
}

/// Whether all of the words stand in the text.
pub fn has_all(text: &str, words: &[String]) -> bool {
    let text = text.to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}

/// The piece of the text around the first of the words, on one line; the beginning where none stands there as it was typed.
pub fn passage(text: &str, words: &[String]) -> String {
    let lower = text.to_lowercase();
    // In another case a letter may take other bytes: the place is used only where it is one in the text as well.
    let at = words.iter().filter_map(|word| lower.find(word.as_str())).min().unwrap_or(0);
    let at = if text.is_char_boundary(at) { at } else { 0 };
    let (before, behind) = text.split_at(at);
    let lead = end_of(before, AROUND);
    let rest = start_of(behind, 2 * AROUND);
    let begins = if lead.len() < before.len() { "…" } else { "" };
    let ends = if rest.len() < behind.len() { "…" } else { "" };
    let words: Vec<&str> = lead.split_whitespace().collect();
    let space = if lead.ends_with(char::is_whitespace) && !words.is_empty() { " " } else { "" };
    let tail: Vec<&str> = rest.split_whitespace().collect();
    format!("{begins}{}{space}{}{ends}", words.join(" "), tail.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_and_answers_are_said_and_nothing_else() {
        let of = |kind: &str, text: &str| {
            let block = serde_json::json!({ "id": "b1", "seq": 1, "kind": kind, "text": text });
            said(block.to_string().as_bytes()).map(|said| (said.speaker, said.text))
        };
        assert_eq!(of("user", "why?"), Some((SaidBy::User, "why?".to_owned())));
        assert_eq!(of("assistant", "so."), Some((SaidBy::Assistant, "so.".to_owned())));
        assert_eq!(of("reasoning", "hm"), None);
        assert_eq!(of("user", "  "), None);
        assert_eq!(said(b"{"), None);
        assert_eq!(of("user", &"é".repeat(TEXT_BYTES)).map(|(_, text)| text.len()), Some(TEXT_BYTES));
    }

    #[test]
    fn a_question_is_its_words_in_lower_case() {
        assert_eq!(words("  Retry - DELAY_ms  "), ["retry", "delay_ms"]);
        assert_eq!(words(" … "), Vec::<String>::new());
        assert!(has_all("The RETRY delay", &words("delay retry")));
        assert!(!has_all("The retry", &words("delay retry")));
    }

    #[test]
    fn a_passage_is_one_line_around_the_first_word() {
        let text = format!("{}\nthe retry\n  delay is {}", "a ".repeat(60), "z".repeat(300));
        let shown = passage(&text, &words("retry"));
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert!(shown.contains("a the retry delay is zzz"), "{shown}");
        assert_eq!(passage("short", &words("nothing")), "short");
        assert_eq!(passage("İİ retry", &words("retry")), "İİ retry");
    }
}
