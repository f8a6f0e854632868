//! What the asks of the BreadBoard engine say and offer.

use serde_json::{Value, json};

use super::*;
use crate::domain::approval::{Action, Subject};

fn asked(payload: Value) -> PermissionAsk {
    let payload = payload.as_object().unwrap();
    ask(payload, payload).unwrap()
}

fn item(category: &str, pattern: &str, metadata: Value) -> Value {
    json!({"item_id": "i", "category": category, "pattern": pattern, "metadata": metadata})
}

fn rule_of(ask: &PermissionAsk) -> Option<(String, Option<RuleScope>)> {
    ask.options.iter().find_map(|option| option.rule.clone()).map(|rule| (rule.pattern, rule.scope))
}

fn ids(ask: &PermissionAsk) -> Vec<&str> {
    ask.options.iter().map(|option| option.option_id.as_str()).collect()
}

#[test]
fn r003_20_a_command_asks_with_its_exact_text_and_the_rule_that_the_engine_suggests() {
    let payload = json!({
        "event_version": 1, "request_id": "permission_1", "id": "permission_1",
        "items": [item("shell", "cargo test *", json!({"command": "cargo test && rm x", "function": "run_shell"}))],
        "category": "shell", "pattern": "cargo test *", "summary": "cargo test",
        "rule_suggestion": "cargo test *", "default_scope": "project",
    });
    assert_eq!(
        asked(payload.clone()),
        PermissionAsk {
            engine_request_id: "permission_1".into(),
            title: "cargo test && rm x".into(),
            options: vec![
                PermissionOption::plain("allow_once", "Allow once", PermissionOptionKind::AllowOnce),
                PermissionOption::ruling(
                    "allow_rule",
                    "Allow in this workspace",
                    OfferedRule {
                        pattern: "cargo test *".into(),
                        scope: Some(RuleScope::Workspace),
                        holder: RuleHolder::Engine,
                        kept_in: Some(".breadboard/permission_rules.json".into()),
                    }
                ),
                PermissionOption::plain("deny", "Deny", PermissionOptionKind::Deny),
            ],
            subject: Subject::new(Action::Command {
                command: "cargo test && rm x".into(),
                cwd: ".".into(),
                env: None
            }),
            tool_call_id: None,
            patch_id: None,
            payload,
        }
    );
}

#[test]
fn every_item_of_an_ask_stands_in_its_title_and_patterns_that_differ_offer_no_rule() {
    let ask = asked(json!({"request_id": "r", "rule_suggestion": "ls *", "pattern": "ls *", "items": [
        item("shell", "ls *", json!({"command": "ls -la"})),
        item("edit", "src/*", json!({"path": "src/a.rs", "function": "write_file"})),
        item("webfetch", "example.org", json!({"url": "https://example.org/x"})),
        item("mcp", "m", json!({"function": "launch", "to": "moon"})),
    ]}));
    assert_eq!(
        ask.title,
        "(1) ls -la (2) Edit src/a.rs (write_file) (3) Fetch https://example.org/x \
         (4) launch (to: moon)"
    );
    assert_eq!((ids(&ask), rule_of(&ask)), (vec!["allow_once", "deny"], None));

    let same = asked(json!({"request_id": "r", "items": [
        item("shell", "ls *", json!({"command": "ls a"})), item("shell", "ls *", json!({"command": "ls b"}))]}));
    assert_eq!(
        (same.title.as_str(), ids(&same)),
        ("(1) ls a (2) ls b", vec!["allow_once", "allow_rule", "deny"])
    );
}

#[test]
fn an_edit_by_a_patch_names_no_file_and_is_told_in_words_unless_more_is_known() {
    let title =
        |metadata| asked(json!({"request_id": "r", "items": [item("edit", "patch_it", metadata)]})).title;
    assert_eq!(title(json!({"path": "", "function": "patch_it", "batch_size": 2})), "Edit files (patch_it)");
    assert_eq!(title(json!({"path": "", "function": "patch_it", "force": true})), "patch_it (force: yes)");
}

#[test]
fn a_tool_of_another_category_is_titled_by_what_it_would_do_and_never_by_json() {
    let title = |metadata| {
        let ask = asked(json!({"request_id": "r", "items": [item("debug", "*", metadata)]}));
        ask.title
    };
    assert_eq!(
        title(json!({"function": "run_shell", "command": "pwd", "kind": "run", "batch_size": 1})),
        "run_shell pwd (kind: run)"
    );
    assert_eq!(
        title(json!({"function": "send", "url": "https://e.org", "headers": {"a": 1}, "to": ["x", "y"]})),
        "send https://e.org (headers: (a: 1), to: x, y)"
    );
    assert_eq!(title(json!({"function": "pause"})), "pause");
    assert_eq!(title(json!({"path": "a.rs"})), "debug a.rs");
}

#[test]
fn one_pattern_in_two_categories_is_two_rules_and_offers_none() {
    let ask = asked(json!({"request_id": "r", "rule_suggestion": "*", "items": [
        item("shell", "*", json!({"command": "ls"})), item("edit", "*", json!({"path": "a"}))]}));
    assert_eq!(rule_of(&ask), None);
}

#[test]
fn an_ask_without_items_is_told_by_its_own_fields_and_without_a_pattern_offers_no_rule() {
    let bare = |payload| {
        let ask = asked(payload);
        let rule = rule_of(&ask);
        (ask.title, rule)
    };
    let session = Some(("*".to_owned(), Some(RuleScope::Session)));
    assert_eq!(
        bare(
            json!({"request_id": "r", "category": "shell", "metadata": {"command": "ls"}, "pattern": "*", "default_scope": "session"})
        ),
        ("ls".to_owned(), session)
    );
    assert_eq!(
        bare(json!({"id": 7, "category": "shell", "tool": "run_shell", "summary": "make all"})),
        ("run_shell make all".to_owned(), None)
    );
    assert_eq!(
        bare(json!({"id": "r", "items": []})),
        ("The engine does not say what it wants to do.".to_owned(), None)
    );
}

#[test]
fn an_ask_that_nobody_can_answer_is_none_and_a_task_may_hold_the_id_for_it() {
    let request = json!({"category": "shell", "metadata": {"command": "ls"}});
    let request = request.as_object().unwrap();
    let envelope = json!({"request_id": "outer"});
    assert_eq!(ask(request, request), None);
    let found = ask(request, envelope.as_object().unwrap()).unwrap();
    assert_eq!((found.engine_request_id.as_str(), found.title.as_str()), ("outer", "ls"));
}

#[test]
fn a_rule_for_every_patch_of_every_file_is_not_offered_and_a_patch_is_named_once() {
    // Given a patch of two files, which the engine asks about in two items, with its tool as the pattern
    let one =
        || item("edit", "apply_unified_patch", json!({ "path": "", "function": "apply_unified_patch" }));
    let payload = |items: Value| {
        json!({ "request_id": "permission_1", "items": items, "category": "edit", "pattern": "apply_unified_patch",
                "rule_suggestion": "apply_unified_patch", "default_scope": "project" })
    };
    for items in [json!([one()]), json!([one(), one()])] {
        let asked = asked(payload(items));
        assert_eq!(
            (asked.title.as_str(), ids(&asked)),
            ("Edit files (apply_unified_patch)", vec!["allow_once", "deny"])
        );
    }
    // And where the path is told the rule is that of the path
    let payload = json!({ "request_id": "permission_1", "category": "edit", "pattern": "c.txt", "rule_suggestion": "c.txt",
        "items": [item("edit", "c.txt", json!({ "path": "c.txt", "function": "create_file_from_block" }))] });
    assert_eq!(rule_of(&self::asked(payload)), Some(("c.txt".to_owned(), Some(RuleScope::Workspace))));
}
