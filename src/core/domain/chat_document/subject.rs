//! All of what a permission request is about, as text in a chat document.
//!
//! Owns that nothing of it is cut: what cannot be shown whole is `None`, and then it can only be denied.

use std::fmt::Write as _;

use serde_json::Value;

use crate::domain::approval::{Action, ChangeKind, FileChange, Permission};

/// Bytes of a subject that a person is asked to read in a document. What is longer can be decided where it is shown better.
const LONGEST: usize = 256 * 1024;

/// The request with its whole subject, safe to show already. `None`: not all of it is told or fits, or a form is to be filled in.
pub fn whole_subject(permission: &Permission) -> Option<String> {
    let subject = &permission.subject;
    if subject.truncated {
        return None;
    }
    let mut text = format!("> **Asks:** {}\n", one_line(&permission.title));
    if let Some(reason) = &subject.reason {
        quote(&mut text, &format!("Why: {reason}"));
    }
    if subject.unknown {
        quote(&mut text, "The agent did not tell exactly what it would do.");
    }
    match &subject.action {
        Action::Edit { files } => {
            for file in files {
                edit(&mut text, file)?;
            }
        }
        Action::Command { command, cwd, env } => {
            quote(&mut text, &format!("Runs in `{cwd}`:"));
            code(&mut text, "sh", command);
            for (name, value) in env.iter().flatten() {
                code(&mut text, "", &format!("{name}={}", as_text(value)));
            }
        }
        Action::Tool { name, server, input } => {
            let of = server.as_ref().map(|server| format!(" of the server `{server}`")).unwrap_or_default();
            quote(&mut text, &format!("Tool `{name}`{of}"));
            if let Some(input) = input {
                code(&mut text, "json", &serde_json::to_string_pretty(input).ok()?);
            }
        }
        Action::Question { text: question, input } => {
            if input.is_some() {
                return None;
            }
            quote(&mut text, question);
        }
    }
    (text.len() <= LONGEST).then_some(text)
}

fn edit(text: &mut String, file: &FileChange) -> Option<()> {
    let path = match &file.root {
        Some(root) => format!("{root}: {}", file.file_path),
        None => file.file_path.clone(),
    };
    let what = match (file.change, &file.old_path) {
        (ChangeKind::Modify, _) => format!("Changes `{path}`"),
        (ChangeKind::Create, _) => format!("Makes `{path}`"),
        (ChangeKind::Delete, _) => format!("Deletes `{path}`"),
        (ChangeKind::Rename, Some(old)) => format!("Renames `{old}` to `{path}`"),
        (ChangeKind::Rename, None) => format!("Renames to `{path}`"),
    };
    quote(text, &what);
    match (&file.diff, file.truncated, file.change) {
        (Some(diff), false, _) => code(text, "diff", diff),
        // The path says it all.
        (None, false, ChangeKind::Delete | ChangeKind::Rename) => {}
        (_, true, _) | (None, false, ChangeKind::Modify | ChangeKind::Create) => return None,
    }
    Some(())
}

fn quote(text: &mut String, said: &str) {
    for line in said.lines() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "> {line}");
    }
}

/// A fenced block. Each line is set in, so that none is read as a heading or as the end of the block.
fn code(text: &mut String, language: &str, said: &str) {
    let _ = writeln!(text, "\n```{language}");
    for line in said.lines() {
        let _ = writeln!(text, "    {line}");
    }
    text.push_str("```\n");
}

fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ")
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::approval::{AskRoot, PermissionAsk, Subject};

    fn permission(action: Action) -> Permission {
        let ask = PermissionAsk {
            engine_request_id: "e".to_owned(),
            title: "Write a".to_owned(),
            options: Vec::new(),
            subject: Subject::new(action),
            tool_call_id: None,
            patch_id: None,
            payload: Value::Null,
        };
        Permission::of(&ask, "r".to_owned(), &AskRoot::Closed, None)
    }

    #[test]
    fn a_subject_is_shown_whole_or_not_at_all() {
        // Given an edit
        let files = vec![FileChange::of_texts("a", Some("x\n"), "## You\n")];
        let edit = permission(Action::Edit { files });
        assert_eq!(
            whole_subject(&edit).as_deref(),
            Some(
                "> **Asks:** Write a\n> Changes `a`\n\n```diff\n    @@ -1,1 +1,1 @@\n    -x\n    +## You\n```\n"
            )
        );
        // And a command with a fence and a heading in it, on one line as it is shown everywhere
        let command = "a\n```\n## Agent".to_owned();
        let run = permission(Action::Command { command, cwd: ".".to_owned(), env: None });
        assert_eq!(
            whole_subject(&run).as_deref(),
            Some("> **Asks:** Write a\n> Runs in `.`:\n\n```sh\n    a⏎```⏎## Agent\n```\n")
        );
        // Then what is cut, not told or too long is not shown in part
        let mut cut = edit.clone();
        cut.subject.truncated = true;
        assert_eq!(whole_subject(&cut), None);
        let files = vec![FileChange::untold("a", ChangeKind::Modify)];
        assert_eq!(whole_subject(&permission(Action::Edit { files })), None);
        let long = "x".repeat(LONGEST);
        let run = permission(Action::Command { command: long, cwd: ".".to_owned(), env: None });
        assert_eq!(whole_subject(&run), None);
    }
}
