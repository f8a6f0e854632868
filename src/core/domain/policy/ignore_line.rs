//! One line of a `.gitignore` as the matcher takes it.
//!
//! Owns git's reading of a line: comments, trailing blanks, escapes, anchors, classes. What git never matches is left out, so
//! that the matcher, which is more lenient, cannot match it either. Never looks at paths.

use std::iter::Peekable;
use std::str::Chars;

/// A pattern of an ignore file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnorePattern {
    /// The pattern in the syntax of the `ignore` crate: anchored with `/`, or free with `**/`.
    pub line: String,
    /// Whether it is more than a name, a path or `*.extension`: such patterns become automata, whose size grows with them.
    pub is_wild: bool,
}

/// A character that no name has; stands first in a class whose own members would be read as a negation there.
const NEVER: char = '\u{10ffff}';

/// Reads one line, without its line end. `None`: it says nothing, or nothing that git would ever match.
pub fn translate(line: &str) -> Option<IgnorePattern> {
    if line.starts_with('#') {
        return None;
    }
    let line = without_trailing_blanks(line);
    let (negated, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
    let (only_directories, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
    let anchored = line.contains('/');
    let line = line.strip_prefix('/').unwrap_or(line);
    // No path ends with a slash.
    if line.is_empty() || line.ends_with('/') {
        return None;
    }
    let glob = glob(line, anchored)?;
    let extension = glob.text.strip_prefix("*.").filter(|_| !anchored && glob.wildcards == 1);
    let is_wild = glob.wildcards > 0 && extension.is_none_or(|rest| rest.contains('.'));
    let negation = if negated { "!" } else { "" };
    let start = if anchored { "/" } else { "**/" };
    let end = if only_directories { "/" } else { "" };
    Some(IgnorePattern { line: format!("{negation}{start}{}{end}", glob.text), is_wild })
}

/// Blanks at the end count only behind a backslash. Tabs count.
fn without_trailing_blanks(line: &str) -> &str {
    let mut end = line.len();
    let mut blanks_from = None;
    let mut chars = line.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            ' ' => end = *blanks_from.get_or_insert(at),
            '\\' => {
                if chars.next().is_none() {
                    return line;
                }
                (blanks_from, end) = (None, line.len());
            }
            _ => (blanks_from, end) = (None, line.len()),
        }
    }
    &line[..end]
}

struct Glob {
    text: String,
    wildcards: usize,
}

fn glob(line: &str, anchored: bool) -> Option<Glob> {
    let mut out = Glob { text: String::with_capacity(line.len() + 4), wildcards: 0 };
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' => {
                let mut stars = 1;
                while chars.next_if_eq(&'*').is_some() {
                    stars += 1;
                }
                let at_start = out.text.is_empty() || out.text.ends_with('/');
                let at_end = chars.peek().is_none_or(|next| *next == '/');
                if stars > 1 && anchored && at_start && at_end {
                    // `**/**/` is `**/`.
                    if out.text == "**/" || out.text.ends_with("/**/") {
                        out.text.truncate(out.text.len() - 3);
                    }
                    out.text.push_str("**");
                } else {
                    out.text.push('*');
                }
                out.wildcards += 1;
            }
            '?' => {
                out.text.push('?');
                out.wildcards += 1;
            }
            '[' => {
                class(&mut chars, &mut out.text)?;
                out.wildcards += 1;
            }
            '\\' => literal(chars.next()?, chars.peek().is_none(), &mut out),
            c => literal(c, chars.peek().is_none(), &mut out),
        }
    }
    Some(out)
}

fn literal(c: char, is_last: bool, out: &mut Glob) {
    match c {
        // Braces are ordinary characters to git.
        '*' | '?' | '[' | ']' | '{' | '}' | '\\' => {
            out.text.push('\\');
            out.text.push(c);
        }
        // The matcher drops blanks at the end of a line.
        c if is_last && c.is_whitespace() => {
            out.text.extend(['[', c, ']']);
            out.wildcards += 1;
        }
        c => out.text.push(c),
    }
}

/// A class behind its `[`. `None`: it is not closed or matches nothing, so that the whole pattern matches nothing.
fn class(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> Option<()> {
    let negated = chars.next_if(|c| matches!(c, '!' | '^')).is_some();
    let mut members: Vec<(char, char)> = Vec::new();
    let mut first = true;
    loop {
        let c = match chars.next()? {
            ']' if !first => break,
            '[' if chars.peek() == Some(&':') => match posix(chars) {
                Posix::Class(ranges) => {
                    members.extend(ranges);
                    first = false;
                    continue;
                }
                Posix::Unknown => return None,
                Posix::None => '[',
            },
            '\\' => chars.next()?,
            c => c,
        };
        first = false;
        let mut ahead = chars.clone();
        if ahead.next() == Some('-') && ahead.peek().is_some_and(|next| *next != ']') {
            chars.next();
            let end = match chars.next()? {
                '\\' => chars.next()?,
                end => end,
            };
            members.push((c, end));
        } else {
            members.push((c, c));
        }
    }
    write_class(negated, members, out)
}

/// No class matches a `/`.
fn write_class(negated: bool, members: Vec<(char, char)>, out: &mut String) -> Option<()> {
    let mut ranges: Vec<(char, char)> = Vec::new();
    for (from, to) in members {
        let mut push = |from: char, to: char| {
            if from <= to {
                ranges.push((from, to));
            }
        };
        if negated || !(from..=to).contains(&'/') {
            push(from, to);
        } else {
            push(from, '.');
            push('0', to);
        }
    }
    if negated {
        ranges.push(('/', '/'));
    }
    if ranges.is_empty() {
        return None;
    }
    // Ends that mean something else in a class are written alone: `]` first, `-` last.
    let special = |c: char| matches!(c, ']' | '-' | '!' | '^');
    let (mut bracket, mut minus) = (false, false);
    let mut text = String::new();
    for (from, to) in ranges {
        let (mut from, mut to) = (from, to);
        while from <= to && special(from) {
            bracket |= from == ']';
            minus |= from == '-';
            if matches!(from, '!' | '^') {
                text.push(from);
            }
            from = char::from_u32(from as u32 + 1)?;
        }
        while from < to && special(to) {
            bracket |= to == ']';
            minus |= to == '-';
            if matches!(to, '!' | '^') {
                text.push(to);
            }
            to = char::from_u32(to as u32 - 1)?;
        }
        if from == to {
            text.push(from);
        } else if from < to {
            text.extend([from, '-', to]);
        }
    }
    out.push('[');
    out.push_str(if negated { "!" } else { "" });
    if bracket {
        out.push(']');
    } else if text.is_empty() || text.starts_with(['!', '^']) {
        out.push(NEVER);
    }
    out.push_str(&text);
    out.push_str(if minus { "-]" } else { "]" });
    Some(())
}

enum Posix {
    Class(Vec<(char, char)>),
    /// A name that there is not: git matches nothing then.
    Unknown,
    /// The bracket is an ordinary member.
    None,
}

/// `[:alpha:]` behind its first bracket; takes it when it is one.
fn posix(chars: &mut Peekable<Chars<'_>>) -> Posix {
    let mut ahead = chars.clone();
    ahead.next();
    let mut name = String::new();
    let closed = loop {
        match ahead.next() {
            Some(']') => break name.pop() == Some(':'),
            Some(c) => name.push(c),
            None => break false,
        }
    };
    if !closed {
        return Posix::None;
    }
    *chars = ahead;
    let ranges: &[(char, char)] = match name.as_str() {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "blank" => &[(' ', ' '), ('\t', '\t')],
        "cntrl" => &[('\u{1}', '\u{1f}'), ('\u{7f}', '\u{7f}')],
        "digit" => &[('0', '9')],
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[(' ', ' '), ('\t', '\r')],
        "upper" => &[('A', 'Z')],
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return Posix::Unknown,
    };
    Posix::Class(ranges.to_vec())
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn a_line_is_read_as_git_reads_it() {
        for (line, then) in [
            ("", None),
            ("# comment", None),
            ("\\#name", Some(("**/#name", false))),
            ("name", Some(("**/name", false))),
            ("name   ", Some(("**/name", false))),
            ("name\\ ", Some(("**/name[ ]", true))),
            ("name\\   ", Some(("**/name[ ]", true))),
            ("name\t", Some(("**/name[\t]", true))),
            ("a b", Some(("**/a b", false))),
            ("!name/", Some(("!**/name/", false))),
            ("/a", Some(("/a", false))),
            ("a/b/", Some(("/a/b/", false))),
            ("*.log", Some(("**/*.log", false))),
            ("*.tar.gz", Some(("**/*.tar.gz", true))),
            ("a*b", Some(("**/a*b", true))),
            ("a**b", Some(("**/a*b", true))),
            ("**", Some(("**/*", true))),
            ("a/**/**/**/b", Some(("/a/**/b", true))),
            ("**/**/a", Some(("/**/a", true))),
            ("*.{a,b}", Some(("**/*.\\{a,b\\}", false))),
            ("[a", None),
            ("a\\", None),
            ("/", None),
            ("!", None),
            ("a//", None),
            ("[!a]", Some(("**/[!a/]", true))),
            ("[^]a-c-]", Some(("**/[!]a-c/-]", true))),
            ("[+-9]", Some(("**/[+-.0-9]", true))),
            ("[\\]]", Some(("**/[]]", true))),
            ("[c-a]", None),
            ("[[:digit:]x]", Some(("**/[0-9x]", true))),
            ("[[:nothing:]]", None),
        ] {
            let read = translate(line).map(|pattern| (pattern.line, pattern.is_wild));
            assert_eq!(read, then.map(|(line, is_wild)| (line.to_owned(), is_wild)), "{line:?}");
        }
    }
}
