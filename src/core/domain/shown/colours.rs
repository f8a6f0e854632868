//! Colours in the output of programs: the one escape sequence that is shown as it came.
//!
//! Owns which sequences pass: `ESC [ … m` (select graphic rendition) with numbers that are known, none of which conceals
//! text. Every other sequence is an ordinary control character to the mapping. Never colours anything itself.

use std::borrow::Cow;

/// Longest sequence, in bytes. Both colours by their parts, with every style, are shorter.
const LONGEST: usize = 64;
/// What makes the words that follow invisible.
const CONCEAL: u32 = 8;
/// The last number of a style or a colour that terminals agree on.
const LAST: u32 = 107;

/// A text without its colours, and each colour with the number of characters of that text before it.
pub(super) fn split(text: &str) -> (String, Vec<(usize, &str)>) {
    let (mut words, mut colours, mut count) = (String::with_capacity(text.len()), Vec::new(), 0);
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        let (before, from) = rest.split_at(at);
        words.push_str(before);
        count += before.chars().count();
        let length = length_of(from);
        if length == 0 {
            words.push('\x1b');
            count += 1;
            rest = from.get(1..).unwrap_or_default();
        } else {
            let (sequence, after) = from.split_at(length);
            colours.push((count, sequence));
            rest = after;
        }
    }
    words.push_str(rest);
    (words, colours)
}

/// The same text in one colour, for a place that has none.
pub fn without(text: &str) -> Cow<'_, str> {
    if text.contains('\x1b') { Cow::Owned(split(text).0) } else { Cow::Borrowed(text) }
}

/// The text up to a colour at its end of which only the beginning is there.
pub(crate) fn without_unfinished(text: &str) -> &str {
    match unfinished(text) {
        Some(at) => text.get(..at).unwrap_or_default(),
        None => text,
    }
}

/// How much of the text behind a cut at `at` is the rest of a colour that begins before it, in bytes.
pub(crate) fn cut_at(text: &str, at: usize) -> usize {
    let Some((before, _)) = text.split_at_checked(at) else { return 0 };
    let Some(begin) = unfinished(before) else { return 0 };
    length_of(text.get(begin..).unwrap_or_default()).saturating_sub(at - begin)
}

/// Where a colour begins that the text does not end.
fn unfinished(text: &str) -> Option<usize> {
    let at = text.rfind('\x1b')?;
    let inside = text.get(at + 1..)?;
    let inside = if inside.is_empty() { inside } else { inside.strip_prefix('[')? };
    (text.len() - at < LONGEST && inside.bytes().all(is_parameter)).then_some(at)
}

/// Length of the colour that the text begins with; zero where it begins with none.
fn length_of(text: &str) -> usize {
    let Some(inside) = text.strip_prefix("\x1b[") else { return 0 };
    let length = inside.bytes().take(LONGEST).take_while(|byte| is_parameter(*byte)).count();
    let parameters = inside.get(..length).unwrap_or_default();
    let whole = "\x1b[m".len() + length;
    let ends = inside.as_bytes().get(length) == Some(&b'm');
    if ends && whole <= LONGEST && is_harmless(parameters) { whole } else { 0 }
}

fn is_parameter(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b';' | b':')
}

/// Whether each number is known and none conceals. The parts of a mixed colour are any number of a byte.
fn is_harmless(parameters: &str) -> bool {
    let mut groups = parameters.split(';');
    while let Some(group) = groups.next() {
        let mut numbers = group.split(':').map(number);
        let Some(Some(code)) = numbers.next() else { return false };
        if code == CONCEAL || code > LAST || !numbers.all(|part| part.is_some_and(|part| part <= 255)) {
            return false;
        }
        if matches!(code, 38 | 48 | 58) && !group.contains(':') {
            let parts = match groups.next().and_then(number) {
                Some(5) => 1,
                Some(2) => 3,
                _ => return false,
            };
            for _ in 0..parts {
                if groups.next().and_then(number).is_none_or(|part| part > 255) {
                    return false;
                }
            }
        }
    }
    true
}

/// A number; nothing stands for zero.
fn number(written: &str) -> Option<u32> {
    if written.is_empty() { Some(0) } else { written.parse().ok() }
}
