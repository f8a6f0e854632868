//! What a desktop host asks (seed 002): a command, or a tool.
//!
//! Owns title, options and the rule that an answer would save. Never shortens what a rule would cover.

use serde_json::{Map, Value};

use crate::domain::approval::{
    ALLOW_IN_WORKSPACE, PermissionAsk, PermissionOption, PermissionOptionKind, PermissionRule, RuleScope,
};
use crate::domain::dialect::quoted::quoted;
use crate::domain::shown::{Kind, show};

/// The ask of a message of class `permission.request`.
pub(super) fn ask(kind: &str, payload: &Map<String, Value>) -> PermissionAsk {
    let text = |name: &str| payload.get(name).and_then(Value::as_str);
    let is_command = kind == "command.request_approval";
    let (title, pattern) = if let (None, Some(args)) =
        (text(if is_command { "command" } else { "tool_name" }), payload.get("arguments"))
    {
        // No rule: nobody knows which of these arguments decide what would be done.
        (elsewhere(text("tool").unwrap_or_default(), args), None)
    } else if is_command {
        run(text("command").unwrap_or_default(), text("working_directory"))
    } else {
        tool(text("tool_name").unwrap_or_default(), payload.get("args"))
    };
    let mut options = vec![option("allow_once", "Allow once", PermissionOptionKind::AllowOnce)];
    if pattern.is_some() {
        options.push(option("allow_rule", "Allow for this session", PermissionOptionKind::AllowRule));
        options.push(option(
            ALLOW_IN_WORKSPACE,
            "Always allow in this workspace",
            PermissionOptionKind::AllowRule,
        ));
    }
    options.push(option("deny", "Deny", PermissionOptionKind::Deny));
    PermissionAsk {
        engine_request_id: text("request_id").or(text("command_id")).unwrap_or_default().to_owned(),
        title: show(&title, Kind::Code).into_owned(),
        options,
        rule: pattern.map(|pattern| PermissionRule { pattern, scope: RuleScope::Session }),
        input: None,
        subject: Value::Object(payload.clone()),
    }
}

/// Title of an ask in the words of the public source: the command where that is all, else the tool with all its arguments.
fn elsewhere(tool: &str, args: &Value) -> String {
    match args.as_object().map(|args| (args.len(), args.get("command").and_then(Value::as_str))) {
        Some((1, Some(command))) => command.to_owned(),
        Some(_) | None => format!("{tool} {args}"),
    }
}

/// Title and rule pattern of a command, as the engine wrote them. Both hold the command whole: what is shown is what a rule would cover. The directory
/// is quoted where it has more than plain letters, so that no command and directory together read like two others.
fn run(command: &str, directory: Option<&str>) -> (String, Option<String>) {
    (command.to_owned(), Some(format!("run: {command} (in {})", quoted(directory.unwrap_or(".")))))
}

/// Title and rule pattern of a tool. A tool whose target we cannot name gets no rule, since nobody could say what the
/// rule would cover; it can still be allowed once.
fn tool(name: &str, args: Option<&Value>) -> (String, Option<String>) {
    let arg = |key: &str| args.and_then(|args| args.get(key)).and_then(Value::as_str);
    match name {
        "write_file" => {
            if let Some(path) = arg("file_path") {
                return (format!("Write {path}"), Some(format!("write: {path}")));
            }
        }
        "delete_file" => {
            if let Some(path) = arg("file_path") {
                return (format!("Delete {path}"), Some(format!("delete: {path}")));
            }
        }
        "execute_command" => {
            if let Some(command) = arg("command") {
                return run(command, arg("working_directory"));
            }
        }
        _ => {}
    }
    let args = args.map(Value::to_string).unwrap_or_default();
    (format!("{name} {args}"), None)
}

pub(super) fn option(id: &str, label: &str, kind: PermissionOptionKind) -> PermissionOption {
    PermissionOption { option_id: id.to_owned(), label: label.to_owned(), kind }
}
