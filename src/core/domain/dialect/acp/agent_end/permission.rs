//! Our request for permission, and the client's answer.
//!
//! Owns how all of a subject is shown to who decides: nothing of what would happen is left out, and what is not known is said.
//! Never decides what an answer comes to: the front does.

use serde_json::{Value, json};

use super::call::{fenced, location, text};
use super::diffs::{ChangedPlace, absolute, contents};
use crate::domain::approval::{
    Action, ChangeKind, FileChange, Permission, PermissionOption, PermissionOptionKind,
};

/// What a client answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcpAnswer {
    /// This option.
    Option(String),
    /// None: the turn was cancelled, or the question was closed.
    Nothing,
}

/// Params of the request. `call` is the call that waits, as the client knows it.
pub fn request(session_id: &str, root: &str, call: &str, permission: &Permission) -> Value {
    let mut content = Vec::new();
    let mut places = Vec::new();
    let subject = &permission.subject;
    if subject.unknown {
        content.push(text("The engine does not tell all of what this would do.".to_owned()));
    }
    content.extend(subject.reason.iter().map(|reason| text(reason.clone())));
    if !subject.acceptance_criteria.is_empty() {
        let lines: Vec<String> = subject.acceptance_criteria.iter().map(|line| format!("- {line}")).collect();
        content.push(text(format!("How it can be checked:\n{}", lines.join("\n"))));
    }
    let kind = match &subject.action {
        Action::Edit { files } => {
            for file in files {
                edit(root, file, &mut content, &mut places);
            }
            "edit"
        }
        Action::Command { command, cwd, env } => {
            content.push(text(fenced("sh", command)));
            content.push(text(format!("In the folder `{cwd}`.")));
            if let Some(env) = env.as_ref().filter(|env| !env.is_empty()) {
                let lines: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
                content.push(text(format!("With these variables:\n{}", fenced("", &lines.join("\n")))));
            }
            "execute"
        }
        Action::Tool { name, server, input } => {
            let of = server.as_ref().map(|server| format!(" of the server {server}")).unwrap_or_default();
            let name = &format!("{name}{of}");
            let input = input.as_ref().map(|input| serde_json::to_string_pretty(input).unwrap_or_default());
            content.push(text(match input {
                Some(input) => format!("{name}\n{}", fenced("json", &input)),
                None => name.clone(),
            }));
            "other"
        }
        Action::Question { text: question, .. } => {
            content.push(text(question.clone()));
            "other"
        }
    };
    if subject.truncated {
        content.push(text("This is not all of it.".to_owned()));
    }
    let options: Vec<Value> = permission.options.iter().map(option).collect();
    json!({
        "sessionId": session_id,
        "toolCall": {
            "toolCallId": call,
            "title": permission.title,
            "kind": kind,
            "status": "pending",
            "content": content,
            "locations": places.iter().map(location).collect::<Vec<_>>(),
        },
        "options": options,
    })
}

/// The answer to it; `None` where it is none of the protocol's.
pub fn answer(result: &Value) -> Option<AcpAnswer> {
    let outcome = result.get("outcome")?;
    match outcome.get("outcome")?.as_str()? {
        "cancelled" => Some(AcpAnswer::Nothing),
        "selected" => Some(AcpAnswer::Option(outcome.get("optionId")?.as_str()?.to_owned())),
        _ => None,
    }
}

fn option(option: &PermissionOption) -> Value {
    let kind = match option.kind {
        PermissionOptionKind::AllowOnce => "allow_once",
        PermissionOptionKind::AllowRule => "allow_always",
        PermissionOptionKind::Deny => "reject_once",
    };
    json!({ "optionId": option.option_id, "name": option.label, "kind": kind })
}

fn edit(root: &str, file: &FileChange, content: &mut Vec<Value>, places: &mut Vec<ChangedPlace>) {
    let path = absolute(root, &file.file_path);
    let words = match (file.change, &file.old_path) {
        (ChangeKind::Delete, _) => Some(format!("Deletes `{}`.", file.file_path)),
        (ChangeKind::Rename, Some(old)) => Some(format!("Renames `{old}` to `{}`.", file.file_path)),
        (_, Some(old)) => Some(format!("Copies `{old}` to `{}`.", file.file_path)),
        (ChangeKind::Create, None) if file.diff.is_none() => Some(format!("Creates `{}`.", file.file_path)),
        (_, None) if file.binary => Some(format!("Changes `{}`, which is no text.", file.file_path)),
        (_, None) if file.diff.is_none() => Some(format!("Changes `{}`; how is not told.", file.file_path)),
        (ChangeKind::Modify | ChangeKind::Create | ChangeKind::Rename, None) => None,
    };
    content.extend(words.map(text));
    content.extend(
        file.mode.iter().map(|mode| text(format!("Sets the mode of `{}` to {mode}.", file.file_path))),
    );
    let is_new = file.change == ChangeKind::Create;
    let told = file.diff.as_deref().filter(|diff| !diff.is_empty());
    if let Some(diff) = told {
        let (shown, at) = contents(root, diff, Some(&file.file_path), is_new);
        if shown.is_empty() {
            content.push(text(fenced("diff", diff)));
        }
        content.extend(shown);
        places.extend(at);
    }
    if places.iter().all(|place| place.path != path) {
        places.push(ChangedPlace { path, line: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::approval::Subject;

    fn permission(subject: Subject) -> Permission {
        Permission {
            request_id: "r".to_owned(),
            digest: "d".to_owned(),
            title: "Edit a".to_owned(),
            subject,
            options: vec![
                PermissionOption::plain("yes", "Allow once", PermissionOptionKind::AllowOnce),
                PermissionOption::plain("no", "Deny", PermissionOptionKind::Deny),
            ],
            tool_call_id: None,
            patch_id: None,
            parts: None,
            expires_at: None,
            policy: None,
        }
    }

    #[test]
    fn an_edit_is_asked_with_all_of_its_files_and_its_options() {
        let files = vec![
            FileChange::of_texts("a", Some("x\n"), "y\n"),
            FileChange::untold("gone", ChangeKind::Delete),
            FileChange::renamed("old", "new"),
        ];
        let asked = request("s", "/w", "c", &permission(Subject::editing(files).because(Some("why"))));
        assert_eq!(
            asked,
            json!({"sessionId": "s", "toolCall": {"toolCallId": "c", "title": "Edit a", "kind": "edit", "status": "pending",
                "content": [text("why".to_owned()),
                    {"type": "diff", "path": "/w/a", "oldText": "x\n", "newText": "y\n"},
                    text("Deletes `gone`.".to_owned()), text("Renames `old` to `new`.".to_owned())],
                "locations": [{"path": "/w/a", "line": 1}, {"path": "/w/gone"}, {"path": "/w/new"}]},
                "options": [{"optionId": "yes", "name": "Allow once", "kind": "allow_once"},
                    {"optionId": "no", "name": "Deny", "kind": "reject_once"}]})
        );
    }

    #[test]
    fn what_is_not_told_is_said() {
        let asked = request(
            "s",
            "/w",
            "c",
            &permission(Subject::unknown(Action::Tool { name: "t".to_owned(), server: None, input: None })),
        );
        assert_eq!(
            asked["toolCall"]["content"][0],
            text("The engine does not tell all of what this would do.".to_owned())
        );
    }

    #[test]
    fn an_answer_is_an_option_or_nothing_and_all_else_is_none() {
        let read = |outcome: Value| answer(&json!({ "outcome": outcome }));
        assert_eq!(
            read(json!({"outcome": "selected", "optionId": "x"})),
            Some(AcpAnswer::Option("x".to_owned()))
        );
        assert_eq!(read(json!({"outcome": "cancelled"})), Some(AcpAnswer::Nothing));
        for wrong in [json!({"outcome": "selected"}), json!("yes"), json!({"outcome": "maybe"}), json!(null)]
        {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
    }
}
