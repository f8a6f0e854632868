//! What a permission request of the BreadBoard engine is about, with what its tool call said before.
//!
//! The engine asks with a category, a path and a function; what it would write stands in the arguments of the call. Owns which
//! call that is and where its arguments hold a change. Never guesses: two calls that fit equally are no call, and a whole new text
//! is no new file, since the engine writes over one that is there.

use serde_json::{Map, Value};

use super::tools::WholeCall;
use crate::domain::approval::{Action, ChangeKind, FileChange, Subject};
use crate::domain::dialect::limits::text;
use crate::domain::dialect::loose::Members;

/// Names of arguments that hold a path.
const PATHS: [&str; 6] = ["path", "file_path", "file_name", "filePath", "filename", "target_file"];
/// Names of arguments that hold a unified diff.
const DIFFS: [&str; 3] = ["patch", "diff", "patch_text"];
/// Names of arguments that hold the text to be replaced, and the one in its place.
const REPLACED: [(&str, &str); 5] = [
    ("search", "replace"),
    ("old_string", "new_string"),
    ("old_text", "new_text"),
    ("old", "new"),
    ("oldString", "newString"),
];
/// Names of arguments that hold a whole new text.
const CONTENTS: [&str; 4] = ["content", "contents", "new_content", "text"];

/// What the request says by itself and by the calls before it, oldest first. Gives the call that waits, where it is one.
pub(super) fn of(
    request: &Map<String, Value>,
    items: &[&Map<String, Value>],
    calls: &[WholeCall],
) -> (Subject, Option<String>) {
    let reason = text(request, "reason");
    let parts: Vec<(Subject, Option<String>)> = match items {
        [] => vec![of_item(request, request, calls)],
        items => items.iter().map(|item| of_item(item, request, calls)).collect(),
    };
    // A call that the engine asks about in parts is one call.
    let call = match parts.as_slice() {
        [(_, call), rest @ ..] if rest.iter().all(|(_, other)| other == call) => call.clone(),
        _ => None,
    };
    let subject = together(parts.into_iter().map(|(subject, _)| subject).collect(), items);
    let unseen = unseen(&subject);
    let reason = match (reason, &unseen) {
        (Some(reason), Some(unseen)) => Some(format!("{}\n{unseen}", reason.trim_end())),
        (None, unseen) => unseen.clone(),
        (Some(reason), None) => Some(reason.to_owned()),
    };
    (subject.because(reason.as_deref()), call)
}

/// What has to be said of files that get a whole text: nobody told what they hold.
fn unseen(subject: &Subject) -> Option<String> {
    let Action::Edit { files } = &subject.action else { return None };
    let whole = |file: &&FileChange| {
        file.change == ChangeKind::Modify && file.diff.is_some() && file.removed.is_none()
    };
    let paths: Vec<String> = files.iter().filter(whole).map(|file| format!("`{}`", file.file_path)).collect();
    match paths.as_slice() {
        [] => None,
        [path] => Some(format!(
            "{path} gets this text as a whole; what it holds now, if it is there, is not shown and is replaced."
        )),
        several => Some(format!(
            "{} get these texts as a whole; what they hold now, if they are there, is not shown and is replaced.",
            several.join(", ")
        )),
    }
}

/// Several things that one answer allows, as one.
fn together(mut parts: Vec<Subject>, items: &[&Map<String, Value>]) -> Subject {
    if parts.len() == 1
        && let Some(only) = parts.pop()
    {
        return only;
    }
    let unknown = parts.iter().any(|part| part.unknown);
    let mut files = Vec::new();
    for part in &parts {
        match &part.action {
            // Each item of a patch is answered by all of the patch, which is made once.
            Action::Edit { files: some } => {
                for file in some {
                    if !files.contains(file) {
                        files.push(file.clone());
                    }
                }
            }
            Action::Command { .. } | Action::Tool { .. } | Action::Question { .. } => {
                let items = items.iter().map(|item| Value::Object((*item).clone())).collect();
                let name = format!("{} actions", parts.len());
                let action = Action::Tool { name, server: None, input: Some(Value::Array(items)) };
                return Subject { unknown, ..Subject::new(action) };
            }
        }
    }
    Subject { unknown, ..Subject::new(Action::Edit { files }) }
}

fn of_item(
    item: &Map<String, Value>,
    request: &Map<String, Value>,
    calls: &[WholeCall],
) -> (Subject, Option<String>) {
    let metadata = item.object("metadata");
    let detail = |name: &str| metadata.and_then(|map| text(map, name)).filter(|said| !said.is_empty());
    let function = detail("function").or_else(|| text(request, "tool"));
    let category = text(item, "category").unwrap_or_default();
    let call = function.and_then(|function| waiting(function, detail("path"), detail("command"), calls));
    let call =
        call.or_else(|| (category == "edit").then(|| by_another_name(detail("path"), calls)).flatten());
    let id = call.and_then(|call| call.id.clone());
    let subject = match category {
        "shell" if detail("command").is_some() => Subject::new(Action::Command {
            command: detail("command").unwrap_or_default().to_owned(),
            cwd: detail("cwd").or_else(|| detail("workdir")).unwrap_or(".").to_owned(),
            env: None,
        }),
        "edit" => {
            let said = detail("diff").or_else(|| text(item, "diff")).or_else(|| text(request, "diff"));
            let files = said.map(|diff| FileChange::of_diff(diff, detail("path"))).unwrap_or_default();
            let files = if files.is_empty() { call.map(changed).unwrap_or_default() } else { files };
            match (files.is_empty(), detail("path")) {
                (false, _) => Subject::editing(files),
                (true, Some(path)) => Subject::unknown(Action::Edit {
                    files: vec![FileChange::untold(path, ChangeKind::Modify)],
                }),
                (true, None) => Subject::unknown(tool(function, category, call, metadata)),
            }
        }
        _ => {
            let told = metadata.is_some_and(|metadata| !metadata.is_empty()) || call.is_some();
            let action = tool(function, category, call, metadata);
            if told { Subject::new(action) } else { Subject::unknown(action) }
        }
    };
    (subject, id)
}

fn tool(
    function: Option<&str>,
    category: &str,
    call: Option<&WholeCall>,
    metadata: Option<&Map<String, Value>>,
) -> Action {
    let name = function.or(Some(category).filter(|category| !category.is_empty()));
    let arguments = call.and_then(|call| call.arguments.clone()).or_else(|| metadata.cloned());
    Action::Tool {
        name: name.unwrap_or("A tool without a name").to_owned(),
        server: None,
        input: arguments.map(Value::Object),
    }
}

/// The call of that function that works on that path or runs that command, newest first; of several that fit equally none.
fn waiting<'a>(
    function: &str,
    path: Option<&str>,
    command: Option<&str>,
    calls: &'a [WholeCall],
) -> Option<&'a WholeCall> {
    let same = |call: &&WholeCall| {
        let argument = |name: &str| call.arguments.as_ref().and_then(|arguments| text(arguments, name));
        let fits = |wanted: Option<&str>, names: &[&str]| {
            let said = names.iter().find_map(|name| argument(name));
            wanted.is_none() || said.is_none() || said == wanted
        };
        call.name == function && fits(path, &PATHS) && fits(command, &["command", "cmd"])
    };
    let mut fitting = calls.iter().filter(same);
    let only = fitting.next()?;
    match fitting.next() {
        None => Some(only),
        // The same call twice is the same change.
        Some(_) => calls.iter().filter(same).all(|call| call.arguments == only.arguments).then_some(only),
    }
}

/// The only call that runs and makes an edit of that path, or any edit where the request names no path: the engine asks with the
/// name of its own function, and a model may have called it by another.
fn by_another_name<'a>(path: Option<&str>, calls: &'a [WholeCall]) -> Option<&'a WholeCall> {
    let edits = |call: &&WholeCall| {
        let files = changed(call);
        !files.is_empty() && path.is_none_or(|path| files.iter().all(|file| file.file_path == path))
    };
    let mut fitting = calls.iter().filter(edits);
    let only = fitting.next()?;
    fitting.all(|call| call.arguments == only.arguments).then_some(only)
}

/// What a call changes, as far as its arguments tell.
fn changed(call: &WholeCall) -> Vec<FileChange> {
    let nothing = Map::new();
    let arguments = call.arguments.as_ref().unwrap_or(&nothing);
    let field = |name: &str| arguments.string(name);
    let path = PATHS.into_iter().find_map(field).filter(|path| !path.is_empty());
    let diff = call.diff.as_deref().or_else(|| DIFFS.into_iter().find_map(field));
    if let Some(diff) = diff {
        let files = FileChange::of_diff(diff, path);
        if !files.is_empty() {
            return files;
        }
    }
    let Some(path) = path else { return Vec::new() };
    if let Some((old, new)) = REPLACED.into_iter().find_map(|(old, new)| Some((field(old)?, field(new)?))) {
        return vec![FileChange::of_parts(path, Some(old).filter(|old| !old.is_empty()), new)];
    }
    // Also of a tool that is called "create": it writes over what is there.
    let whole = CONTENTS.into_iter().find_map(field);
    whole.map(|new| vec![FileChange::rewritten(path, new)]).unwrap_or_default()
}

#[cfg(test)]
#[path = "subject_tests.rs"]
mod tests;
