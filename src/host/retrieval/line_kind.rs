//! What a line is, and what its words count: definition, import, comment at the head, test.
//!
//! Never knows a question: a search and the index count alike.

/// Lines at the start of a file in which it may say what it is about.
const HEADER: u32 = 16;

/// What words of tests at the end of a file count against its code.
pub(super) const IN_TESTS: f32 = 0.3;

/// A pass over the lines of a text, from the first to the last.
#[derive(Debug)]
pub(super) struct LineKinds {
    /// Lines so far.
    pub lines: u32,
    /// First line of the tests at the end of a file, from 0.
    pub tests_from: Option<u32>,
    after_test_mark: bool,
    in_header: bool,
}

impl LineKinds {
    /// Before the first line.
    pub(super) fn new() -> Self {
        Self { lines: 0, tests_from: None, after_test_mark: false, in_header: true }
    }

    /// Goes to the next line and gives its number, from 0, and what its words count where tests count as code.
    pub(super) fn next(&mut self, line: &str) -> (u32, f32) {
        let row = self.lines;
        self.lines += 1;
        let trimmed = line.trim_start();
        // Tests of a Rust file stand in a module at its end.
        if self.after_test_mark && self.tests_from.is_none() && is_inline_module(trimmed) {
            self.tests_from = Some(row);
        }
        self.after_test_mark = is_test_mark(trimmed) || self.after_test_mark && trimmed.starts_with("#[");
        self.in_header &= row < HEADER && (trimmed.trim_end().is_empty() || is_comment(trimmed));
        let factor = if is_import(trimmed) || is_data(trimmed) {
            0.35
        } else if self.in_header {
            // What a file says of itself.
            1.3
        } else {
            1.0
        };
        (row, factor)
    }
}

/// Whether the start of a text says that a program wrote it.
pub(super) fn is_generated(text: &str) -> bool {
    let head = text[..text.floor_char_boundary(600)].to_ascii_lowercase();
    head.contains("@generated") || head.contains("do not edit") || head.contains("automatically generated")
}

fn is_import(trimmed: &str) -> bool {
    ["use ", "pub use ", "import ", "from ", "#include", "mod ", "pub mod ", "package ", "extern crate "]
        .iter()
        .any(|start| trimmed.starts_with(start))
}

/// `#[cfg(test)]`, `#[cfg(all(test, unix))]`.
fn is_test_mark(trimmed: &str) -> bool {
    trimmed.starts_with("#[cfg(test") || trimmed.starts_with("#[cfg(all(test")
}

fn is_inline_module(trimmed: &str) -> bool {
    (trimmed.starts_with("mod ") || trimmed.starts_with("pub") && trimmed.contains(" mod "))
        && trimmed.trim_end().ends_with('{')
}

/// Whether a line without its indentation is a comment.
pub(super) fn is_comment(trimmed: &str) -> bool {
    ["//", "/*", "*", "# ", "#!", "\"\"\""].iter().any(|start| trimmed.starts_with(start))
}

/// A line of a table of texts says little about what the code does.
fn is_data(trimmed: &str) -> bool {
    !trimmed.starts_with("\"\"\"")
        && ["\"", "&[\"", "[\"", "(\""].iter().any(|start| trimmed.starts_with(start))
}
