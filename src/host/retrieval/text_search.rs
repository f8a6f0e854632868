//! Search by text or regular expression, line by line.
//!
//! Never backtracks: the expression engine is linear in the text, so no pattern can hold the thread.

use std::sync::atomic::{AtomicBool, Ordering};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};

use super::lines::{one_line, shown_around};
use super::paths::label;
use super::walk::WalkedTree;
use super::{RetrievalError, TextHit};
use crate::host::ports::WorkspaceView;

/// What to search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TextQuery {
    /// A text, or an expression when `regex` is set; within one line.
    pub pattern: String,
    /// Whether the pattern is a regular expression.
    pub regex: bool,
    /// Whether case counts; when not stated it counts if the pattern has an upper-case letter.
    pub case_sensitive: Option<bool>,
    /// Only files whose path matches, written as in `.gitignore`; `!glob` for only files that do not.
    pub path_glob: Option<String>,
}

/// The first `limit` matching lines in order of root, path and line.
pub(crate) fn search_text(
    view: &WorkspaceView,
    query: &TextQuery,
    limit: usize,
    cancel: &AtomicBool,
) -> Result<Vec<TextHit>, RetrievalError> {
    let matcher = matcher(query)?;
    let globs = query.path_glob.as_deref().map(globs).transpose()?;
    let tree = WalkedTree::walk(view, cancel)?;
    let mut searcher = SearcherBuilder::new().line_number(true).build();
    let mut hits = Vec::new();
    for file in &tree.files {
        if cancel.load(Ordering::Relaxed) {
            return Err(RetrievalError::Cancelled);
        }
        if hits.len() >= limit {
            break;
        }
        if globs.as_ref().is_some_and(|globs| !chosen(globs, &file.rel)) {
            continue;
        }
        let Some(text) = tree.text(file, cancel) else { continue };
        for (line, text) in matching_lines(&mut searcher, &matcher, &text, limit - hits.len()) {
            hits.push(TextHit { root: label(view, file.root), path: file.rel.clone(), line, text });
        }
    }
    Ok(hits)
}

fn matcher(query: &TextQuery) -> Result<RegexMatcher, RetrievalError> {
    if query.pattern.is_empty() {
        return Err(RetrievalError::BadPattern("it is empty".into()));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.fixed_strings(!query.regex).line_terminator(Some(b'\n'));
    match query.case_sensitive {
        Some(sensitive) => builder.case_insensitive(!sensitive),
        None => builder.case_smart(true),
    };
    builder.build(&query.pattern).map_err(|error| RetrievalError::BadPattern(one_line(&error.to_string())))
}

fn globs(glob: &str) -> Result<Override, RetrievalError> {
    let bad = |error: ignore::Error| RetrievalError::BadPattern(one_line(&error.to_string()));
    let mut builder = OverrideBuilder::new("");
    builder.add(glob.trim_start_matches("./")).map_err(bad)?;
    builder.build().map_err(bad)
}

/// A glob that names a directory chooses what is beneath it.
fn chosen(globs: &Override, rel: &str) -> bool {
    let wanted = globs.num_whitelists() > 0;
    let mut beneath = std::iter::successors(Some(rel), |at| at.rsplit_once('/').map(|(parent, _)| parent));
    let named = |at: &str| {
        let seen = globs.matched(at, at.len() < rel.len());
        if wanted { seen.is_whitelist() } else { seen.is_ignore() }
    };
    beneath.any(named) == wanted
}

fn matching_lines(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    text: &str,
    most: usize,
) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    let sink = Lossy(|line, text| {
        let at = matcher.find(text.as_bytes()).ok().flatten().map_or(0, |found| found.start());
        found.push((line, shown_around(text, at)));
        Ok(found.len() < most)
    });
    // The sink never fails and the text is in memory, so there is no error to tell.
    let _ = searcher.search_slice(matcher, text.as_bytes(), sink);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::retrieval::walk::tests::{Fixture, GO_ON};

    fn places(view: &WorkspaceView, query: &TextQuery, limit: usize) -> Vec<String> {
        let hits = search_text(view, query, limit, &GO_ON).unwrap();
        hits.into_iter().map(|hit| format!("{}:{}:{}", hit.path, hit.line, hit.text)).collect()
    }

    fn text(pattern: &str) -> TextQuery {
        TextQuery { pattern: pattern.into(), ..TextQuery::default() }
    }

    #[test]
    fn case_is_smart_unless_stated_and_the_limit_holds() {
        let fixture = Fixture::new(&[("a.rs", "let Frame = 1;\nframe()\n"), ("b/c.py", "FRAME = (1)\n")]);
        let view = fixture.view();
        assert_eq!(
            places(&view, &text("frame"), 9),
            ["a.rs:1:let Frame = 1;", "a.rs:2:frame()", "b/c.py:1:FRAME = (1)"]
        );
        assert_eq!(places(&view, &text("frame"), 2).len(), 2);
        assert_eq!(places(&view, &text("Frame"), 9), ["a.rs:1:let Frame = 1;"]);
        assert_eq!(places(&view, &text("(1)"), 9), ["b/c.py:1:FRAME = (1)"]);
        let exact = TextQuery { case_sensitive: Some(true), ..text("frame") };
        assert_eq!(places(&view, &exact, 9), ["a.rs:2:frame()"]);
    }

    #[test]
    fn expressions_and_globs_choose_and_bad_ones_are_named() {
        let fixture = Fixture::new(&[("src/a.rs", "abc"), ("src/deep/b.py", "abbc"), ("c.rs", "ac")]);
        let view = fixture.view();
        let with = |pattern: &str, glob: Option<&str>| TextQuery {
            regex: true,
            path_glob: glob.map(str::to_owned),
            ..text(pattern)
        };
        assert_eq!(places(&view, &with("^ab*c$", Some("*.rs")), 9), ["c.rs:1:ac", "src/a.rs:1:abc"]);
        assert_eq!(
            places(&view, &with("ab*c", Some("src/**")), 9),
            ["src/a.rs:1:abc", "src/deep/b.py:1:abbc"]
        );
        assert_eq!(places(&view, &with("ab*c", Some("src/deep")), 9), ["src/deep/b.py:1:abbc"]);
        assert_eq!(places(&view, &with("ab*c", Some("!*.rs")), 9), ["src/deep/b.py:1:abbc"]);
        for query in [with("(", None), text(""), with("a", Some("{a"))] {
            let refused = search_text(&view, &query, 9, &GO_ON);
            assert!(matches!(refused, Err(RetrievalError::BadPattern(_))), "{query:?}: {refused:?}");
        }
    }

    #[test]
    fn an_unsaved_change_is_found_and_a_deleted_text_is_not() {
        let fixture = Fixture::new(&[("a.rs", "before\n")]);
        let view = fixture.view_with(&[("a.rs", "after\n")]);
        assert_eq!(places(&view, &text("after"), 9), ["a.rs:1:after"]);
        assert_eq!(places(&view, &text("before"), 9), Vec::<String>::new());
    }

    #[test]
    fn odd_encodings_are_found_and_binary_is_not_searched() {
        let fixture = Fixture::new(&[]);
        let wide: Vec<u8> = "needle ü\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        fixture.write("wide.txt", &[&[0xff, 0xfe], wide.as_slice()].concat());
        fixture.write("latin.txt", b"needle gr\xfcn, sch\xf6n und s\xfc\xdf\n");
        fixture.write("bin", b"needle\0\x01\x02");
        let found = places(&fixture.view(), &text("needle"), 9);
        assert_eq!(found, ["latin.txt:1:needle grün, schön und süß", "wide.txt:1:needle ü"]);
    }

    #[test]
    fn a_cancelled_search_says_so() {
        let fixture = Fixture::new(&[("a.rs", "x")]);
        let cancel = AtomicBool::new(true);
        assert_eq!(search_text(&fixture.view(), &text("x"), 9, &cancel), Err(RetrievalError::Cancelled));
    }
}
