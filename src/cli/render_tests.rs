//! What is shown for events and asks, whole.

use super::*;
use crate::domain::approval::{
    AskRoot, OfferedRule, PermissionAsk, PermissionOption, RuleHolder, RuleScope, Subject,
};
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

fn permission(title: &str, action: Action) -> Permission {
    let rule = OfferedRule {
        pattern: "run: ls".into(),
        scope: Some(RuleScope::Session),
        holder: RuleHolder::Server,
    };
    let ask = PermissionAsk {
        engine_request_id: String::new(),
        title: title.into(),
        options: vec![
            PermissionOption::plain("allow_once", "allow_once", PermissionOptionKind::AllowOnce),
            PermissionOption::ruling("allow_rule", "allow_rule", rule),
            PermissionOption::plain("deny", "deny", PermissionOptionKind::Deny),
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
                  with: A=b\n        c\n  a rule would cover: run: ls";
    assert_eq!(pieces, [Piece::Note(wanted.into())]);
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
    assert_eq!(renderer.permission(&asked), [Piece::Note(wanted.into())]);
}

#[test]
fn a_diff_is_repeated_at_the_ask_unless_the_very_same_is_on_the_screen() {
    let shows = |one_screen: bool, new: &str| {
        let mut renderer = Renderer::new(Seen { one_screen, ..PIPED });
        let diff = "--- a/a\n+++ b/a\n@@ -0,0 +1,1 @@\n+b\n";
        let patch = event("patch.proposed", "patch.proposed", json!({"file_path": "a", "diff": diff}));
        draw(&mut renderer, &patch);
        let files = vec![FileChange::of_texts("a", None, new)];
        match renderer.permission(&permission("Write a", Action::Edit { files })).last() {
            Some(Piece::Note(text)) => text.contains(&format!("+{}", new.trim_end())),
            other => panic!("not a note: {other:?}"),
        }
    };
    assert!(!shows(true, "b\n"));
    assert!(shows(true, "other\n"));
    assert!(shows(false, "b\n"));
}
