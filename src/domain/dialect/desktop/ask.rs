//! What a desktop host asks (seed 002): a command, or a tool.
//!
//! Owns title, options and the rule that an answer would save. Never shortens what a rule would cover.

use serde_json::{Map, Value};

use crate::domain::approval::{
    Action, ChangeKind, FileChange, OfferedRule, PermissionAsk, PermissionOption, PermissionOptionKind,
    RuleHolder, RuleScope, Subject,
};
use crate::domain::dialect::loose::Members;
use crate::domain::dialect::quoted::quoted;
use crate::domain::fingerprint::key;
use crate::domain::shown::{Kind, show};

/// The ask of a message of class `permission.request`.
pub(super) fn ask(kind: &str, payload: &Map<String, Value>) -> PermissionAsk {
    let text = |name: &str| payload.string(name);
    let is_command = kind == "command.request_approval";
    let args = payload.get("args").or_else(|| payload.get("arguments"));
    let arg = |name: &str| args.and_then(|args| args.get(name)).and_then(Value::as_str);
    let (title, pattern, subject) = if let (None, Some(args)) =
        (text(if is_command { "command" } else { "tool_name" }), payload.get("arguments"))
    {
        // No rule: nobody knows which of these arguments decide what would be done.
        let name = text("tool").unwrap_or_default();
        (elsewhere(name, args), None, elsewhere_subject(name, args))
    } else if is_command {
        let command = text("command").unwrap_or_default();
        let (title, pattern) = run(command, text("working_directory"));
        (title, pattern, command_subject(command, text("working_directory"), payload.get("environment")))
    } else {
        let name = text("tool_name").unwrap_or_default();
        let (title, pattern) = tool(name, args);
        (title, pattern, tool_subject(name, args))
    };
    let mut options =
        vec![PermissionOption::plain("allow_once", "Allow once", PermissionOptionKind::AllowOnce)];
    if let Some(pattern) = pattern {
        let rule = |scope| OfferedRule {
            pattern: pattern.clone(),
            scope: Some(scope),
            holder: RuleHolder::Server,
            kept_in: None,
        };
        options.push(PermissionOption::ruling(
            "allow_rule",
            "Allow for this session",
            rule(RuleScope::Session),
        ));
        options.push(PermissionOption::ruling(
            "allow_rule_workspace",
            "Always allow in this workspace",
            rule(RuleScope::Workspace),
        ));
    }
    options.push(PermissionOption::plain("deny", "Deny", PermissionOptionKind::Deny));
    let reason = text("reason").or_else(|| arg("reason")).or_else(|| text("message"));
    let reason = with_repairs(reason, args);
    PermissionAsk {
        engine_request_id: text("request_id").or(text("command_id")).unwrap_or_default().to_owned(),
        title: show(&title, Kind::Code).into_owned(),
        options,
        subject: subject.because(reason.as_deref()),
        tool_call_id: text("call_id").or(text("tool_call_id")).filter(|id| !id.is_empty()).map(key),
        patch_id: arg("patch_id").or(text("patch_id")).filter(|id| !id.is_empty()).map(str::to_owned),
        payload: Value::Object(payload.clone()),
    }
}

/// The reason, and below it what was repaired in the diff: who decides sees that it is not what the model wrote (ruling 20).
fn with_repairs(reason: Option<&str>, args: Option<&Value>) -> Option<String> {
    let warnings = args.and_then(|args| args.get("warnings")).and_then(Value::as_array);
    let repairs: Vec<&str> = warnings.into_iter().flatten().filter_map(Value::as_str).collect();
    if repairs.is_empty() {
        return reason.map(str::to_owned);
    }
    let said = reason
        .filter(|reason| !reason.trim().is_empty())
        .map(|reason| format!("{reason}\n"))
        .unwrap_or_default();
    Some(format!("{said}The diff was repaired. {}", repairs.join(" ")))
}

fn command_subject(command: &str, directory: Option<&str>, environment: Option<&Value>) -> Subject {
    let env = environment.and_then(Value::as_object).filter(|variables| !variables.is_empty());
    Subject::new(Action::Command {
        command: command.to_owned(),
        cwd: directory.filter(|directory| !directory.is_empty()).unwrap_or(".").to_owned(),
        env: env.cloned(),
    })
}

fn tool_subject(name: &str, args: Option<&Value>) -> Subject {
    let arg = |key: &str| args.and_then(|args| args.get(key)).and_then(Value::as_str);
    let path = arg("file_path");
    match (name, path) {
        ("write_file", Some(path)) => {
            let of_diff = arg("diff").map(|diff| FileChange::of_diff(diff, Some(path))).unwrap_or_default();
            let files = match (of_diff.is_empty(), arg("content")) {
                (false, _) => of_diff,
                (true, Some(content)) => vec![FileChange::rewritten(path, content)],
                (true, None) => {
                    let file = FileChange::untold(path, ChangeKind::Modify);
                    return Subject::unknown(Action::Edit { files: vec![file] });
                }
            };
            // A diff names the file as the engine shows it; what is asked for is this path.
            let only = files.len() == 1;
            let named = |file: FileChange| if only { file.at(path) } else { file };
            Subject::new(Action::Edit { files: files.into_iter().map(named).collect() })
        }
        ("delete_file", Some(path)) => {
            Subject::new(Action::Edit { files: vec![FileChange::untold(path, ChangeKind::Delete)] })
        }
        ("execute_command", _) if arg("command").is_some() => {
            command_subject(arg("command").unwrap_or_default(), arg("working_directory"), None)
        }
        _ => Subject::new(Action::Tool { name: name.to_owned(), input: args.cloned() }),
    }
}

/// What is asked in the words of the public source.
fn elsewhere_subject(tool: &str, args: &Value) -> Subject {
    match args.as_object().map(|args| (args.len(), args.string("command"))) {
        Some((1, Some(command))) => command_subject(command, None, None),
        Some(_) | None => Subject::new(Action::Tool { name: tool.to_owned(), input: Some(args.clone()) }),
    }
}

/// Title of an ask in the words of the public source: the command where that is all, else the tool with all its arguments.
fn elsewhere(tool: &str, args: &Value) -> String {
    match args.as_object().map(|args| (args.len(), args.string("command"))) {
        Some((1, Some(command))) => command.to_owned(),
        Some(_) | None => format!("{tool} {args}"),
    }
}

/// Title and rule pattern of a command, as the engine wrote them. Both hold the command whole: what is shown is what a rule
/// would cover. The directory is quoted where it has more than plain letters, so that no command and directory together read
/// like two others.
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
