//! A prompt in a comment of a source file: `bb: make this faster`.
//!
//! Owns what such a line looks like in any language. Never acts on one: an editor offers to send it, and the user does.

use std::ops::RangeInclusive;

/// What begins a prompt, in small or capital letters.
const MARK: &str = "bb:";

/// What may stand before the mark, longest first: what begins a comment in some language. Where nothing stands there the file is plain
/// text.
const OPENERS: &[&str] = &[
    "<%--", "<!--", "{{--", "(*", "{-", "/**", "/*", "///", "//!", "//", ";;;;", ";;;", ";;", ";", "###",
    "##", "#|", "#", "--[[", "--", "%%", "%", "\"\"\"", "'''", "\"", "'", "!", "**", "*", "|", "@REM",
    "@rem", "REM", "Rem", "rem", "dnl", "NB.", "⍝", "\\", "..", "=begin", ">",
];

/// What may stand behind it.
const CLOSERS: &[&str] = &["--%>", "-->", "--}}", "*/", "*)", "-}", "|#", "]]", "\"\"\"", "'''", "#}"];

/// Lines of one prompt; what is longer belongs in a chat document.
const LINES: usize = 40;

/// A prompt in a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentPrompt {
    /// Its lines, from 0.
    pub lines: RangeInclusive<usize>,
    /// What is asked.
    pub text: String,
}

/// The prompts of a file, in order, at most `most`.
pub fn prompts_of<'a>(lines: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<CommentPrompt> {
    let mut found: Vec<CommentPrompt> = Vec::new();
    // What stands before the mark of a prompt that may go on in the next line.
    let mut open: Option<String> = None;
    for (number, line) in lines.into_iter().enumerate() {
        let line = line.trim_end_matches(['\n', '\r']);
        if let Some((before, text)) = begins(line) {
            if found.len() == most {
                return found;
            }
            open = Some(before.to_owned()).filter(|before| !before.trim().is_empty() && !closes(line));
            found.push(CommentPrompt { lines: number..=number, text: text.to_owned() });
            continue;
        }
        let more = open.as_deref().and_then(|before| goes_on(line, before));
        match (more, found.last_mut()) {
            (Some(more), Some(last)) if last.lines.clone().count() < LINES => {
                last.lines = *last.lines.start()..=number;
                last.text.push('\n');
                last.text.push_str(more);
                if closes(line) {
                    open = None;
                }
            }
            _ => open = None,
        }
    }
    found.retain(|prompt| !prompt.text.trim().is_empty());
    found
}

/// What stands before the mark, and what is asked behind it.
fn begins(line: &str) -> Option<(&str, &str)> {
    let at = line
        .char_indices()
        .map(|(at, _)| at)
        .find(|at| line.get(*at..at + MARK.len()).is_some_and(|here| here.eq_ignore_ascii_case(MARK)))?;
    let (before, after) = (&line[..at], &line[at + MARK.len()..]);
    // `bb:80` and `std::bb::x` are no prompts.
    if !after.is_empty() && !after.starts_with(char::is_whitespace) {
        return None;
    }
    let text = without_closer(after);
    let opener = before.trim_end();
    if opener.trim().is_empty() {
        return Some((before, text));
    }
    let ends = OPENERS.iter().find(|open| opener.ends_with(**open))?;
    let code = &opener[..opener.len() - ends.len()];
    // Behind code a comment begins after a blank, and a word ends with none: `REM` in `THEOREM`.
    let parted = code.is_empty() || code.ends_with(char::is_whitespace);
    parted.then_some((before, text))
}

/// The rest of a prompt in its next line, which begins as the first one did.
fn goes_on<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    let opener = before.trim();
    let here = line.trim_start();
    // In a block comment the lines behind the first begin with a star or a blank.
    let more = match opener {
        "/*" | "/**" | "*" => here.strip_prefix('*').filter(|more| !more.starts_with('/')),
        _ if OPENERS.contains(&opener) => here.strip_prefix(opener),
        _ => None,
    }?;
    let more = without_closer(more);
    (!more.is_empty()).then_some(more)
}

fn closes(line: &str) -> bool {
    CLOSERS.iter().any(|close| line.trim_end().ends_with(close))
}

fn without_closer(text: &str) -> &str {
    let text = text.trim();
    CLOSERS.iter().find_map(|close| text.strip_suffix(close)).unwrap_or(text).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Vec<(RangeInclusive<usize>, String)> {
        prompts_of(text.lines(), 9).into_iter().map(|prompt| (prompt.lines, prompt.text)).collect()
    }

    #[test]
    fn a_prompt_is_recognised_in_the_comments_of_every_language() {
        for line in [
            "// bb: do it",
            "/// BB: do it",
            "//bb: do it",
            "    # bb: do it",
            ";; bb: do it",
            "-- bb: do it",
            "--[[ bb: do it ]]",
            "/* bb: do it */",
            "/** bb: do it */",
            " * bb: do it",
            "<!-- bb: do it -->",
            "<%-- bb: do it --%>",
            "{- bb: do it -}",
            "(* bb: do it *)",
            "{{-- bb: do it --}}",
            "% bb: do it",
            "\" bb: do it",
            "' bb: do it",
            "REM bb: do it",
            "dnl bb: do it",
            "! bb: do it",
            "#| bb: do it |#",
            "\"\"\"bb: do it\"\"\"",
            "bb: do it",
            "  Bb: do it",
            "val x = 1 // bb: do it",
            "(car x) ;; bb: do it",
            "⍝ bb: do it",
        ] {
            assert_eq!(asked(line), [(0..=0, "do it".to_owned())], "{line}");
        }
    }

    #[test]
    fn what_is_no_comment_or_asks_nothing_is_no_prompt() {
        for line in [
            "let url = \"http://bb:80\";",
            "use bb::x;",
            "a bb: c",
            "THEOREM bb: x",
            "// bb:",
            "/* bb: */",
            "// abb: c",
            "// see bb: c",
            "x = y[bb: c]",
        ] {
            assert_eq!(asked(line), [], "{line}");
        }
    }

    #[test]
    fn a_prompt_goes_on_in_the_comment_lines_below_it() {
        assert_eq!(
            asked(
                "fn a() {}\n  // bb: do\n  // it\n  //\n  // not this\n# bb: two\n# lines\nx\n/* bb: and\n * a block\n */\n * no\n"
            ),
            [
                (1..=2, "do\n it".to_owned()),
                (5..=6, "two\n lines".to_owned()),
                (8..=9, "and\n a block".to_owned())
            ]
            .map(|(lines, text)| (lines, text.replace("\n ", "\n")))
        );
        // And each has its own, as many as are wanted
        assert_eq!(asked("# bb: a\n# bb: b").len(), 2);
        assert_eq!(prompts_of("# bb: a\n# bb: b".lines(), 1).len(), 1);
    }
}
