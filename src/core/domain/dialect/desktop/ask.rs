//! What a desktop host asks (seed 002): a command, or a tool.
//!
//! Owns title, options and the rule that an answer would save. Never shortens what a rule would cover.

use serde_json::{Map, Value};

use crate::domain::approval::{
    Action, ChangeKind, FileChange, OfferedRule, PermissionAsk, PermissionOption, PermissionOptionKind,
    RuleHolder, RuleScope, Subject,
};
use crate::domain::background::Background;
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
    let background = text("background").and_then(Background::named);
    let (title, pattern, subject) = if let (None, Some(args)) =
        (text(if is_command { "command" } else { "tool_name" }), payload.get("arguments"))
    {
        // No rule: nobody knows which of these arguments decide what would be done.
        let name = text("tool").unwrap_or_default();
        (elsewhere(name, args), None, elsewhere_subject(name, args))
    } else if is_command {
        let command = text("command").unwrap_or_default();
        let (title, pattern) = run(command, text("working_directory"));
        let subject = command_subject(command, text("working_directory"), payload.get("environment"));
        let is_kept = background == Some(Background::Kept);
        // Each time anew: what goes on after the turn is the user's word for this one.
        (title, pattern.filter(|_| !is_kept), Subject { kept: is_kept, ..subject })
    } else if let Some(served) = payload.object("served_by") {
        of_server(text("tool_name").unwrap_or_default(), served, args)
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
    let reason = in_background(with_repairs(reason, args), background);
    PermissionAsk {
        engine_request_id: text("request_id").or(text("command_id")).unwrap_or_default().to_owned(),
        title: show(&title, Kind::Code).into_owned(),
        options,
        subject: with_criteria(subject.because(reason.as_deref()), args),
        tool_call_id: text("call_id").or(text("tool_call_id")).filter(|id| !id.is_empty()).map(key),
        patch_id: arg("patch_id").or(text("patch_id")).filter(|id| !id.is_empty()).map(str::to_owned),
        payload: Value::Object(payload.clone()),
    }
}

/// A tool of one of the user's servers. A rule about it covers all arguments, and nothing any more once the server or what it says
/// of the tool changes.
fn of_server(
    name: &str,
    served: &Map<String, Value>,
    args: Option<&Value>,
) -> (String, Option<String>, Subject) {
    let server = served.string("server").unwrap_or_default();
    let input = args.map(Value::to_string).unwrap_or_default();
    let digest = served.string("digest").filter(|digest| !digest.is_empty());
    let pattern = digest.map(|digest| {
        format!("call: {} of the server {}, any arguments ({digest})", quoted(name), quoted(server))
    });
    let action =
        Action::Tool { name: name.to_owned(), server: Some(server.to_owned()), input: args.cloned() };
    (format!("Call {name} of the server {server} with {input}"), pattern, Subject::new(action))
}

/// The ask of a proposed change that nothing else asks for.
pub(super) fn ask_of_patch(payload: &Map<String, Value>) -> PermissionAsk {
    let text = |name: &str| payload.string(name).filter(|text| !text.is_empty());
    let path = text("file_path").unwrap_or_default();
    let patch_id = text("patch_id").or_else(|| text("id")).unwrap_or_default();
    // The public source writes a hash without the name of its kind.
    let base_hash = text("base_hash")
        .map(|hash| if hash.contains(':') { hash.to_owned() } else { format!("sha256:{hash}") });
    let args = Value::Object(payload.clone());
    let files: Vec<FileChange> = changed(path, Some(&args))
        .into_iter()
        .map(|file| FileChange { base_hash: base_hash.clone(), ..file })
        .collect();
    let files = if files.is_empty() { vec![FileChange::untold(path, ChangeKind::Modify)] } else { files };
    let title = if files.len() > 1 { several(&files) } else { format!("Write {path}") };
    let reason = with_repairs(text("rationale"), Some(&args));
    PermissionAsk {
        engine_request_id: text("request_id").unwrap_or(patch_id).to_owned(),
        title: show(&title, Kind::Code).into_owned(),
        options: vec![
            PermissionOption::plain("allow_once", "Allow once", PermissionOptionKind::AllowOnce),
            PermissionOption::plain("deny", "Deny", PermissionOptionKind::Deny),
        ],
        subject: with_criteria(Subject::editing(files).because(reason.as_deref()), Some(&args)),
        tool_call_id: None,
        patch_id: Some(patch_id.to_owned()),
        payload: Value::Object(payload.clone()),
    }
}

/// The reason, and below it how long a command in the background would run: every client shows it.
fn in_background(reason: Option<String>, background: Option<Background>) -> Option<String> {
    let Some(background) = background else { return reason };
    let said = reason.filter(|reason| !reason.trim().is_empty()).map(|reason| format!("{reason}\n"));
    Some(format!("{}{}", said.unwrap_or_default(), background.sentence()))
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

/// How the change can be checked, where that is said.
fn with_criteria(subject: Subject, args: Option<&Value>) -> Subject {
    let criteria = args.and_then(|args| args.get("acceptance_criteria")).and_then(Value::as_array);
    let criteria = criteria.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    Subject { acceptance_criteria: criteria, ..subject }
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
            let files = match (changed(path, args), arg("content")) {
                (files, _) if !files.is_empty() => files,
                (_, Some(content)) => vec![FileChange::rewritten(path, content)],
                (_, None) => vec![FileChange::untold(path, ChangeKind::Modify)],
            };
            Subject::editing(files)
        }
        ("delete_file", Some(path)) => {
            let told = changed(path, args).into_iter().find(|file| file.change == ChangeKind::Delete);
            Subject::editing(vec![told.unwrap_or_else(|| FileChange::untold(path, ChangeKind::Delete))])
        }
        ("execute_command", _) if arg("command").is_some() => {
            command_subject(arg("command").unwrap_or_default(), arg("working_directory"), None)
        }
        _ => Subject::new(Action::Tool { name: name.to_owned(), server: None, input: args.cloned() }),
    }
}

/// The files of the diff of a request, with what they were made from.
fn changed(path: &str, args: Option<&Value>) -> Vec<FileChange> {
    let arg = |key: &str| args.and_then(|args| args.get(key));
    let files = arg("diff").and_then(Value::as_str).map(|diff| FileChange::of_diff(diff, Some(path)));
    let files = files.unwrap_or_default();
    // A diff names the file as the engine shows it; what is asked for is this path.
    let only = files.len() == 1;
    let with_base = |file: FileChange| {
        let file = if only { file.at(path) } else { file };
        let bases = arg("base_hashes").and_then(Value::as_object);
        let base_hash = bases
            .and_then(|bases| bases.string(&file.file_path))
            .or_else(|| arg("base_hash").and_then(Value::as_str).filter(|_| only));
        FileChange { base_hash: base_hash.map(str::to_owned), ..file }
    };
    files.into_iter().map(with_base).collect()
}

/// What is asked in the words of the public source.
fn elsewhere_subject(tool: &str, args: &Value) -> Subject {
    match args.as_object().map(|args| (args.len(), args.string("command"))) {
        Some((1, Some(command))) => command_subject(command, None, None),
        Some(_) | None => {
            let input = Some(args.clone());
            Subject::new(Action::Tool { name: tool.to_owned(), server: None, input })
        }
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

/// What happens to each of several files.
fn several(files: &[FileChange]) -> String {
    let one = |file: &FileChange| match (file.change, &file.old_path) {
        (ChangeKind::Rename, Some(old)) => format!("rename {old} to {}", file.file_path),
        (ChangeKind::Delete, _) => format!("delete {}", file.file_path),
        (ChangeKind::Create, _) => format!("create {}", file.file_path),
        (ChangeKind::Modify | ChangeKind::Rename, _) => format!("write {}", file.file_path),
    };
    let all = files.iter().map(one).collect::<Vec<_>>().join(", ");
    let mut letters = all.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Title and rule pattern of a tool. A tool whose target we cannot name gets no rule, since nobody could say what the
/// rule would cover; it can still be allowed once.
fn tool(name: &str, args: Option<&Value>) -> (String, Option<String>) {
    let arg = |key: &str| args.and_then(|args| args.get(key)).and_then(Value::as_str);
    match name {
        "write_file" => {
            let files = arg("file_path").map(|path| changed(path, args)).unwrap_or_default();
            let is_more = files.len() > 1 || files.iter().any(|file| file.change == ChangeKind::Rename);
            // A rule of one path would cover less than is asked for, and one of several is none that anybody could read.
            if is_more {
                return (several(&files), None);
            }
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
        // Our own agent asks whether its turn may go on past its budget; each time anew.
        "continue_turn" => return ("Go on with this turn".to_owned(), None),
        _ => {}
    }
    let args = args.map(Value::to_string).unwrap_or_default();
    (format!("{name} {args}"), None)
}
