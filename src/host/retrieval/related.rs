//! Files that have to do with another one: its tests, what it tests, what it uses and what uses it.
//!
//! Judges by names and by the lines that bring other files in, as people read them; knows no build system. Never keeps anything:
//! the tree is walked each time.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use super::RetrievalError;
use super::kinds::is_test_path;
use super::lines::shown;
use super::paths::label;
use super::walk::WalkedTree;
use super::workers::spread;
use crate::host::ports::{FileFound, RelatedFiles, WorkspaceView};

/// Lines of one file that are given as the reason that it depends on another.
const REASONS: usize = 5;

/// Names that say nothing of a file but of its folder.
const OF_FOLDER: [&str; 5] = ["mod", "index", "__init__", "lib", "main"];

/// At most `most` of each kind.
pub(super) fn related(
    view: &WorkspaceView,
    file: &FileFound,
    most: usize,
    cancel: &AtomicBool,
) -> Result<RelatedFiles, RetrievalError> {
    let tree = WalkedTree::walk(view, cancel)?;
    let own = name_of(&file.rel);
    let is_test = is_test_path(&file.rel);
    let brought_in = words_brought_in(&file.text);
    let path = |at: usize| match label(view, tree.files[at].root) {
        Some(root) => format!("{root}/{}", tree.files[at].rel),
        None => tree.files[at].rel.clone(),
    };
    let others = || {
        (0..tree.files.len()).filter(|at| {
            let other = &tree.files[*at];
            other.rel != file.rel && language(&other.rel) == language(&file.rel)
        })
    };
    let mut found = RelatedFiles::default();
    for at in others() {
        let rel = &tree.files[at].rel;
        let name = name_of(rel);
        let same = bare(&name) == bare(&own);
        match (is_test, is_test_path(rel)) {
            (false, true) if same => found.tests.push(path(at)),
            (true, false) if same => found.sources.push(path(at)),
            _ => {}
        }
        if brought_in.contains(&name) && !is_test_path(rel) {
            found.imports.push(path(at));
        }
    }
    if own.len() > 2 {
        let candidates: Vec<usize> = others().collect();
        let using = spread(candidates.len(), cancel, |index| {
            let text = tree.text(&tree.files[candidates[index]], cancel)?;
            let lines = if text.contains(&own) { lines_that_bring_in(&text, &own) } else { Vec::new() };
            (!lines.is_empty()).then_some(lines)
        })?;
        found.dependents = using.into_iter().map(|(index, lines)| (path(candidates[index]), lines)).collect();
    }
    let near = |path: &String| std::cmp::Reverse(common_parts(path, &file.path));
    for paths in [&mut found.tests, &mut found.sources, &mut found.imports] {
        paths.sort_by_key(near);
        paths.truncate(most);
    }
    found.dependents.sort_by_key(|(path, _)| (is_test_path(path), near(path)));
    found.dependents.truncate(most);
    Ok(found)
}

/// What others call a file: its name without its endings, or that of its folder.
fn name_of(rel: &str) -> String {
    let (folder, name) = rel.rsplit_once('/').unwrap_or(("", rel));
    let stem = name.split('.').next().unwrap_or(name);
    let of_folder = OF_FOLDER.contains(&stem).then(|| folder.rsplit('/').next().unwrap_or_default());
    of_folder.filter(|folder| !folder.is_empty() && *folder != "src").unwrap_or(stem).to_owned()
}

/// A name without what makes it that of a test.
fn bare(name: &str) -> String {
    let lower = name.to_lowercase();
    let start = ["test_", "test-"].iter().find_map(|start| lower.strip_prefix(start)).unwrap_or(&lower);
    let end = ["_tests", "_test", "-test", "_spec", "-spec", "tests", "test"];
    end.iter()
        .find_map(|end| start.strip_suffix(end))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(start)
        .to_owned()
}

/// Files of one language bring each other in.
fn language(rel: &str) -> &str {
    let ending = rel.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte" => "script",
        "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" => "c",
        other => other,
    }
}

/// Whether a line brings another file in.
fn brings_in(line: &str) -> bool {
    let line = line.trim_start();
    let starts = [
        "use ",
        "pub use ",
        "pub(crate) use ",
        "mod ",
        "pub mod ",
        "pub(crate) mod ",
        "import ",
        "from ",
        "#include",
        "require",
        "export ",
        "using ",
        "package ",
    ];
    starts.iter().any(|start| line.starts_with(start))
        || line.contains("require(")
        || line.contains("import(")
        || line.contains(" from '")
        || line.contains(" from \"")
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).filter(|word| !word.is_empty())
}

fn words_brought_in(text: &str) -> BTreeSet<String> {
    text.lines().filter(|line| brings_in(line)).flat_map(words_of).map(str::to_owned).collect()
}

fn lines_that_bring_in(text: &str, name: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let fitting = lines.filter(|(_, line)| {
        line.contains(name) && brings_in(line) && words_of(line).any(|word| word == name)
    });
    fitting.take(REASONS).map(|(at, line)| format!("{}: {}", at + 1, shown(line.trim()))).collect()
}

fn common_parts(one: &str, other: &str) -> usize {
    one.split('/').zip(other.split('/')).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::ports::CodeSearch;
    use crate::host::retrieval::Retrieval;
    use crate::host::retrieval::walk::tests::{Fixture, GO_ON};

    #[test]
    fn r002_97_99_tests_sources_imports_and_dependents_are_found() {
        // Given a module with a test, a module that it uses, and one that uses it
        let fixture = Fixture::new(&[
            ("src/door.ts", "import { key } from './key';\nexport const open = () => key;\n"),
            ("src/key.ts", "export const key = 1;\n"),
            ("src/house.ts", "import { open } from './door';\n"),
            ("src/doors.ts", "import { key } from './key';\n"),
            ("test/door.test.ts", "import { open } from '../src/door';\n"),
            ("src/door.py", "import key\n"),
        ]);
        let view = fixture.view_with(&[]);
        let file = Retrieval.file(&view, "src/door.ts", &GO_ON).unwrap();
        // When what has to do with it is looked for
        let found = related(&view, &file, 5, &GO_ON).unwrap();
        // Then each stands where it belongs, and no file of another language
        assert_eq!(
            found,
            RelatedFiles {
                tests: vec!["test/door.test.ts".to_owned()],
                sources: Vec::new(),
                imports: vec!["src/key.ts".to_owned()],
                dependents: vec![
                    ("src/house.ts".to_owned(), vec!["1: import { open } from './door';".to_owned()]),
                    (
                        "test/door.test.ts".to_owned(),
                        vec!["1: import { open } from '../src/door';".to_owned()]
                    ),
                ],
            }
        );
        // And a test knows what it tests
        let test = Retrieval.file(&view, "test/door.test.ts", &GO_ON).unwrap();
        assert_eq!(related(&view, &test, 5, &GO_ON).unwrap().sources, ["src/door.ts"]);
    }

    #[test]
    fn what_was_written_a_moment_ago_is_found_without_an_index() {
        let fixture = Fixture::new(&[("src/door.rs", "fn open() {}\n")]);
        let view = fixture.view_with(&[]);
        let file = Retrieval.file(&view, "src/door.rs", &GO_ON).unwrap();
        assert_eq!(related(&view, &file, 5, &GO_ON).unwrap().dependents, []);
        let view = fixture.view_with(&[("src/new.rs", "use crate::door;\n")]);
        let found = related(&view, &file, 5, &GO_ON).unwrap().dependents;
        assert_eq!(found, [("src/new.rs".to_owned(), vec!["1: use crate::door;".to_owned()])]);
    }
}
