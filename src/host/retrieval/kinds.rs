//! What a path says: which terms of a question are in it, and what kind of file it is.
//!
//! Never looks into a file.

use std::collections::BTreeMap;

use super::question::SearchQuestion;
use super::terms::{stem, words};
use super::vocabulary::is_stop;

/// Terms in a path: in the file's name they count more than in its directories.
pub(super) fn path_terms(rel: &str, question: &SearchQuestion) -> BTreeMap<usize, f64> {
    let name_at = rel.rfind('/').map_or(0, |at| at + 1);
    let name_end = rel[name_at..].find('.').map_or(rel.len(), |dot| name_at + dot);
    let mut found: BTreeMap<usize, f64> = BTreeMap::new();
    let (mut named, mut fitting) = (0.0, 0.0);
    words(rel, |at, word| {
        let in_name = at >= name_at && at < name_end;
        named += f64::from(u8::from(in_name));
        let Some(terms) = question.stems.get(&stem(word)) else { return };
        fitting += f64::from(u8::from(in_name));
        for (term, factor) in terms {
            let factor = f64::from(*factor) * if in_name { 1.0 } else { -0.35 };
            let known = found.entry(*term).or_default();
            *known = if *known > 0.0 {
                known.max(factor)
            } else if factor > 0.0 {
                factor
            } else {
                known.min(factor)
            };
        }
    });
    // A name that the question covers whole fits better than one of which it covers a word.
    let whole = if named > 0.0 { 0.5 + 1.4 * fitting / named } else { 0.0 };
    found
        .into_iter()
        .map(|(term, factor)| (term, if factor > 0.0 { factor * whole } else { -factor }))
        .collect()
}

/// Terms in a name, each with how much it counts.
pub(super) fn terms_of_name(name: &str, question: &SearchQuestion) -> Vec<(usize, f32)> {
    let mut found = Vec::new();
    words(name, |_, word| found.extend(question.stems.get(&stem(word)).into_iter().flatten().copied()));
    found
}

/// How much of a name the question asks for, 0 to 1: a name of one word can be met by chance.
pub(super) fn asked_of_name(name: &str, question: &SearchQuestion) -> f64 {
    let (mut parts, mut asked) = (0.0, 0.0);
    words(name, |_, word| {
        if is_stop(&word.to_ascii_lowercase()) {
            return;
        }
        parts += 1.0;
        let terms = question.stems.get(&stem(word)).into_iter().flatten();
        asked += f64::from(terms.map(|(_, weight)| *weight).fold(0.0, f32::max));
    });
    asked / f64::max(parts, 1.6)
}

/// Whether the question names this path, whole or by its last components.
pub(super) fn names_path(rel: &str, question: &SearchQuestion) -> bool {
    let rel = rel.to_ascii_lowercase();
    question
        .paths
        .iter()
        .any(|path| rel == *path || rel.ends_with(path) && rel[..rel.len() - path.len()].ends_with('/'))
}

/// True for a file of tests, by its path.
pub(super) fn is_test_path(rel: &str) -> bool {
    let lower = rel.to_ascii_lowercase();
    let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let in_tests = directories.split('/').any(|part| {
        matches!(part, "test" | "tests" | "__tests__" | "spec" | "testdata" | "fixtures" | "e2e")
            || part.ends_with("_tests")
    });
    let stem = name.split('.').next().unwrap_or(name);
    in_tests
        || ["test", "tests", "testutil", "testing", "mock", "mocks"].contains(&stem)
        || stem.starts_with("test_")
        || ["_test", "_tests"].iter().any(|end| stem.ends_with(end))
        || name.contains(".test.")
        || name.contains(".spec.")
}

/// What a document counts against code where the question is about documents: more than it has against it that it has no definitions.
const ASKED_FOR: f64 = 2.2;

/// How much a file of this kind counts against code.
pub(super) fn kind_of_file(rel: &str, question: &SearchQuestion) -> f64 {
    let lower = rel.to_ascii_lowercase();
    let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let mut factor = 1.0;
    if is_test_path(rel) && !question.about_tests {
        factor *= 0.4;
    }
    for part in directories.split('/') {
        factor *= match part {
            "vendor" | "third_party" | "node_modules" | "dist" | "external" => 0.3,
            "examples" | "example" | "benches" | "bench" | "benchmarks" | "generated" => 0.6,
            _ => 1.0,
        };
    }
    if name.ends_with(".lock") || matches!(name, "package-lock.json" | "pnpm-lock.yaml" | "go.sum") {
        return factor * 0.08;
    }
    if name.contains(".min.") || matches!(extension, "map" | "svg" | "csv" | "tsv" | "snap" | "ipynb" | "po")
    {
        return factor * 0.15;
    }
    if ["license", "copying", "notice"].iter().any(|start| name.starts_with(start)) && !name.contains(".rs") {
        return factor * if question.about_docs { 1.0 } else { 0.15 };
    }
    let docs = if question.about_docs { ASKED_FOR } else { 0.45 };
    if is_change_log(directories, name) {
        return factor * if question.about_docs { ASKED_FOR } else { 0.25 };
    }
    factor
        * match extension {
            "md" | "rst" | "adoc" | "txt" | "html" | "1" | "5" | "7" => docs,
            "json" | "yaml" | "yml" | "toml" | "xml" | "ini" | "cfg" | "orig" | "bak" => 0.65,
            _ => 1.0,
        }
}

/// True for what tells how a project changed, which names everything and shows nothing.
fn is_change_log(directories: &str, name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    ["changelog", "changes", "history", "news", "releases", "release_notes", "release-notes"].contains(&stem)
        || directories.split('/').any(|part| matches!(part, "changelogs" | "changelog" | "newsfragments"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_that_the_question_covers_counts_most() {
        let question = SearchQuestion::read("where are redirects limited?");
        let factor = |path: &str| path_terms(path, &question).values().copied().fold(0.0, f64::max);
        assert!(factor("src/redirect.rs") > factor("src/redirect_test_server.rs"));
        assert!(factor("src/redirect_test_server.rs") > factor("redirect/server.rs"));
        assert_eq!(factor("src/server.rs"), 0.0);
    }

    #[test]
    fn kinds_are_told_by_path() {
        let plain = SearchQuestion::read("frame guard");
        for path in [
            "tests/a.rs",
            "a/__tests__/b.ts",
            "a_test.go",
            "test_a.py",
            "a.spec.ts",
            "src/tests.rs",
            "a/of_tests/b.rs",
        ] {
            assert!(is_test_path(path), "{path}");
        }
        assert!(!is_test_path("src/attest.rs") && !is_test_path("contest/latest.py"));
        let order = ["src/a.rs", "docs/a.md", "tests/a.rs", "vendor/a.rs", "a.min.js", "Cargo.lock"];
        let factors: Vec<f64> = order.iter().map(|path| kind_of_file(path, &plain)).collect();
        assert!(factors.is_sorted_by(|a, b| a > b), "{factors:?}");
        assert!(kind_of_file("README.md", &SearchQuestion::read("what does the readme say?")) > 1.0);
    }

    #[test]
    fn a_named_path_is_known_by_whole_components() {
        let question = SearchQuestion::read("explain app/inbox.rs");
        assert!(names_path("src/app/inbox.rs", &question) && names_path("app/inbox.rs", &question));
        assert!(!names_path("src/myapp/inbox.rs", &question));
    }
}
