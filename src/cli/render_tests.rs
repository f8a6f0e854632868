//! What is shown for events and asks, whole.

use super::*;
use crate::domain::approval::{PermissionOption, PermissionRule, RuleScope};
use crate::domain::dialect::{Dialect, fact};
use crate::domain::event::SessionEvent;
use serde_json::json;

fn event(class: &str, kind: &str, payload: Value) -> SessionEvent {
    SessionEvent {
        id: String::new(),
        kind: kind.to_owned(),
        turn: None,
        ts: None,
        payload: payload.as_object().cloned().expect("payload is an object").into(),
        seq: 1,
        class: serde_json::from_value(json!(class)).expect("is a class"),
        pane: std::borrow::Cow::Borrowed(&[]),
        origin: Origin::Engine,
        repaired: false,
        permission: None,
    }
}

fn draw(renderer: &mut Renderer, event: &SessionEvent) -> Vec<Piece> {
    renderer.draw(event.origin, &fact(Dialect::Desktop, event))
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
            json!({"message": "It is in a.rs:3", "metadata": {"success": true}}),
        ),
    ]
}

fn drawn(seen: Seen) -> Vec<Piece> {
    let mut renderer = Renderer::new(seen);
    let mut pieces: Vec<Piece> = session().iter().flat_map(|event| draw(&mut renderer, event)).collect();
    pieces.extend(renderer.close());
    pieces
}

const PIPED: Seen = Seen { out: Look::PLAIN, err: Look::PLAIN, one_screen: false };

#[test]
fn a_session_drawn_plain_keeps_answer_and_notes_apart() {
    let pieces = drawn(PIPED);
    let answer: String = pieces
        .iter()
        .filter_map(|piece| if let Piece::Answer(text) = piece { Some(text.as_str()) } else { None })
        .collect();
    assert_eq!(answer, "It is in a.rs:3⟨U+001B⟩[31m\n-a\n+b\n");
    let notes: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| if let Piece::Note(text) = piece { Some(text.as_str()) } else { None })
        .collect();
    assert_eq!(
        notes,
        [
            "· search_text \"foo\" → 2 results",
            "· read_file \"b⟨U+001B⟩.rs\" → 3 lines",
            "✗ read_file \"c.rs\" failed: no such file",
            "Proposed change of a.rs: better",
            "error: The model failed.",
            "also read: b⟨U+001B⟩.rs",
        ]
    );
    let progress: Vec<&Piece> = pieces.iter().filter(|piece| matches!(piece, Piece::Progress(_))).collect();
    assert_eq!(
        progress,
        [&Piece::Progress("Reading⟨U+001B⟩[2J".into()), &Piece::Progress("search_text \"foo\"".into())]
    );
}

#[test]
fn on_one_screen_a_note_never_lands_inside_a_line_of_the_answer() {
    let pieces = drawn(Seen { one_screen: true, ..PIPED });
    let at = pieces.iter().position(|piece| *piece == Piece::Note("Proposed change of a.rs: better".into()));
    let before = at.and_then(|at| pieces.get(at - 1));
    assert_eq!(before, Some(&Piece::Answer("\n".into())));
}

#[test]
fn an_engine_that_does_not_stream_is_heard_at_its_end() {
    let mut renderer = Renderer::new(PIPED);
    let last =
        event("run.finished", "assistant.message_final", json!({"message": "All of it.", "metadata": {}}));
    assert_eq!(draw(&mut renderer, &last), [Piece::Answer("All of it.".into())]);
    assert_eq!(renderer.close(), [Piece::Answer("\n".into())]);
}

fn permission(title: &str) -> Permission {
    let option = |id: &str, kind| PermissionOption { option_id: id.into(), label: id.into(), kind };
    Permission {
        request_id: "r".into(),
        digest: "d".into(),
        title: title.into(),
        options: vec![
            option("allow_once", PermissionOptionKind::AllowOnce),
            option("allow_rule", PermissionOptionKind::AllowRule),
            option("deny", PermissionOptionKind::Deny),
        ],
        rule: Some(PermissionRule { pattern: "run: ls".into(), scope: RuleScope::Session }),
        input: None,
        expires_at: None,
    }
}

#[test]
fn a_permission_shows_the_command_whole_and_no_line_of_it_passes_for_ours() {
    let mut renderer = Renderer::new(PIPED);
    let asked = json!({"command": "ls\nwhy: harmless\x1b[8m", "working_directory": ".", "reason": "to see"});
    let asked = event("permission.request", "command.request_approval", asked);
    let Fact::Ask(asked) = fact(Dialect::Desktop, &asked) else { panic!("no ask: {asked:?}") };
    let pieces = renderer.permission(&permission("ls"), &asked);
    let wanted = "Permission needed: ls\n  why: to see\n  command: ls⏎why: harmless⟨U+001B⟩[8m\n  in: .\n  \
                  a rule would cover: run: ls";
    assert_eq!(pieces, [Piece::Note(wanted.into())]);
}

#[test]
fn a_diff_is_repeated_at_the_ask_unless_the_very_same_is_on_the_screen() {
    let shows = |one_screen: bool, asked: &str| {
        let mut renderer = Renderer::new(Seen { one_screen, ..PIPED });
        let patch = event("patch.proposed", "patch.proposed", json!({"file_path": "a", "diff": "+b\n"}));
        draw(&mut renderer, &patch);
        let payload = json!({"args": {"file_path": "a", "diff": asked}});
        let event = event("permission.request", "tool.request_approval", payload);
        let Fact::Ask(details) = fact(Dialect::Desktop, &event) else { panic!("no ask: {event:?}") };
        match renderer.permission(&permission("Write a"), &details).last() {
            Some(Piece::Note(text)) => text.contains(asked.trim_end()),
            other => panic!("not a note: {other:?}"),
        }
    };
    assert!(!shows(true, "+b\n"));
    assert!(shows(true, "+other\n"));
    assert!(shows(false, "+b\n"));
}
