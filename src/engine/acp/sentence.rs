//! Words of an agent inside a sentence of ours: one line, short, without what would colour or move it.

/// Characters of an agent's last words in a sentence.
const LAST_WORDS: usize = 300;

/// Text of an agent inside a sentence of ours.
pub(super) fn one_line(text: &str) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let flat: String = flat.chars().filter(|c| !c.is_control()).collect();
    let short: String = flat.chars().take(LAST_WORDS).collect();
    let cut = short.len() < flat.len();
    format!("{}{}", short.trim_end_matches('.'), if cut { "…" } else { "" })
}

/// The last line of stderr that says something, without the codes that colour it.
pub(super) fn last_words(stderr: &str) -> Option<String> {
    let mut plain = String::with_capacity(stderr.len());
    let mut letters = stderr.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            // A sequence ends with a letter.
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(letter);
        }
    }
    let last = plain.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(one_line(last))
}
