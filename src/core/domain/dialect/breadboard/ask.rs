//! What the BreadBoard engine asks: from the payload of a `permission_request` to a `PermissionAsk`.
//!
//! The title says everything that an answer covers, item by item. Never offers a rule that covers more than the title
//! shows. Never settles anything.

use serde_json::{Map, Value};

use super::permissions::request_id;
use super::subject;
use super::tools::{WholeCall, whole_call};
use crate::domain::approval::{
    OfferedRule, PermissionAsk, PermissionOption, PermissionOptionKind, RuleHolder, RuleScope,
};
use crate::domain::dialect::in_words;
use crate::domain::dialect::limits::TELLING;
use crate::domain::dialect::loose::Members;
use crate::domain::event::{EventClass, SessionEvent};
use crate::domain::shown::{Kind, show};

/// Where the engine keeps the rules of a workspace, within it. A person takes one back there.
const RULES: &str = ".breadboard/permission_rules.json";

/// The ask. `envelope` is the payload of the event: `request` itself, or the task event around it. `None` without an id,
/// since nobody could answer it.
pub(super) fn ask(request: &Map<String, Value>, envelope: &Map<String, Value>) -> Option<PermissionAsk> {
    let engine_request_id = request_id(request).or_else(|| request_id(envelope))?;
    let items = items_of(request);
    let mut options =
        vec![PermissionOption::plain("allow_once", "Allow once", PermissionOptionKind::AllowOnce)];
    if let Some(rule) = rule(request, &items) {
        let label = match rule.scope {
            Some(RuleScope::Session) | None => "Allow for this session",
            Some(RuleScope::Workspace) => "Allow in this workspace",
        };
        options.push(PermissionOption::ruling("allow_rule", label, rule));
    }
    options.push(PermissionOption::plain("deny", "Deny", PermissionOptionKind::Deny));
    let (subject, tool_call_id) = subject::of(request, &items, &[]);
    Some(PermissionAsk {
        engine_request_id,
        title: show(&title(request, &items), Kind::Code).into_owned(),
        options,
        subject,
        tool_call_id,
        patch_id: None,
        payload: Value::Object(request.clone()),
    })
}

/// The ask with what the calls before it said, oldest first.
pub(in crate::domain::dialect) fn completed(ask: PermissionAsk, earlier: &[SessionEvent]) -> PermissionAsk {
    let Some(request) = ask.payload.as_object() else { return ask };
    let calls: Vec<WholeCall> = earlier
        .iter()
        .filter(|event| event.class == EventClass::ToolCall)
        .filter_map(|event| whole_call(event.into()))
        .collect();
    let (subject, tool_call_id) = subject::of(request, &items_of(request), &calls);
    PermissionAsk { subject, tool_call_id, ..ask }
}

fn items_of(request: &Map<String, Value>) -> Vec<&Map<String, Value>> {
    let items = request.list("items").into_iter().flatten();
    items.filter_map(Value::as_object).collect()
}

fn title(request: &Map<String, Value>, items: &[&Map<String, Value>]) -> String {
    match items {
        [] => action(request, request),
        [only] => action(only, request),
        several => {
            let actions: Vec<String> = several.iter().map(|item| action(item, request)).collect();
            // A patch of several files comes as so many items, none of which names its file.
            if let [first, rest @ ..] = actions.as_slice()
                && rest.iter().all(|action| action == first)
                && several.iter().all(|item| item.object("metadata").is_some_and(says_no_more))
            {
                return first.clone();
            }
            let each = actions.iter().enumerate().map(|(at, action)| format!("({}) {action}", at + 1));
            each.collect::<Vec<_>>().join(" ")
        }
    }
}

/// One thing that would happen. `whole` names the tool where the item does not.
fn action(item: &Map<String, Value>, whole: &Map<String, Value>) -> String {
    let metadata = item.object("metadata");
    let detail = |name: &str| metadata.and_then(|map| text(map, name));
    let category = text(item, "category").unwrap_or_default();
    let known = match category {
        "shell" => detail("command").map(str::to_owned),
        "edit" => match (detail("path"), detail("function")) {
            (Some(path), Some(function)) => Some(format!("Edit {path} ({function})")),
            (Some(path), None) => Some(format!("Edit {path}")),
            // A patch: which files it changes stands in the call before.
            (None, Some(function)) if metadata.is_some_and(says_no_more) => {
                Some(format!("Edit files ({function})"))
            }
            (None, _) => None,
        },
        "webfetch" => detail("url").map(|url| format!("Fetch {url}")),
        _ => None,
    };
    if let Some(known) = known {
        return known;
    }
    // A tool that we know nothing about: its name and everything that is said about it.
    let name = detail("function").or_else(|| text(whole, "tool")).unwrap_or(category);
    match (name, metadata) {
        ("", None) => text(whole, "summary")
            .or_else(|| text(item, "pattern"))
            .unwrap_or("The engine does not say what it wants to do.")
            .to_owned(),
        (name, None) => match text(item, "pattern").or_else(|| text(whole, "summary")) {
            Some(target) => format!("{name} {target}"),
            None => name.to_owned(),
        },
        (name, Some(metadata)) => with_details(name, metadata),
    }
}

/// The name of a tool, the argument that says most, and everything else that is said about it.
fn with_details(name: &str, metadata: &Map<String, Value>) -> String {
    let telling = TELLING.into_iter().find(|telling| text(metadata, telling).is_some());
    let rest = metadata.iter().filter(|(field, value)| {
        let named = field.as_str() == "function" && value.as_str() == Some(name);
        !named && Some(field.as_str()) != telling && field.as_str() != "batch_size"
    });
    let rest = in_words::details(rest);
    let mut said = name.to_owned();
    if let Some(target) = telling.and_then(|telling| text(metadata, telling)) {
        said.push_str(&format!(" {target}"));
    }
    if !rest.is_empty() {
        said.push_str(&format!(" ({rest})"));
    }
    said.trim_start().to_owned()
}

/// Whether the details of an edit are its tool and an empty path.
fn says_no_more(metadata: &Map<String, Value>) -> bool {
    let counted = |(name, value): (&String, &Value)| match name.as_str() {
        "function" | "batch_size" => true,
        "path" => value.as_str() == Some(""),
        _ => false,
    };
    metadata.iter().all(counted)
}

/// The rule that the engine suggests. Several items of different patterns get none: the engine keeps one pattern and
/// allows them all, so what is saved would not be what was shown.
fn rule(request: &Map<String, Value>, items: &[&Map<String, Value>]) -> Option<OfferedRule> {
    let kind_of = |item: &Map<String, Value>| {
        (text(item, "category").map(str::to_owned), text(item, "pattern").map(str::to_owned))
    };
    // A patch has no path, and its pattern is its tool: the rule would allow every patch of every file.
    let is_patch = |item: &Map<String, Value>| {
        let path = item.object("metadata").and_then(|metadata| text(metadata, "path"));
        text(item, "category") == Some("edit") && path.is_none()
    };
    if items.iter().any(|item| is_patch(item)) {
        return None;
    }
    let first = items.first().map(|item| kind_of(item));
    if items.iter().any(|item| Some(kind_of(item)) != first) {
        return None;
    }
    let pattern = text(request, "rule_suggestion")
        .or_else(|| text(request, "pattern"))
        .or_else(|| items.first().and_then(|item| text(item, "pattern")))?;
    // `project` is the engine's word and its default: the rule is written into the workspace.
    let scope = match text(request, "default_scope") {
        Some("session") => RuleScope::Session,
        Some(_) | None => RuleScope::Workspace,
    };
    let kept_in = (scope == RuleScope::Workspace).then(|| RULES.to_owned());
    Some(OfferedRule { pattern: pattern.to_owned(), scope: Some(scope), holder: RuleHolder::Engine, kept_in })
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    map.string(name).filter(|text| !text.is_empty())
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
