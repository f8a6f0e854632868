//! Lines as they are shown: cut to a width, free of control characters.
//!
//! Never decides which lines are shown.

use crate::domain::policy::rearranging::rearranges;

/// Most characters of one line in a snippet, a hit or a signature: enough for code, and a minified file cannot fill an
/// answer.
pub(super) const WIDTH: usize = 300;

/// The line cut to `WIDTH` characters, `…` for what was left out. Control characters but tabs become spaces, so that a
/// file cannot steer a terminal through a snippet.
pub(super) fn shown(line: &str) -> String {
    cut(line.trim_end_matches(['\r', '\n']), 0)
}

/// The same, around a byte offset that must stay visible.
pub(super) fn shown_around(line: &str, offset: usize) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    let before = line.get(..offset).map_or(0, |text| text.chars().count());
    cut(line, if before < WIDTH * 2 / 3 { 0 } else { before - WIDTH / 3 })
}

fn cut(line: &str, skip: usize) -> String {
    let mut out = String::with_capacity(line.len().min(WIDTH * 4));
    let mut room = WIDTH;
    if skip > 0 {
        out.push('…');
        room -= 1;
    }
    let mut rest =
        line.chars().skip(skip).map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).peekable();
    while rest.peek().is_some() {
        if room == 1 {
            let last = rest.next();
            match (last, rest.peek()) {
                (Some(c), None) => out.push(c),
                _ => out.push('…'),
            }
            break;
        }
        out.extend(rest.next());
        room -= 1;
    }
    out
}

/// A name or path within a sentence: one line, no control characters, at most 120 characters.
pub(super) fn one_line(text: &str) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == 120 {
            out.push('…');
            break;
        }
        if misleading(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// True for characters that break out of a line or show it in another order than it has.
pub(super) fn misleading(c: char) -> bool {
    c.is_control() || rearranges(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_to_the_width_and_a_fitting_one_is_not() {
        let fits = "é".repeat(WIDTH);
        assert_eq!(shown(&fits), fits);
        let long = "é".repeat(WIDTH + 1);
        assert_eq!(shown(&long), format!("{}…", "é".repeat(WIDTH - 1)));
        assert_eq!(shown("a\tb\u{1b}[31m\r\n"), "a\tb [31m");
    }

    #[test]
    fn a_match_far_to_the_right_stays_visible() {
        let line = format!("{}needle{}", "x".repeat(5_000), "y".repeat(5_000));
        let text = shown_around(&line, 5_000);
        assert!(text.contains("needle") && text.starts_with('…') && text.ends_with('…'));
        assert_eq!(text.chars().count(), WIDTH);
    }

    #[test]
    fn a_path_in_a_sentence_stays_on_one_line() {
        assert_eq!(one_line("a\nb\u{202e}c"), "a\\u{a}b\\u{202e}c");
    }
}
