//! What is shown for events and asks, whole.

use super::*;
use crate::domain::approval::{Action, ChangeKind, Decision, FileChange, Permission, PermissionOptionKind};
use crate::domain::approval::{
    AskRoot, OfferedRule, PermissionAsk, PermissionOption, RuleHolder, RuleScope, Subject,
};
use crate::domain::dialect::{Dialect, fact};
use crate::domain::event::{Origin, SessionEvent};
use crate::domain::view::ViewState;
use serde_json::{Value, json};

fn event(class: &str, kind: &str, payload: Value) -> SessionEvent {
    SessionEvent {
        id: String::new(),
        kind: kind.to_owned(),
        turn: None,
        ts: None,
        received_at: None,
        payload: payload.as_object().cloned().expect("payload is an object").into(),
        seq: 1,
        class: serde_json::from_value(json!(class)).expect("is a class"),
        pane: std::borrow::Cow::Borrowed(&[]),
        origin: Origin::Engine,
        repaired: false,
        permission: None,
    }
}

/// What is drawn of these events, one after the other.
fn drawn_of(renderer: &mut Renderer, dialect: Dialect, events: &[SessionEvent]) -> Vec<RenderPiece> {
    let mut view = ViewState::default().speaking(dialect);
    let mut prompt = event("transcript.user_message", "local.prompt", json!({"text": "q"}));
    (prompt.origin, prompt.turn) = (Origin::Local, Some(1));
    view.apply(&prompt);
    let numbered = events.iter().zip(2..).map(|(event, seq)| SessionEvent { seq, ..event.clone() });
    numbered.flat_map(|event| renderer.draw(&fact(dialect, &event), &view.apply(&event))).collect()
}

fn answer(pieces: &[RenderPiece]) -> String {
    pieces
        .iter()
        .filter_map(|piece| if let RenderPiece::Answer(text) = piece { Some(text.as_str()) } else { None })
        .collect()
}

fn notes(pieces: &[RenderPiece]) -> Vec<&str> {
    pieces
        .iter()
        .filter_map(|piece| if let RenderPiece::Note(text) = piece { Some(text.as_str()) } else { None })
        .collect()
}

fn session() -> Vec<SessionEvent> {
    vec![
        event("transcript.user_message", "local.prompt", json!({"text": "q"})),
        event(
            "transcript.reasoning_stream",
            "assistant.thinking",
            json!({"phase": "analyzing", "message": "Reading\x1b[2J"}),
        ),
        event(
            "tool.call",
            "tool.execute",
            json!({"tool_name": "search_text", "args": {"query": "foo"}, "status": "started", "result": null}),
        ),
        event(
            "tool.result",
            "tool.execute",
            json!({"tool_name": "search_text", "args": {"query": "foo"}, "status": "completed", "result": {"matches": [1, 2]}}),
        ),
        event(
            "tool.result",
            "tool.execute",
            json!({"tool_name": "read_file", "args": {"path": "b\x1b.rs"}, "status": "completed", "result": {"summary": "3 lines", "text": ""}}),
        ),
        event(
            "tool.result",
            "tool.execute",
            json!({"tool_name": "read_file", "args": {"path": "c.rs"}, "status": "failed", "result": {"error": "no such file"}}),
        ),
        event("transcript.assistant_stream", "assistant.token", json!({"token": "It is in "})),
        event("transcript.assistant_stream", "assistant.token", json!({"token": "a.rs:3\x1b[31m"})),
        event(
            "patch.proposed",
            "patch.proposed",
            json!({"patch_id": "p", "file_path": "a.rs", "diff": "-a\n+b\n", "rationale": "better"}),
        ),
        event("run.error_or_gap", "server.error", json!({"error": {"message": "The model failed."}})),
        event(
            "run.finished",
            "assistant.message_final",
            json!({"message": "It is in a.rs:3\x1b[31m", "metadata": {"success": true}}),
        ),
    ]
}

fn drawn(seen: SeenSoFar) -> Vec<RenderPiece> {
    let mut renderer = Renderer::new(seen);
    let mut pieces = drawn_of(&mut renderer, Dialect::Desktop, &session());
    pieces.extend(renderer.close());
    pieces
}

const PIPED: SeenSoFar = SeenSoFar { out: TerminalLook::PLAIN, err: TerminalLook::PLAIN, one_screen: false };

#[test]
fn a_session_drawn_plain_keeps_answer_and_notes_apart() {
    let pieces = drawn(PIPED);
    assert_eq!(answer(&pieces), "It is in a.rs:3⟨U+001B⟩[31m\n-a\n+b\n");
    assert_eq!(
        notes(&pieces),
        [
            "· search_text foo → 2 results",
            "· read_file b⟨U+001B⟩.rs → 3 lines",
            "✗ read_file c.rs failed: no such file",
            "Proposed change of a.rs: better",
            "error: The model failed.",
            "also read: b⟨U+001B⟩.rs",
        ]
    );
    let progress: Vec<&RenderPiece> =
        pieces.iter().filter(|piece| matches!(piece, RenderPiece::Progress(_))).collect();
    assert_eq!(
        progress,
        [
            &RenderPiece::Progress("Reading⟨U+001B⟩[2J".into()),
            &RenderPiece::Progress("search_text foo".into())
        ]
    );
}

#[test]
fn on_one_screen_a_note_never_lands_inside_a_line_of_the_answer() {
    let pieces = drawn(SeenSoFar { one_screen: true, ..PIPED });
    let at =
        pieces.iter().position(|piece| *piece == RenderPiece::Note("Proposed change of a.rs: better".into()));
    let before = at.and_then(|at| pieces.get(at - 1));
    assert_eq!(before, Some(&RenderPiece::Answer("\n".into())));
}

#[test]
fn an_engine_that_does_not_stream_is_heard_at_its_end() {
    let mut renderer = Renderer::new(PIPED);
    let last =
        event("run.finished", "assistant.message_final", json!({"message": "All of it.", "metadata": {}}));
    assert_eq!(
        drawn_of(&mut renderer, Dialect::Desktop, &[last]),
        [RenderPiece::Answer("All of it.".into())]
    );
    assert_eq!(renderer.close(), [RenderPiece::Answer("\n".into())]);
}

#[test]
fn an_answer_that_its_engine_says_once_more_is_shown_once_whatever_space_is_left_out() {
    let shown = |streamed: &str, whole: &str| {
        let said = |streaming: bool, text: &str| Block {
            id: "a".into(),
            turn: None,
            seq: 2,
            body: BlockBody::Assistant { text: text.into(), streaming, truncated: false },
        };
        let (mut renderer, nothing) = (Renderer::new(PIPED), event("run.finished", "x", json!({})));
        let mut pieces = Vec::new();
        for block in [said(true, streamed), said(false, whole)] {
            let changes = [Change::put(Lane::Chat, block)];
            pieces.extend(renderer.draw(&fact(Dialect::Breadboard, &nothing), &changes));
        }
        answer(&pieces)
    };
    for (streamed, whole, wanted) in [
        ("It is done. ", "It is done.", "It is done. "),
        ("It is done. ", "It is done.\n>>>>>> END RESPONSE", "It is done. \n>>>>>> END RESPONSE"),
        ("It is done.", "It is done.\n>>>>>> END RESPONSE", "It is done.\n>>>>>> END RESPONSE"),
        ("Done.\n", "Done.\n>>>>>> END RESPONSE", "Done.\n>>>>>> END RESPONSE"),
        ("Done. \n\n", "Done.\n    code", "Done. \n\n    code"),
        ("Done.\n", "Done.\n\nMore.", "Done.\n\nMore."),
        ("\n Done. ", "Done.\nMore.", "\n Done. \nMore."),
        ("Done.", "Done. And more.", "Done. And more."),
        (" ", "Done.", " Done."),
        ("One", "Other", "One\n\nOther"),
    ] {
        assert_eq!(shown(streamed, whole), wanted, "{streamed:?}, then {whole:?}");
    }
}

fn permission(title: &str, action: Action) -> Permission {
    let rule = OfferedRule {
        pattern: "run: ls".into(),
        scope: Some(RuleScope::Session),
        holder: RuleHolder::Server,
        kept_in: None,
    };
    let ask = PermissionAsk {
        engine_request_id: String::new(),
        title: title.into(),
        options: vec![
            PermissionOption::plain("allow_once", "Allow once", PermissionOptionKind::AllowOnce),
            PermissionOption::ruling("allow_rule", "Always allow", rule),
            PermissionOption::plain("deny", "Deny", PermissionOptionKind::Deny),
        ],
        subject: Subject::new(action).because(Some("to see")),
        tool_call_id: None,
        patch_id: None,
        payload: json!({}),
    };
    Permission::of(&ask, "r".into(), &AskRoot::AtEngine, None)
}

#[test]
fn a_permission_shows_the_command_whole_and_no_line_of_it_passes_for_ours() {
    let mut renderer = Renderer::new(PIPED);
    let command = "ls\nwhy: harmless\x1b[8m".to_owned();
    let env = json!({"A": "b\nc"}).as_object().cloned();
    let pieces = renderer.permission(&permission("ls", Action::Command { command, cwd: ".".into(), env }));
    let wanted = "Permission needed: ls\n  why: to see\n  command: ls⏎why: harmless⟨U+001B⟩[8m\n  in: .\n  \
                  with: A=b\n  | c";
    assert_eq!(pieces, [RenderPiece::Note(wanted.into())]);
}

#[test]
fn what_an_engine_did_not_tell_is_said_to_be_untold() {
    let mut renderer = Renderer::new(PIPED);
    let mut asked =
        permission("Edit a", Action::Edit { files: vec![FileChange::untold("a", ChangeKind::Modify)] });
    asked.subject.unknown = true;
    asked.options.remove(1);
    let wanted = "Permission needed: Edit a\n  why: to see\n  change: a\n  \
                  The agent did not tell exactly what it would do, so it can be allowed once only.";
    assert_eq!(renderer.permission(&asked), [RenderPiece::Note(wanted.into())]);
}

#[test]
fn a_diff_is_repeated_at_the_ask_unless_the_very_same_is_on_the_screen() {
    let shows = |one_screen: bool, new: &str| {
        let mut renderer = Renderer::new(SeenSoFar { one_screen, ..PIPED });
        let diff = "--- a/a\n+++ b/a\n@@ -0,0 +1,1 @@\n+b\n";
        let patch = event("patch.proposed", "patch.proposed", json!({"file_path": "a", "diff": diff}));
        drawn_of(&mut renderer, Dialect::Desktop, &[patch]);
        let files = vec![FileChange::of_texts("a", None, new)];
        match renderer.permission(&permission("Write a", Action::Edit { files })).last() {
            Some(RenderPiece::Note(text)) => text.contains(&format!("+{}", new.trim_end())),
            other => panic!("not a note: {other:?}"),
        }
    };
    assert!(!shows(true, "b\n"));
    assert!(shows(true, "other\n"));
    assert!(shows(false, "b\n"));
}

fn update(payload: Value) -> SessionEvent {
    let kind = payload["sessionUpdate"].as_str().expect("an update").to_owned();
    let class = match (kind.as_str(), payload["status"].as_str()) {
        ("agent_message_chunk", _) => "transcript.assistant_stream",
        ("agent_thought_chunk", _) => "transcript.reasoning_stream",
        ("tool_call", _) => "tool.call",
        ("tool_call_update", Some("completed" | "failed")) => "tool.result",
        ("tool_call_update", _) => "tool.output",
        _ => "plan.update",
    };
    event(class, &kind, payload)
}

fn chunk(text: &str) -> SessionEvent {
    update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

#[test]
fn texts_before_and_after_a_call_are_parted_by_a_blank_line() {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "a.rs", "kind": "read"});
    let events = [
        chunk("Let me "),
        chunk("read."),
        update(call),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"})),
        chunk("\nNow I "),
        chunk("change it."),
    ];
    for one_screen in [false, true] {
        let pieces = drawn_of(&mut Renderer::new(SeenSoFar { one_screen, ..PIPED }), Dialect::Acp, &events);
        assert_eq!(answer(&pieces), "Let me read.\n\nNow I change it.");
        assert_eq!(notes(&pieces), ["· read a.rs"]);
    }
    let blank = [chunk("Found.\n\n"), events[2].clone(), events[3].clone(), chunk("Now.")];
    let pieces = drawn_of(&mut Renderer::new(PIPED), Dialect::Acp, &blank);
    assert_eq!(answer(&pieces), "Found.\n\nNow.", "a blank line that is there is not made twice");
}

#[test]
fn a_call_is_named_by_what_it_does_and_a_failed_one_says_why() {
    let ended = |call: Value, end: Value| {
        let mut began = json!({"sessionUpdate": "tool_call", "toolCallId": "c"});
        let mut over = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c"});
        for (whole, more) in [(&mut began, call), (&mut over, end)] {
            let whole = whole.as_object_mut().expect("an object");
            whole.extend(more.as_object().cloned().expect("an object"));
        }
        let pieces = drawn_of(&mut Renderer::new(PIPED), Dialect::Acp, &[update(began), update(over)]);
        notes(&pieces).join("|")
    };
    let done = || json!({"status": "completed"});
    assert_eq!(ended(json!({"title": "Read a.rs", "kind": "read"}), done()), "· Read a.rs");
    assert_eq!(ended(json!({"title": "hello.txt", "kind": "edit"}), done()), "· edit hello.txt");
    assert_eq!(ended(json!({"title": "Task", "kind": "other"}), done()), "· Task");
    assert_eq!(
        ended(json!({"kind": "execute", "rawInput": {"command": "ls -l"}}), done()),
        "· execute ls -l"
    );
    let text = |text: &str| json!({"status": "failed", "content": [{"type": "content", "content": {"type": "text", "text": text}}]});
    assert_eq!(
        ended(json!({"title": "make", "kind": "execute"}), text("\nno rule\nmore\n[exit code 2]")),
        "✗ execute make failed: no rule [exit code 2]"
    );
    // d21: the agent calls it well, and its command was not.
    assert_eq!(
        ended(
            json!({"title": "make", "kind": "execute"}),
            json!({"status": "completed", "rawOutput": {"exit_code": 3, "stdout": "no rule"}})
        ),
        "✗ execute make failed: no rule [exit code 3]"
    );
    assert_eq!(
        ended(json!({"title": "w", "kind": "edit"}), text("{\"ok\": false, \"error\": \"Is a directory\"}")),
        "✗ edit w failed: Is a directory"
    );
}

#[test]
fn d21_a_call_that_went_well_says_the_exit_code_of_a_command_that_did_not() {
    let ran = |code: i64| {
        let payload = json!({"tool_name": "run_command", "args": {"command": "make"}, "status": "completed",
            "result": {"exit_code": code, "stdout": "out", "stderr": ""}});
        let pieces = drawn_of(
            &mut Renderer::new(PIPED),
            Dialect::Desktop,
            &[event("tool.result", "tool.execute", payload)],
        );
        notes(&pieces).join("|")
    };
    assert_eq!(ran(0), "· run_command make");
    assert_eq!(ran(3), "· run_command make [exit code 3]");
}

#[test]
fn a_plan_is_shown_with_its_marks_and_then_only_what_changed() {
    let plan = |one: &str, two: &str| {
        let entry = |text: &str, status: &str| json!({"content": text, "status": status, "priority": "high"});
        update(json!({"sessionUpdate": "plan", "entries": [entry("one", one), entry("two", two)]}))
    };
    let events =
        [plan("in_progress", "pending"), plan("in_progress", "pending"), plan("completed", "pending")];
    let pieces = drawn_of(&mut Renderer::new(PIPED), Dialect::Acp, &events);
    assert_eq!(notes(&pieces), ["plan:\n  [>] one\n  [ ] two", "plan:\n  [x] one"]);
}

#[test]
fn a_call_that_its_agent_titles_by_a_word_is_told_by_its_file_or_its_command() {
    // Given calls as an agent writes them that titles each by the name of its tool
    let call = |id: &str, title: &str, kind: &str, more: Value| {
        let mut call = json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind,
            "status": "completed"});
        call.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        update(call)
    };
    let diff = json!({"content": [{"type": "diff", "path": "src/b.rs", "oldText": "a\n", "newText": "b\n"}]});
    let events = [
        call("a", "WriteFile", "edit", json!({"rawInput": {"file_path": "src/a.rs", "content": "x"}})),
        call("b", "Edit", "edit", diff),
        call("c", "Shell", "execute", json!({"rawInput": {"command": "cargo test", "is_background": false}})),
        call("d", "ReadFile", "read", json!({"rawInput": {"absolute_path": "/w/c.rs"}})),
        call("e", "ReadFile", "read", json!({"locations": [{"path": "/w/d.rs", "line": 3}]})),
        call("f", "Shell", "execute", json!({})),
        call("g", "make", "execute", json!({"rawInput": {"command": "make"}})),
    ];
    // Then each line says what was done to what
    assert_eq!(
        notes(&drawn_of(&mut Renderer::new(PIPED), Dialect::Acp, &events)),
        [
            "· WriteFile src/a.rs",
            "· Edit src/b.rs",
            "· Shell cargo test",
            "· ReadFile /w/c.rs",
            "· ReadFile /w/d.rs:3",
            "· execute Shell",
            "· execute make",
        ]
    );
}

#[test]
fn a_failed_call_is_told_without_the_colours_of_its_output() {
    let text = "\u{1b}[31merror\u{1b}[0m: \u{1b}[2Jno";
    let failed = update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "a", "title": "make all", "kind": "execute",
        "status": "failed", "content": [{"type": "content", "content": {"type": "text", "text": text}}]}),
    );
    let pieces = drawn_of(&mut Renderer::new(PIPED), Dialect::Acp, &[failed]);
    assert_eq!(notes(&pieces), ["✗ execute make all failed: error: ⟨U+001B⟩[2Jno"]);
}

#[test]
fn a_sentence_is_said_once_and_the_end_is_not_told_again() {
    let failed =
        event("run.finished", "session/prompt", json!({"error": {"code": -32603, "message": "401"}}));
    let mut renderer = Renderer::new(PIPED);
    let pieces = drawn_of(&mut renderer, Dialect::Acp, &[failed]);
    assert_eq!(notes(&pieces), ["error: The turn failed: 401"]);
    let ending = AnswerEnding { success: false, text: "The turn failed: 401".into() };
    assert_eq!(renderer.ending(), Some(&ending));
    assert_eq!(renderer.ended_badly(&ending.text), []);
    assert_eq!(renderer.remark_once(NoticeLevel::Warning, "The turn failed: 401"), []);
}

#[test]
fn answers_have_the_engines_labels_and_a_key_each_and_a_rule_says_where_it_holds() {
    let rule = |scope, holder| {
        let kept_in = (holder == RuleHolder::Engine).then(|| ".e/rules.json".to_owned());
        OfferedRule { pattern: "run: ls".into(), scope, holder, kept_in }
    };
    let mut asked = permission("ls", Action::Command { command: "ls".into(), cwd: ".".into(), env: None });
    asked.options = vec![
        PermissionOption::plain("once", "Yes", PermissionOptionKind::AllowOnce),
        PermissionOption::ruling("s", "In this session", rule(Some(RuleScope::Session), RuleHolder::Server)),
        PermissionOption::ruling(
            "w",
            "In this workspace",
            rule(Some(RuleScope::Workspace), RuleHolder::Engine),
        ),
        PermissionOption::ruling("p", "Always in the project", rule(None, RuleHolder::Agent)),
        PermissionOption::plain("no", "No", PermissionOptionKind::Deny),
        PermissionOption::plain("never", "Never", PermissionOptionKind::Deny),
    ];
    let got = choices(&asked);
    let got: Vec<(&str, Decision, Option<&str>, &str)> = got
        .iter()
        .map(|choice| {
            (choice.key.as_str(), choice.decision, choice.option_id.as_deref(), choice.label.as_str())
        })
        .collect();
    assert_eq!(
        got,
        [
            ("y", Decision::AllowOnce, Some("once"), "Yes"),
            (
                "a",
                Decision::AllowRule,
                Some("s"),
                "In this session — saves the rule `run: ls`, for this session"
            ),
            (
                "1",
                Decision::AllowRule,
                Some("w"),
                "In this workspace — saves the rule `run: ls`, kept by the engine in .e/rules.json, for this workspace and later sessions"
            ),
            (
                "2",
                Decision::AllowRule,
                Some("p"),
                "Always in the project — a rule that the agent keeps: `run: ls`"
            ),
            ("n", Decision::Deny, Some("no"), "No"),
            ("3", Decision::Deny, Some("never"), "Never"),
        ]
    );
    asked.options.truncate(1);
    assert_eq!(
        choices(&asked).last(),
        Some(&Choice { key: "n".into(), decision: Decision::Deny, option_id: None, label: "Deny".into() })
    );
}

#[test]
fn a_character_that_comes_in_two_pieces_is_shown_as_one_with_and_without_colours() {
    let family = "\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}";
    let token = |text: &str| event("transcript.assistant_stream", "assistant.token", json!({"token": text}));
    let whole = format!("A {family}, un\u{a0}: e\u{301}, \u{928}\u{93f}.\n");
    let events: Vec<SessionEvent> = whole.chars().map(|c| token(&c.to_string())).collect();
    for out in [TerminalLook::PLAIN, TerminalLook { colour: true }] {
        let mut renderer = Renderer::new(SeenSoFar { out, err: TerminalLook::PLAIN, one_screen: false });
        let mut pieces = drawn_of(&mut renderer, Dialect::Desktop, &events);
        pieces.extend(renderer.close());
        assert_eq!(answer(&pieces), whole);
    }
}

#[test]
fn what_hides_in_an_answer_is_written_out_once() {
    let token =
        event("transcript.assistant_stream", "assistant.token", json!({"token": "a\u{202e}b &#x202e; x\n"}));
    let mut renderer = Renderer::new(SeenSoFar {
        out: TerminalLook { colour: true },
        err: TerminalLook::PLAIN,
        one_screen: false,
    });
    let mut pieces = drawn_of(&mut renderer, Dialect::Desktop, &[token]);
    pieces.extend(renderer.close());
    assert_eq!(answer(&pieces), "a⟨U+202E⟩b ⟨U+202E⟩ x\n");
}
