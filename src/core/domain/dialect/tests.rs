//! What the events of every dialect say, where the answer is one for all of them.

use serde_json::{Value, json};

use super::*;
use crate::domain::event::LocalKind;
use crate::domain::fact::{
    Answered, Confirmed, Notice, NoticeLevel, Prompt, Text, TextOf, TextPart, TurnReport, Voice,
};

fn event(dialect: Dialect, kind: &str, payload: &Value) -> NormalizedEvent {
    let payload = serde_json::from_value(payload.clone()).unwrap();
    if let Some(local) = LocalKind::of(kind) {
        return NormalizedEvent {
            payload,
            ..NormalizedEvent::local(local, Some(1), 0, serde_json::Map::new())
        };
    }
    let raw = EngineEvent {
        id: String::new(),
        kind: kind.to_owned(),
        turn: None,
        ts: None,
        payload,
        repaired: false,
    };
    normalize(dialect, raw).event
}

#[test]
fn r003_60_a_gap_says_that_events_are_missing_only_where_that_is_known() {
    for (payload, text) in [
        (
            json!({"from": 3, "to": 9, "reason": "it forgot them"}),
            "Some events are missing here. It forgot them.",
        ),
        (
            json!({"from": 3, "reason": "it has no history"}),
            "Some events may be missing here. It has no history.",
        ),
        (json!({"from": 3}), "Some events may be missing here."),
        // What was lost has no numbers of an engine.
        (json!({"reason": "the file was damaged"}), "Some events are missing here. The file was damaged."),
    ] {
        let said = event(Dialect::Breadboard, "local.gap", &payload);
        assert_eq!(
            fact(Dialect::Breadboard, &said),
            Fact::Gap(Notice::new(NoticeLevel::Error, text)),
            "{payload}"
        );
    }
}

#[test]
fn every_engine_has_one_word_for_why_a_turn_ended() {
    use Dialect::{Acp, Breadboard, Desktop};
    for (dialect, kind, payload, word) in [
        (Acp, "session/prompt", json!({"stopReason": "max_tokens"}), "max_tokens"),
        (Acp, "session/prompt", json!({"error": {"code": -32603, "message": "m"}}), "failed"),
        (
            Desktop,
            "assistant.message_final",
            json!({"message": "", "metadata": {"success": true, "cancelled": false}}),
            "end_turn",
        ),
        (
            Desktop,
            "assistant.message_final",
            json!({"message": "", "metadata": {"success": false, "cancelled": true}}),
            "cancelled",
        ),
        (
            Desktop,
            "assistant.message_final",
            json!({"message": "", "metadata": {"success": false}}),
            "failed",
        ),
        (Breadboard, "turn_cancelled", json!({}), "cancelled"),
        (Breadboard, "turn.failed", json!({}), "failed"),
        (Breadboard, "turn_completed", json!({}), "end_turn"),
        (Breadboard, "run_finished", json!({"reason": "stopped_by_user"}), "cancelled"),
        (Breadboard, "run_finished", json!({"error": {"message": "m"}}), "failed"),
        (Breadboard, "run_finished", json!({}), "end_turn"),
        (Desktop, "local.turn_end", json!({"reason": "no_end"}), "end_turn"),
        (Acp, "local.turn_end", json!({"reason": "interrupted"}), "interrupted"),
    ] {
        let event = event(dialect, kind, &payload);
        let said = fact(dialect, &event);
        let said = if let Fact::TurnEnded(end) = said {
            end.reason.into_owned()
        } else if let Fact::TurnClosed(closed) = said {
            closed.reason.to_owned()
        } else {
            panic!("no end: {said:?}")
        };
        assert_eq!(said, word, "{kind} {payload}");
    }
}

#[test]
fn a_turn_that_was_cancelled_says_why_in_words_and_a_reason_without_words_as_it_is() {
    for (payload, words) in [
        (json!({"reason": "user_requested"}), "The turn was cancelled because a user stopped it."),
        (json!({"reason": "timeout"}), "The turn was cancelled because it took too long."),
        (json!({"reason": "superseded"}), "The turn was cancelled because another one took its place."),
        (json!({"reason": "low_tide"}), "The turn was cancelled: low_tide"),
        (
            json!({"message": "No more credit.", "reason": "timeout"}),
            "The turn was cancelled: No more credit.",
        ),
        (json!({}), "The turn was cancelled."),
    ] {
        let event = event(Dialect::Breadboard, "turn_cancelled", &payload);
        let Fact::TurnClosed(closed) = fact(Dialect::Breadboard, &event) else { panic!("no end: {payload}") };
        assert_eq!(closed.notice, Some(Notice::new(NoticeLevel::Info, words)), "{payload}");
    }
}

#[test]
fn a_piece_of_text_is_borrowed_from_its_event_whoever_speaks() {
    let cases = [
        (Dialect::Desktop, "assistant.token", json!({"token": "words"}), TextOf::Turn { phase: "" }),
        (
            Dialect::Breadboard,
            "assistant.message.delta",
            json!({"item_id": "i", "delta": "words"}),
            TextOf::Message { id: Some(Cow::Borrowed("i")), stream: "" },
        ),
        (
            Dialect::Acp,
            "agent_message_chunk",
            json!({"messageId": "i", "content": {"type": "text", "text": "words"}}),
            TextOf::Run(Some(Cow::Borrowed("i"))),
        ),
    ];
    for (dialect, kind, payload, of) in cases {
        let event = event(dialect, kind, &payload);
        let said = fact(dialect, &event);
        let part = TextPart::Piece(Cow::Borrowed("words"));
        assert_eq!(said, Fact::Text(Text { voice: Voice::Answer, of, part }), "{kind}");
        let Fact::Text(Text { part: TextPart::Piece(words), .. }) = said else { panic!("no piece") };
        assert!(matches!(words, Cow::Borrowed(_)), "{kind}: copied");
    }
}

#[test]
fn the_piece_of_every_spelling_can_be_read_and_changed_where_it_stands() {
    for (dialect, kind, payload, changed) in [
        (Dialect::Desktop, "assistant.message_delta", json!({"delta": "a"}), json!({"delta": "b"})),
        (Dialect::Desktop, "assistant.token", json!({"token": "a"}), json!({"token": "b"})),
        (Dialect::Breadboard, "assistant_message_delta", json!({"delta": "a"}), json!({"delta": "b"})),
        (
            Dialect::Breadboard,
            "tool.exec.stdout.delta",
            json!({"delta": {"text": "a"}}),
            json!({"delta": {"text": "b"}}),
        ),
        (Dialect::Breadboard, "assistant_delta", json!({"text": "a"}), json!({"text": "b"})),
        (
            Dialect::Acp,
            "agent_thought_chunk",
            json!({"content": {"type": "text", "text": "a"}}),
            json!({"content": {"type": "text", "text": "b"}}),
        ),
    ] {
        let mut piece = EngineEvent {
            id: String::new(),
            kind: kind.to_owned(),
            turn: None,
            ts: None,
            payload: serde_json::from_value(payload).unwrap(),
            repaired: false,
        };
        let slot = slot(dialect, kind).unwrap();
        assert_eq!(slot.read(&piece).as_deref(), Some("a"), "{kind}");
        slot.write(&mut piece, "b".to_owned());
        assert_eq!(Value::Object(piece.payload.into()), changed, "{kind}");
    }
    assert!(slot(Dialect::Acp, "assistant.token").is_none());
}

#[test]
fn r003_24_what_a_task_asks_and_is_answered_stands_in_its_news() {
    let asked = json!({"request_id": "r", "category": "shell", "metadata": {"command": "ls"}});
    let news = |payload: &Value| {
        let event = event(Dialect::Breadboard, "task_event", payload);
        let Fact::Task(news) = fact(Dialect::Breadboard, &event) else { panic!("no task: {event:?}") };
        (news.id.clone(), news.answered.clone())
    };
    let asks = json!({"kind": "permission_request", "task_id": "t", "payload": asked});
    assert_eq!(news(&asks), (Some("t".to_owned()), None));
    let answer = json!({"kind": "permission_response", "task_id": "t", "payload": {"request_id": "r", "response": "no"}});
    let confirmed =
        Confirmed { engine_request_id: "r".to_owned(), allowed: false, words: "no".to_owned(), client: None };
    assert_eq!(news(&answer), (Some("t".to_owned()), Some(confirmed)));
    assert_eq!(news(&json!({"kind": "news", "task_id": "t"})), (Some("t".to_owned()), None));
}

#[test]
fn what_the_server_makes_itself_says_the_same_in_every_session() {
    let payload = json!({"messageId": "m", "text": "t", "attachmentIds": ["f"]});
    let settled = json!({"requestId": "r", "status": "denied", "resolvedBy": "rule"});
    for dialect in [Dialect::Desktop, Dialect::Breadboard, Dialect::Acp] {
        let prompt = event(dialect, "local.prompt", &payload);
        let sent = Prompt::Sent {
            text: "t",
            message_id: Some("m"),
            attachment_ids: vec!["f".to_owned()],
            engine: None,
            model: None,
            folders: Vec::new(),
            has_context: false,
        };
        assert_eq!(fact(dialect, &prompt), Fact::Prompt(sent));
        let answered = event(dialect, "local.permission_settled", &settled);
        let status = crate::domain::approval::PermissionStatus::Denied;
        let expected =
            Answered::Settled { request_id: "r", status, by: Some("rule"), chosen: None, client: None };
        assert_eq!(fact(dialect, &answered), Fact::Answered(expected));
        assert_eq!(dialect.turn_numbers(Origin::Local), TurnNumbers::Turns);
    }
}

#[test]
fn the_reports_of_a_run_say_which_of_them_is_the_last() {
    let last = |kind: &str| {
        let event = event(Dialect::Breadboard, kind, &json!({"summary": {"completed": false}}));
        let Fact::TurnEnded(end) = fact(Dialect::Breadboard, &event) else { panic!("no end: {event:?}") };
        let TurnReport::Part(report) = end.report else { panic!("one of several: {kind}") };
        (report.last, report.completed)
    };
    assert_eq!(last("completion"), (false, Some(false)));
    assert_eq!(last("run.finished"), (true, Some(false)));
}
