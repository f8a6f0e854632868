//! Permissions as the engine handles them: how an answer is read, what a rule does. Section 5 of the facts.
//!
//! Never waits for an answer: `runner` does.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Where the rules of a workspace are.
pub(super) const RULES_FILE: &str = ".breadboard/permission_rules.json";

/// A rule that a client wrote with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rule {
    pub category: String,
    pub pattern: String,
    /// `allow` or `deny`.
    pub decision: String,
    pub scope: String,
    pub updated_at_ms: u64,
}

/// An answer to a permission request, as the engine understood it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PermissionAnswer {
    /// For every item that is not named.
    pub all: String,
    /// By item id.
    pub items: Vec<(String, String)>,
    /// The run stops afterwards.
    pub stop: bool,
    /// A pattern to allow or deny from now on.
    pub rule: Option<String>,
}

/// What one word means. Everything unknown, `allow_rule` among it, is a silent `reject`.
pub(super) fn coerced(word: &str) -> &'static str {
    match word.trim().to_lowercase().replace('_', "-").as_str() {
        "allow-once" | "once" | "allow" | "approve" | "ok" | "yes" | "y" => "once",
        "allow-always" | "always" => "always",
        _ => "reject",
    }
}

/// Reads `permission_decision`.
pub(super) fn decision(payload: &Value) -> PermissionAnswer {
    let word = payload.get("decision").and_then(Value::as_str).unwrap_or_default();
    let stop = word.trim().to_lowercase().replace('_', "-") == "deny-stop"
        || payload.get("stop").and_then(Value::as_bool).unwrap_or(false);
    // A rule counts only with a decision that is meant to last.
    let lasting =
        matches!(word.trim().to_lowercase().replace('_', "-").as_str(), "allow-always" | "deny-always");
    let rule = payload.get("rule").and_then(Value::as_str).filter(|rule| lasting && !rule.is_empty());
    PermissionAnswer { all: coerced(word).to_owned(), items: Vec::new(), stop, rule: rule.map(str::to_owned) }
}

/// Reads `respond_permission`: one `response`, or `responses` with a default and items, or `items`.
pub(super) fn response(payload: &Value) -> PermissionAnswer {
    let responses = payload.get("responses");
    let word = |value: Option<&Value>| value.and_then(Value::as_str).map(coerced);
    let all = word(payload.get("response"))
        .or_else(|| word(responses.and_then(|responses| responses.get("default"))))
        .or_else(|| word(responses.and_then(|responses| responses.get("fallback"))))
        .unwrap_or("reject");
    let items = payload.get("items").or_else(|| responses.and_then(|responses| responses.get("items")));
    let items = items.and_then(Value::as_object).into_iter().flatten();
    let items =
        items.map(|(item, word)| (item.clone(), coerced(word.as_str().unwrap_or_default()).to_owned()));
    PermissionAnswer { all: all.to_owned(), items: items.collect(), stop: false, rule: None }
}

/// Fills in what a request of a script leaves out. `number` counts within one run, so ids repeat from run to run.
pub(super) fn request(mut asked: Map<String, Value>, number: u64, inner_seq: u64) -> Map<String, Value> {
    let id = asked
        .get("request_id")
        .and_then(Value::as_str)
        .map_or_else(|| format!("permission_{number}"), str::to_owned);
    let category = text(&asked, "category").unwrap_or_else(|| "shell".to_owned());
    let pattern = text(&asked, "pattern").unwrap_or_else(|| "ls *".to_owned());
    let tool = text(&asked, "tool").unwrap_or_else(|| tool_of(&category).to_owned());
    let metadata = asked.get("metadata").cloned().unwrap_or_else(|| json!({"function": tool}));
    let items = json!([{
        "item_id": format!("{id}_item_1"), "category": category, "pattern": pattern, "metadata": metadata,
    }]);
    let items = asked.get("items").cloned().unwrap_or(items);
    let mut batch = metadata;
    if let Some(members) = batch.as_object_mut() {
        members.insert("batch_size".into(), json!(items.as_array().map_or(1, Vec::len)));
    }
    let mut full = Map::new();
    let summary = pattern.trim_end_matches(" *").to_owned();
    for (key, value) in [
        ("event_version", json!(1)),
        ("request_id", json!(id)),
        ("id", json!(id)),
        ("items", items),
        ("category", json!(category)),
        ("pattern", json!(pattern)),
        ("metadata", batch),
        ("seq", json!(inner_seq)),
        ("tool", json!(tool)),
        ("kind", json!(kind_of(&category))),
        ("summary", json!(summary)),
        ("rule_suggestion", json!(pattern)),
        ("default_scope", json!("project")),
        ("rewindable", json!(false)),
    ] {
        let stated = if key == "metadata" { None } else { asked.remove(key) };
        // Of an edit the engine suggests none.
        if key == "rule_suggestion" && stated.is_none() && category == "edit" {
            continue;
        }
        full.insert(key.into(), stated.unwrap_or(value));
    }
    asked.remove("metadata");
    full.extend(asked);
    full
}

/// The answer item by item, and whether all of it is allowed.
pub(super) fn settled(request: &Map<String, Value>, answer: &PermissionAnswer) -> (Map<String, Value>, bool) {
    let items = request.get("items").and_then(Value::as_array).into_iter().flatten();
    let mut responses = Map::new();
    for item in items.filter_map(|item| item.get("item_id").and_then(Value::as_str)) {
        let own = answer.items.iter().find(|(id, _)| id == item).map_or(&answer.all, |(_, word)| word);
        responses.insert(item.to_owned(), json!(own));
    }
    let allowed = responses.values().all(|word| word != "reject");
    (responses, allowed)
}

/// Payload of `permission_response`. `response` is absent when the items differ.
pub(super) fn response_event(
    request: &Map<String, Value>,
    responses: &Map<String, Value>,
    inner_seq: u64,
) -> Value {
    let mut event = json!({
        "event_version": 1, "request_id": request.get("request_id"), "id": request.get("id"),
        "responses": {"items": responses}, "category": request.get("category"), "pattern": request.get("pattern"),
        "seq": inner_seq,
    });
    let mut words = responses.values();
    let first = words.next();
    if let (Some(first), true) = (first, words.all(|word| Some(word) == first))
        && let Some(members) = event.as_object_mut()
    {
        members.insert("response".into(), first.clone());
        members.insert("decision".into(), first.clone());
    }
    event
}

/// The rules of a workspace; none when there is no file or nothing readable in it.
pub(super) fn load_rules(workspace: &Path) -> Vec<Rule> {
    let read = std::fs::read(workspace.join(RULES_FILE)).ok();
    let document = read.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let rules = document.and_then(|mut document| document.get_mut("rules").map(Value::take));
    rules.and_then(|rules| serde_json::from_value(rules).ok()).unwrap_or_default()
}

/// Adds or replaces a rule, and writes the file. Next sessions read it; this one does not.
pub(super) fn upsert_rule(workspace: &Path, rule: Rule) {
    let mut rules = load_rules(workspace);
    let updated_at_ms = rule.updated_at_ms;
    rules.retain(|old| old.category != rule.category || old.pattern != rule.pattern);
    rules.push(rule);
    let document = json!({"version": 1, "updated_at_ms": updated_at_ms, "rules": rules});
    let path = workspace.join(RULES_FILE);
    if let Some(folder) = path.parent() {
        // A workspace that cannot be written keeps no rules, as with the engine.
        let _ = std::fs::create_dir_all(folder);
    }
    let _ = std::fs::write(path, document.to_string());
}

fn text(members: &Map<String, Value>, key: &str) -> Option<String> {
    members.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn tool_of(category: &str) -> &'static str {
    match category {
        "edit" => "apply_unified_patch",
        "webfetch" => "webfetch",
        _ => "run_shell",
    }
}

fn kind_of(category: &str) -> &'static str {
    match category {
        "edit" => "Edit",
        "webfetch" => "Webfetch",
        "mcp" => "Mcp",
        "plugin" => "Plugin",
        _ => "Shell",
    }
}
