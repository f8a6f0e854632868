//! What may reach a terminal, and how it looks there.
//!
//! Owns which foreign text is shown how: a model, a file name or a tool's output comes from a repository that may be hostile,
//! and an escape sequence can rewrite what the user believes to approve. What hides is written out by `domain::shown`,
//! never dropped. Never writes anything itself.

use std::borrow::Cow;
use std::io::IsTerminal;

use unicode_width::UnicodeWidthChar;

use crate::domain::shown::{Kind, show, show_marked};

/// How one output looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalLook {
    /// Whether colours may be used.
    pub colour: bool,
}

/// Colours by what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// Beside the point.
    Dim,
    /// Added, or good.
    Good,
    /// Removed, or bad.
    Bad,
    /// Needs a look.
    Warn,
    /// A title.
    Strong,
}

impl TerminalLook {
    /// No escape sequence at all.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { colour: false };

    /// `text` in this tone; `text` must be safe to show already.
    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Dim => "2",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Warn => "33",
            Tone::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// The three standard streams, looked at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terminal {
    /// Somebody can answer.
    pub stdin: bool,
    /// Stdout is a terminal.
    pub stdout: bool,
    /// Stderr is a terminal.
    pub stderr: bool,
    /// `NO_COLOR` is set, or the terminal is `dumb`.
    pub plain: bool,
}

impl Terminal {
    /// Looks at the standard streams and at `NO_COLOR` and `TERM`.
    pub(super) fn detect(env: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            stdin: std::io::stdin().is_terminal(),
            stdout: std::io::stdout().is_terminal(),
            stderr: std::io::stderr().is_terminal(),
            plain: env("NO_COLOR").is_some_and(|value| !value.is_empty())
                || env("TERM").is_some_and(|term| term == "dumb"),
        }
    }

    /// How stdout looks.
    pub(super) fn out(self) -> TerminalLook {
        TerminalLook { colour: self.stdout && !self.plain }
    }

    /// How stderr looks. Plain too when stdout is piped: then nobody watches, or a program reads both.
    pub(super) fn err(self) -> TerminalLook {
        TerminalLook { colour: self.stdout && self.stderr && !self.plain }
    }

    /// Whether a line may be rewritten in place on stderr.
    pub(super) fn progress(self) -> bool {
        self.stdout && self.stderr && !self.plain
    }
}

/// Cells of a line of a terminal that does not say how many.
const USUAL_WIDTH: usize = 80;

/// Cells of a line of the terminal behind stderr, as wide as it is right now.
pub(super) fn width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0).unwrap_or(USUAL_WIDTH)
}

/// The start of `line`, of which `cells` cells of a terminal hold all. What may take two cells counts as two.
pub(super) fn fitting(line: &str, cells: usize) -> &str {
    let mut taken = 0;
    let end = line.char_indices().find(|(_, ch)| {
        // This one makes the character before it wide.
        taken += if *ch == '\u{fe0f}' { 1 } else { ch.width_cjk().unwrap_or(0) };
        taken > cells
    });
    end.map_or(line, |(at, _)| line.get(..at).unwrap_or_default())
}

/// Foreign text of several lines, safe to show: what a terminal would obey, or nobody would see, is written out.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    show(text, Kind::Lines)
}

/// The same for a text that the server made safe already, such as a title, a rule or an error: its marks stay.
pub(super) fn marked(text: &str) -> Cow<'_, str> {
    show_marked(text)
}

/// A command, a path or a name on one line, whole.
pub(super) fn visible_code(text: &str) -> Cow<'_, str> {
    show(text, Kind::Code)
}

/// Foreign text on one line; past `limit` characters of it the rest is named as missing.
pub(super) fn visible_line(text: &str, limit: usize) -> String {
    let text = text.trim();
    let most = text.char_indices().nth(limit).map_or(text.len(), |(at, _)| at);
    match text.get(..most) {
        Some(start) if start.len() < text.len() => format!("{}…", show(start, Kind::Sentence)),
        Some(_) | None => show(text, Kind::Sentence).into_owned(),
    }
}

/// The same for a text that the server made safe already.
pub(super) fn marked_line(text: &str, limit: usize) -> String {
    let text = text.trim();
    let most = text.char_indices().nth(limit).map_or(text.len(), |(at, _)| at);
    let start = text.get(..most).unwrap_or(text);
    let line = marked(start).replace('\n', "⏎").replace('\t', "⇥");
    if start.len() < text.len() { format!("{line}…") } else { line }
}

/// A unified diff with its lines coloured. `diff` may be foreign; it is made safe here, and ends in a newline.
pub(super) fn diff(look: TerminalLook, diff: &str) -> String {
    coloured(look, &visible(diff))
}

/// The same for a diff that the server made safe already.
pub(super) fn marked_diff(look: TerminalLook, diff: &str) -> String {
    coloured(look, &marked(diff))
}

fn coloured(look: TerminalLook, diff: &str) -> String {
    let mut text = String::with_capacity(diff.len() + 16);
    for line in diff.lines() {
        let tone = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Some(Tone::Strong),
            [b'@', b'@', ..] => Some(Tone::Dim),
            [b'+', ..] => Some(Tone::Good),
            [b'-', ..] => Some(Tone::Bad),
            _ => None,
        };
        match tone {
            Some(tone) => text.push_str(&look.paint(tone, line)),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn obeyed(ch: char) -> bool {
        (ch.is_control() && ch != '\n' && ch != '\t')
            || matches!(ch, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_passes(text in any::<Vec<char>>(), limit in 0_usize..40) {
            let text: String = text.into_iter().collect();
            let laced = format!("\x1b]0;{text}\x07\x1b[2J\u{9b}1m{text}\r\u{202e}\x7f");
            prop_assert!(!visible(&laced).chars().any(obeyed));
            prop_assert!(!marked(&laced).chars().any(obeyed));
            prop_assert!(!diff(TerminalLook::PLAIN, &laced).chars().any(obeyed));
            for line in
                [visible_line(&laced, limit), marked_line(&laced, limit), visible_code(&laced).into_owned()]
            {
                prop_assert!(!line.chars().any(|ch| obeyed(ch) || ch == '\n' || ch == '\t'));
            }
        }

        #[test]
        fn harmless_text_passes_whole(text in "[ -~\n\täöü€→𝄞]{0,80}") {
            prop_assert_eq!(visible(&text), text.as_str());
        }
    }

    #[test]
    fn one_line_shows_where_lines_broke_and_where_it_was_cut() {
        assert_eq!(visible_line(" rm a\nrm\tb ", 40), "rm a⏎rm⇥b");
        assert_eq!(visible_line("abcdef", 3), "abc…");
        assert_eq!(visible_line("abc", 3), "abc");
    }

    #[test]
    fn a_line_is_cut_to_cells_and_not_to_characters() {
        for (line, cells, wanted) in [
            ("abcdef", 3, "abc"),
            ("abc", 3, "abc"),
            ("日本語", 5, "日本"),
            ("日本語", 6, "日本語"),
            ("a\u{301}bc", 2, "a\u{301}b"),
            ("❤\u{fe0f}ab", 2, "❤\u{fe0f}"),
            ("abc", 0, ""),
        ] {
            assert_eq!(fitting(line, cells), wanted, "{line:?} in {cells}");
        }
    }

    #[test]
    fn a_diff_is_coloured_line_by_line_and_plain_without_colours() {
        let given = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+n\x1b[31mew\n same";
        assert_eq!(
            diff(TerminalLook::PLAIN, given),
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+n⟨U+001B⟩[31mew\n same\n"
        );
        assert_eq!(
            diff(TerminalLook { colour: true }, given),
            "\x1b[1m--- a/x\x1b[0m\n\x1b[1m+++ b/x\x1b[0m\n\x1b[2m@@ -1 +1 @@\x1b[0m\n\x1b[31m-old\x1b[0m\n\
             \x1b[32m+n⟨U+001B⟩[31mew\x1b[0m\n same\n"
        );
    }

    #[test]
    fn a_pipe_or_no_color_means_plain() {
        let all = Terminal { stdin: true, stdout: true, stderr: true, plain: false };
        assert!(all.out().colour && all.err().colour && all.progress());
        for plain in [Terminal { plain: true, ..all }, Terminal { stdout: false, ..all }] {
            assert!(!plain.out().colour && !plain.err().colour && !plain.progress(), "{plain:?}");
        }
    }
}
