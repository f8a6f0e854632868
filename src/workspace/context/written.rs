//! How problems, a command's output, open files and a repository are written for a model.
//!
//! Owns their text and their labels. Pure.

use crate::domain::context::item::{ContextItem, ContextKind};
use crate::domain::context::shape::{ContextDiagnostic, EditorTerminal, GitContext, OpenEditor};

/// Problems that go along.
const PROBLEMS: usize = 100;

/// Bytes of what a command printed: its end, where the summary stands.
const OUTPUT: usize = 8 * 1024;

fn item(kind: ContextKind, label: String, text: String) -> Option<ContextItem> {
    (!text.is_empty()).then_some(ContextItem { kind, label, uri: None, text: Some(text), is_part: true })
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Errors first.
pub(super) fn severity(word: &str) -> u8 {
    match word {
        "error" => 0,
        "warning" => 1,
        "information" | "info" => 2,
        _ => 3,
    }
}

pub(super) fn diagnostics(problems: &[ContextDiagnostic]) -> Option<ContextItem> {
    let lines: Vec<String> = problems
        .iter()
        .take(PROBLEMS)
        .map(|problem| {
            let source = problem.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
            let message = problem.message.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("{}:{}: {}: {message}{source}", problem.file_path, problem.line, problem.severity)
        })
        .collect();
    item(ContextKind::Diagnostics, counted(problems.len(), "problem"), lines.join("\n"))
}

pub(super) fn terminal(output: &EditorTerminal) -> Option<ContextItem> {
    let mut text = format!("$ {}\n", output.command);
    for printed in [&output.stdout, &output.stderr] {
        let from = printed.len().saturating_sub(OUTPUT);
        let from = (from..=printed.len()).find(|at| printed.is_char_boundary(*at)).unwrap_or(printed.len());
        if from > 0 {
            text.push_str("⋯\n");
        }
        text.push_str(&printed[from..]);
        if !printed.is_empty() && !printed.ends_with('\n') {
            text.push('\n');
        }
    }
    if let Some(code) = output.exit_code {
        text.push_str(&format!("(exit code {code})"));
    }
    let label: String = output.command.chars().take(60).collect();
    item(ContextKind::Terminal, label, text)
}

pub(super) fn open_editors(open: &[OpenEditor]) -> Option<ContextItem> {
    let lines: Vec<String> = open
        .iter()
        .map(
            |open| {
                if open.is_dirty { format!("{} (unsaved)", open.file_path) } else { open.file_path.clone() }
            },
        )
        .collect();
    item(ContextKind::OpenEditors, counted(open.len(), "file"), lines.join("\n"))
}

pub(super) fn git(git: &GitContext) -> Option<ContextItem> {
    if git.branch.is_empty() {
        return None;
    }
    let mut text = format!("Branch: {}\n", git.branch);
    for (title, files) in [("Staged", &git.staged_files), ("Modified", &git.modified_files)] {
        if !files.is_empty() {
            text.push_str(&format!("{title}: {}\n", files.join(", ")));
        }
    }
    for commit in &git.recent_commits {
        let sha: String = commit.sha.chars().take(10).collect();
        text.push_str(&format!("{sha} {} {} ({})\n", commit.timestamp, commit.message, commit.author));
    }
    item(ContextKind::Git, git.branch.clone(), text)
}

pub(super) fn diff(files: usize, text: String) -> Option<ContextItem> {
    item(ContextKind::Diff, counted(files, "file"), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r002_35_36_problems_and_a_command_are_written_a_line_each() {
        let problem = ContextDiagnostic {
            file_path: "a.ts".to_owned(),
            severity: "error".to_owned(),
            message: "no\n such name".to_owned(),
            line: 3,
            character: 1,
            source: Some("ts".to_owned()),
        };
        let written = diagnostics(&[problem]).unwrap();
        assert_eq!(
            (written.label.as_str(), written.text.as_deref()),
            ("1 problem", Some("a.ts:3: error: no such name (ts)"))
        );
        let ran = EditorTerminal {
            command: "npm test".to_owned(),
            exit_code: Some(1),
            stdout: "FAIL a".to_owned(),
            ..EditorTerminal::default()
        };
        assert_eq!(terminal(&ran).unwrap().text.as_deref(), Some("$ npm test\nFAIL a\n(exit code 1)"));
        let long = EditorTerminal { stdout: "é".repeat(9_000), ..ran };
        assert!(terminal(&long).unwrap().bytes() < OUTPUT + 100);
        assert_eq!(diagnostics(&[]), None);
    }
}
