//! Text made safe to show: what a person sees is what runs.
//!
//! Owns the one mapping from a text of an engine, a model, a repository or a client to what may be drawn. Whatever is not
//! seen, moves other text or looks like something else is written out between `⟨` and `⟩`; nothing is dropped. The mapping
//! is reversible (`reveal`), so two different texts are never shown as the same. It is applied once to each string, where
//! the string is given out to be shown: a second time would write its marks out. Never cuts without saying so.
//!
//! The marks: `⟨U+202E⟩` is a character by its number, `⟨3×U+200B⟩` several, `⟨40 spaces⟩` a run of blanks; `⏎`, `⇥` and `␍`
//! are a line feed, a tab and a carriage return. Where the text has these characters itself, they are written by number.
//! What a program printed keeps its colours (`show_output`); no other text has any.

mod characters;
mod colours;
mod confusable;
mod pieces;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use self::characters::{Word, is_marked, is_of_word};
pub use self::colours::without as without_colours;
pub(crate) use self::colours::{cut_at, without_unfinished};
pub use self::pieces::ShownPieces;
use crate::domain::edits::text::hex;

/// Blanks in a row on one line that are shown as they are; more could push what follows out of sight.
const BLANKS: usize = 8;
/// The same where text is indented and aligned in columns.
const BLANKS_IN_LINES: usize = 80;
/// Line feeds or tabs in a row, in text of several lines.
const ENDS_IN_LINES: usize = 20;
/// Longest text that `reveal` makes, in bytes. No text that anybody decides about is longer, and a count in a mark cannot be
/// used to take memory.
const REVEALED: usize = 1 << 20;

/// What a text is, which decides how strictly it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A command, path, name or rule, on one line. Letters are marked wherever they imitate ASCII.
    Code,
    /// A title or sentence, on one line, in any language. Letters are marked only in words that mix scripts.
    Sentence,
    /// Text of several lines: output, a diff, a message. Line feeds and tabs stay; letters as in a sentence.
    Lines,
}

/// The text as it may be shown.
pub fn show(text: &str, kind: Kind) -> Cow<'_, str> {
    if is_plain(text, kind) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(written(text, kind, Marks::WrittenOut))
}

/// What a program printed, as it may be shown: text of several lines with its colours. They part no word and no run, so what
/// is marked without them is marked with them.
pub(crate) fn show_output(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return show(text, Kind::Lines);
    }
    let (words, colours) = colours::split(text);
    let out = WrittenText { colours: colours.into(), ..WrittenText::default() };
    Cow::Owned(each_character(&words, Kind::Lines, Marks::WrittenOut, out))
}

/// The start of a text as it may be shown: at most `most` bytes of the text, then how much is missing and a digest of the
/// whole, so that two texts that differ only in their ends are not shown as the same.
pub(crate) fn show_start(text: &str, kind: Kind, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return show(text, kind);
    }
    let start = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
    Cow::Owned(format!("{}{}", show(start, kind), missing(text, start.len())))
}

/// A text that was made safe already, cut to at most `most` bytes between two marks, with what is missing said as in
/// `show_start`.
pub(crate) fn cut_marked(shown: String, most: usize) -> String {
    if shown.len() <= most {
        return shown;
    }
    let start = shown.get(..shown.floor_char_boundary(most)).unwrap_or_default();
    let start = match (start.rfind('⟨'), start.rfind('⟩')) {
        (Some(open), close) if close.is_none_or(|close| close < open) => {
            start.get(..open).unwrap_or_default()
        }
        _ => start,
    };
    format!("{start}{}", missing(&shown, start.len()))
}

/// A text that was made safe before it came here, such as a title from the server: its marks stay. What hides in it all the
/// same is written out.
pub fn show_marked(text: &str) -> Cow<'_, str> {
    if is_plain(text, Kind::Lines) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(written(text, Kind::Lines, Marks::Kept))
}

/// The mark at a cut.
fn missing(text: &str, from: usize) -> String {
    let left = text.get(from..).unwrap_or_default().chars().count();
    let digest = hex(&Sha256::digest(text.as_bytes()));
    format!("⟨… {left} more characters, sha256 {}⟩", digest.get(..16).unwrap_or_default())
}

/// The text behind a shown one. `None`: it is not what `show` makes of any text, or it was cut.
pub fn reveal(shown: &str) -> Option<String> {
    let mut text = String::with_capacity(shown.len());
    let mut rest = shown;
    while let Some(at) = rest.find(['⟨', '⏎', '⇥', '␍']) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let mark = from.chars().next()?;
        rest = from.get(mark.len_utf8()..)?;
        match mark {
            '⏎' => text.push('\n'),
            '⇥' => text.push('\t'),
            '␍' => text.push('\r'),
            _ => {
                let (inside, after) = rest.split_once('⟩')?;
                read_mark(inside, &mut text)?;
                rest = after;
            }
        }
    }
    text.push_str(rest);
    (text.len() <= REVEALED).then_some(text)
}

fn read_mark(inside: &str, text: &mut String) -> Option<()> {
    let mut repeat = |c: char, count: usize| -> Option<()> {
        let bytes = count.checked_mul(c.len_utf8())?.checked_add(text.len())?;
        (bytes <= REVEALED).then(|| text.extend(std::iter::repeat_n(c, count)))
    };
    if let Some(count) = inside.strip_suffix(" spaces").or_else(|| inside.strip_suffix(" space")) {
        return repeat(' ', count.parse().ok()?);
    }
    for item in inside.split(' ') {
        let (count, number) = item.split_once('×').unwrap_or(("1", item));
        let number = u32::from_str_radix(number.strip_prefix("U+")?, 16).ok()?;
        repeat(char::from_u32(number)?, count.parse().ok()?)?;
    }
    Some(())
}

/// The usual case: printable ASCII without long runs of blanks, and on one line none at its ends.
fn is_plain(text: &str, kind: Kind) -> bool {
    let bytes = text.as_bytes();
    if !bytes.iter().all(|byte| is_plain_byte(*byte, kind)) {
        return false;
    }
    match kind {
        Kind::Code | Kind::Sentence => {
            bytes.first() != Some(&b' ') && bytes.last() != Some(&b' ') && !has_run(bytes, b' ', BLANKS)
        }
        Kind::Lines => {
            !has_run(bytes, b' ', BLANKS_IN_LINES)
                && !has_run(bytes, b'\n', ENDS_IN_LINES)
                && !has_run(bytes, b'\t', ENDS_IN_LINES)
        }
    }
}

/// Printable ASCII, and in text of several lines the ends of lines and tabs.
fn is_plain_byte(byte: u8, kind: Kind) -> bool {
    matches!(byte, b' '..=b'~') || kind == Kind::Lines && matches!(byte, b'\n' | b'\t')
}

/// Whether a byte stands more than `most` times in a row. Such a run covers one of every `most + 1` places, so only those
/// are looked at.
fn has_run(bytes: &[u8], byte: u8, most: usize) -> bool {
    bytes.iter().enumerate().skip(most).step_by(most + 1).any(|(at, found)| {
        let of_run = |other: &&u8| **other == byte;
        let before = || bytes.get(..at).unwrap_or_default().iter().rev().take_while(of_run).count();
        let after = || bytes.get(at..).unwrap_or_default().iter().take_while(of_run).take(most + 1).count();
        *found == byte && before() + after() > most
    })
}

/// Whether the marks that a text has already are its own characters, or ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marks {
    WrittenOut,
    Kept,
}

/// What is plain up to the first character that is not is shown as it is, and only the rest is looked at one by one: most
/// texts are ASCII but for a few characters, such as the mark of a cut at their end.
fn written(text: &str, kind: Kind, marks: Marks) -> String {
    let start = plain_start(text, kind);
    let rest = text.get(start..).unwrap_or_default();
    let out =
        WrittenText { text: text.get(..start).unwrap_or_default().to_owned(), ..WrittenText::default() };
    each_character(rest, kind, marks, out)
}

/// Length of a start that is shown as it is whatever follows. It ends before a punctuation character of ASCII, so that neither
/// a word nor a run of blanks goes on behind it.
fn plain_start(text: &str, kind: Kind) -> usize {
    let bytes = text.as_bytes();
    let odd = bytes.iter().position(|byte| !is_plain_byte(*byte, kind)).unwrap_or(bytes.len());
    let plain = bytes.get(..odd).unwrap_or_default();
    let end = plain.iter().rposition(u8::is_ascii_punctuation).unwrap_or(0);
    let start = text.get(..end).unwrap_or_default();
    if is_plain(start, kind) { end } else { 0 }
}

fn each_character(text: &str, kind: Kind, marks: Marks, mut out: WrittenText<'_>) -> String {
    let chars: Vec<char> = text.chars().collect();
    let (mut word, mut word_end) = (Word::default(), 0);
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let usual = if at >= word_end { usual_length(&chars, at) } else { 0 };
        if usual > 0 {
            out.usual(chars.get(at..at + usual).unwrap_or_default());
            at += usual;
            continue;
        }
        if at >= word_end && is_of_word(c) {
            let rest = chars.get(at..).unwrap_or_default();
            let length = rest.iter().take_while(|c| is_of_word(**c)).count();
            word = Word::of(rest.get(..length).unwrap_or_default());
            word_end = at + length;
        }
        let run = |holds: &dyn Fn(usize) -> bool| {
            let rest = chars.get(at..).unwrap_or_default();
            rest.iter().enumerate().take_while(|(more, next)| **next == c && holds(at + more)).count()
        };
        let count = match c {
            ' ' => {
                let count = run(&|_| true);
                let at_an_end = kind != Kind::Lines && (at == 0 || at + count == chars.len());
                let most = if kind == Kind::Lines { BLANKS_IN_LINES } else { BLANKS };
                if at_an_end || count > most {
                    out.spaces(count)
                } else {
                    out.plain(c, count)
                }
                count
            }
            '\n' | '\t' | '\r' => {
                let count = run(&|_| true);
                let most = if kind == Kind::Lines { ENDS_IN_LINES } else { BLANKS };
                match c {
                    _ if count > most => out.number(c, count),
                    '\n' | '\t' if kind == Kind::Lines => out.plain(c, count),
                    '\n' => out.plain('⏎', count),
                    '\t' => out.plain('⇥', count),
                    _ => out.plain('␍', count),
                }
                count
            }
            '⟨' | '⟩' | '⏎' | '⇥' | '␍' if marks == Marks::WrittenOut => {
                let count = run(&|_| true);
                out.number(c, count);
                count
            }
            _ => match run(&|at| is_marked(&chars, at, word, kind)) {
                0 => {
                    out.plain(c, 1);
                    1
                }
                count => {
                    out.number(c, count);
                    count
                }
            },
        };
        at += count;
    }
    out.finish()
}

/// How many characters from `at` on are printable ASCII with no more than one blank between them, and so are shown as they are.
/// They end before a word that goes on with another character, since that is judged by the whole word.
fn usual_length(chars: &[char], at: usize) -> usize {
    let rest = chars.get(at..).unwrap_or_default();
    let before = at.checked_sub(1).and_then(|at| chars.get(at));
    let is_usual = |place: usize, c: char| match c {
        '!'..='~' => true,
        ' ' => {
            let before = if place == 0 { before } else { rest.get(place - 1) };
            [before, rest.get(place + 1)]
                .into_iter()
                .all(|beside| beside.is_some_and(|beside| *beside != ' '))
        }
        _ => false,
    };
    let length = rest.iter().enumerate().take_while(|(place, c)| is_usual(*place, **c)).count();
    if !rest.get(length).copied().is_some_and(is_of_word) {
        return length;
    }
    let usual = rest.get(..length).unwrap_or_default();
    usual.iter().rposition(|c| !c.is_ascii_alphanumeric()).map_or(0, |last| last + 1)
}

/// The text so far; numbers that follow each other share their brackets.
#[derive(Default)]
struct WrittenText<'a> {
    text: String,
    in_brackets: bool,
    /// Characters that were looked at.
    at: usize,
    /// The colours to come, each with the number of characters before it.
    colours: VecDeque<(usize, &'a str)>,
}

impl WrittenText<'_> {
    fn plain(&mut self, c: char, count: usize) {
        self.close();
        for _ in 0..count {
            self.colour();
            self.text.push(c);
            self.at += 1;
        }
    }

    fn usual(&mut self, chars: &[char]) {
        if self.colours.is_empty() {
            self.close();
            self.text.extend(chars);
            self.at += chars.len();
        } else {
            chars.iter().for_each(|c| self.plain(*c, 1));
        }
    }

    fn spaces(&mut self, count: usize) {
        self.close();
        self.colour();
        self.at += count;
        let word = if count == 1 { "space" } else { "spaces" };
        // Writing to a string does not fail.
        let _ = write!(self.text, "⟨{count} {word}⟩");
    }

    fn number(&mut self, c: char, count: usize) {
        self.colour();
        self.at += count;
        self.text.push(if self.in_brackets { ' ' } else { '⟨' });
        self.in_brackets = true;
        let times = if count == 1 { String::new() } else { format!("{count}×") };
        // Writing to a string does not fail.
        let _ = write!(self.text, "{times}U+{:04X}", u32::from(c));
    }

    /// The colours that stand before the next character.
    fn colour(&mut self) {
        while let Some((_, colour)) = self.colours.pop_front_if(|(before, _)| *before <= self.at) {
            self.close();
            self.text.push_str(colour);
        }
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.in_brackets) {
            self.text.push('⟩');
        }
    }

    fn finish(mut self) -> String {
        self.close();
        self.colours.iter().for_each(|(_, colour)| self.text.push_str(colour));
        self.text
    }
}

#[cfg(test)]
#[path = "shown/tests.rs"]
mod tests;
