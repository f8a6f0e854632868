//! What a link says when its stream has just been opened: backlog, verdict, loss.

use super::*;

#[tokio::test(start_paused = true)]
async fn fault_5_the_first_attach_asks_for_everything_there_is() {
    let engine = Scripted::new(vec![stream(vec![frames(1..=3)])]);
    assert_eq!(told(&engine, 0, 900).await, ["1", "2", "3", "replayed 3: 1..3"]);
    assert_eq!(engine.asked(), ["session", "start"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_session_that_is_silent_is_complete() {
    let engine = Scripted::new(vec![]);
    assert_eq!(told(&engine, 0, 249).await, Vec::<String>::new());
    assert_eq!(told(&engine, 0, 251).await, ["complete"]);
}

#[tokio::test(start_paused = true)]
async fn r000_53_r000_54_r003_56_r003_57_a_resume_goes_on_behind_the_last_event() {
    let engine =
        Scripted::new(vec![stream(vec![frames(5..=6), Wait(99), frames([7]), Wait(101), frames([8])])]);
    assert_eq!(told(&engine, 4, 900).await, ["5", "6", "7", "replayed 3: 5..7", "8"]);
    assert_eq!(engine.asked(), ["session", "after 4"]);
}

#[tokio::test(start_paused = true)]
async fn a_resume_at_the_head_is_complete() {
    let engine = Scripted::new(vec![stream(vec![Wait(5_000), frames([5])])]);
    assert_eq!(told(&engine, 4, 9_000).await, ["complete", "5"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_never_quiet_has_its_verdict_after_a_second() {
    let steps = (1..=40).flat_map(|seq| [frames([seq]), Wait(60)]).collect();
    let engine = Scripted::new(vec![stream(steps)]);
    let mut expected = heard(1..=17);
    expected.push("replayed 17: 1..17".to_owned());
    expected.extend(heard(18..=40));
    assert_eq!(told(&engine, 0, 5_000).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_half_event_is_no_quiet_moment() {
    let text = frame(1);
    let (head, rest) = text.split_at(30);
    let engine = Scripted::new(vec![stream(vec![Say(head.to_owned()), Wait(600), Say(rest.to_owned())])]);
    assert_eq!(told(&engine, 0, 900).await, ["1", "replayed 1: 1..1"]);
}

#[tokio::test(start_paused = true)]
async fn fault_12_an_event_in_pieces_is_one_event() {
    let text = frame(1).replace('\n', "\r\n") + &frame(2);
    for at in 1..text.len() {
        let (head, rest) = text.split_at(at);
        let engine = Scripted::new(vec![stream(vec![Say(head.to_owned()), Wait(1), Say(rest.to_owned())])]);
        assert_eq!(told(&engine, 0, 400).await, ["1", "2", "replayed 2: 1..2"], "cut at {at}");
    }
}

#[tokio::test(start_paused = true)]
async fn r003_66_a_history_that_begins_late_is_told_before_it_begins() {
    let engine = Scripted::new(vec![stream(vec![frames(2006..=2007)]), stream(vec![frames(2006..=2007)])]);
    assert_eq!(
        told(&engine, 0, 900).await,
        [
            format!("gap 1..2005: {EVICTED}"),
            "2006".to_owned(),
            "2007".to_owned(),
            "waiting []".to_owned(),
            format!("lost 1..2005: {EVICTED}"),
        ]
    );
    assert_eq!(engine.opened(), ["start", "start"]);
}

#[tokio::test(start_paused = true)]
async fn fault_3_fault_4_a_false_409_is_a_resync_without_a_gap() {
    // The id before the oldest is not in the log, though nothing is missing.
    let engine =
        Scripted::new(vec![window_exceeded(), stream(vec![frames(5..=6)]), stream(vec![frames([7])])]);
    let mut bench = Bench::attached(&engine, 4);
    assert_eq!(bench.hear(900).await, ["5", "6", "resynced 5..6"]);
    assert_eq!(engine.opened(), ["after 4", "start"]);
}

#[tokio::test(start_paused = true)]
async fn fault_4_events_that_the_history_repeats_are_not_said_twice() {
    let engine = Scripted::new(vec![window_exceeded(), stream(vec![frames(1..=6)])]);
    assert_eq!(told(&engine, 4, 900).await, ["5", "6", "resynced 5..6"]);

    let engine = Scripted::new(vec![window_exceeded(), stream(vec![frames(1..=4)])]);
    assert_eq!(told(&engine, 4, 900).await, ["complete"]);
}

#[tokio::test(start_paused = true)]
async fn fault_3_r000_55_r003_58_r003_66_a_gap_is_told_once_and_the_stream_goes_on() {
    let history = || stream(vec![frames(10..=11), Wait(2_000), frames([12]), Wait(1_000), End]);
    let engine = Scripted::new(vec![
        window_exceeded(),
        history(),
        window_exceeded(),
        history(),
        stream(vec![frames([13])]),
    ]);
    let mut bench = Bench::attached(&engine, 4);
    assert_eq!(
        bench.hear(8_000).await,
        [
            format!("gap 5..9: {EVICTED}"),
            "10".to_owned(),
            "11".to_owned(),
            "waiting []".to_owned(),
            format!("lost 5..9: {EVICTED}"),
            "12".to_owned(),
            format!("connecting 0: {ENDED_BY_ENGINE}"),
            "13".to_owned(),
            "replayed 1: 13..13".to_owned(),
        ]
    );
    assert_eq!(engine.opened(), ["after 4", "start", "after 4", "start", "after 12"]);
}

#[tokio::test(start_paused = true)]
async fn after_a_loss_the_session_says_what_still_stands() {
    let asks = json!([
        { "source": "session", "request_id": "permission_1", "request": { "request_id": "permission_1" } },
        { "source": "session", "request_id": "permission_2", "request": { "request_id": "permission_2" } },
    ]);
    let todo = json!({ "call_id": "todo:7", "todo": { "op": "snapshot", "items": [] } });
    let summary = json!({
        "status": "running", "metadata": { "pending_permissions": asks, "todo_last_update": todo },
    });
    let ask = typed(10, "permission_request", &json!({ "request_id": "permission_2" }));
    let history = || stream(vec![Say(ask.clone())]);
    let engine = Scripted::standing(vec![Standing::Is(summary)], vec![history(), history()]);
    assert_eq!(
        told(&engine, 0, 900).await,
        [
            &format!("gap 1..9: {EVICTED}"),
            "10 permission_request",
            "waiting [\"permission_1\", \"permission_2\"]",
            "- permission_request",
            "- tool_result",
            &format!("lost 1..9: {EVICTED}"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_history_that_ends_below_our_place_is_another_one() {
    let engine = Scripted::new(vec![
        window_exceeded(),
        stream(vec![frames(1..=3)]),
        stream(vec![frames(1..=3), Wait(1_000), frames([4])]),
    ]);
    let anew =
        "the engine counts the events of this session anew, so that what it said in between cannot be known";
    assert_eq!(
        told(&engine, 40, 9_000).await,
        [
            format!("connecting 0: {}", report_sender::SLOW),
            format!("gap 41..: {anew}"),
            "1".to_owned(),
            "2".to_owned(),
            "3".to_owned(),
            "waiting []".to_owned(),
            format!("lost 41..: {anew}"),
            "4".to_owned(),
        ]
    );
    assert_eq!(engine.opened(), ["after 40", "start", "start"]);
}

#[tokio::test(start_paused = true)]
async fn a_place_that_cannot_be_compared_is_lost_and_what_comes_is_taken() {
    let engine = Scripted::new(vec![window_exceeded(), stream(vec![Wait(5_000), frames([50])])]);
    let unknown = "the engine no longer knows our place and has no history to compare it with";
    assert_eq!(
        told(&engine, 40, 9_000).await,
        [
            format!("connecting 0: {}", report_sender::SLOW),
            format!("gap 41..: {unknown}"),
            "waiting []".to_owned(),
            format!("lost 41..: {unknown}"),
            format!("gap 41..49: {EVICTED}"),
            "50".to_owned(),
            "waiting []".to_owned(),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_place_that_cannot_be_compared_is_told_once() {
    let empty = || [window_exceeded(), stream(vec![])];
    let engine = Scripted::new((0..10).flat_map(|_| empty()).collect());
    let told = told(&engine, 40, 400_000).await;
    assert_eq!(told.iter().filter(|news| news.starts_with("gap")).count(), 1, "{told:?}");
    assert_eq!(told.iter().filter(|news| news.starts_with("lost")).count(), 1, "{told:?}");
    assert!(engine.opened().len() > 4);
}

#[tokio::test(start_paused = true)]
async fn a_newer_engine_says_where_its_history_begins() {
    let refuse = |first| Opening::Refuse(EngineError::WindowExceeded(ErrorWindow { first, last: Some(12) }));
    let engine = Scripted::new(vec![
        refuse(Some(10)),
        refuse(Some(10)),
        refuse(Some(10)),
        stream(vec![frames(11..=12)]),
    ]);
    assert_eq!(
        told(&engine, 4, 900).await,
        [
            format!("gap 5..10: {EVICTED}"),
            "11".to_owned(),
            "12".to_owned(),
            "waiting []".to_owned(),
            format!("lost 5..10: {EVICTED}"),
        ]
    );
    assert_eq!(engine.opened(), ["after 4", "start", "after 9", "after 10"]);
}

#[tokio::test(start_paused = true)]
async fn r003_60_what_an_engine_says_it_has_no_more_is_lost_although_nothing_comes_behind_it() {
    let refuse = |first| Opening::Refuse(EngineError::WindowExceeded(ErrorWindow { first, last: Some(2) }));
    let open = || Say(loose("stream.open", &json!({ "headSequence": 2 })));
    let engine = Scripted::new(vec![
        refuse(Some(2)),
        refuse(Some(2)),
        stream(vec![open(), Wait(500), Break]),
        stream(vec![open(), Wait(500), frames([3])]),
    ]);
    let told = told(&engine, 0, 9_000).await;
    assert_eq!(
        told.iter().filter(|news| !news.starts_with("connecting")).collect::<Vec<_>>(),
        [
            &format!("gap 1..2: {EVICTED}"),
            "- stream.open",
            "waiting []",
            &format!("lost 1..2: {EVICTED}"),
            "- stream.open",
            "complete",
            "3",
        ]
    );
    assert_eq!(engine.opened(), ["start", "after 1", "after 2", "after 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_newer_engine_says_where_its_head_is() {
    let open = loose("stream.open", &json!({ "headSequence": 6 }));
    let engine = Scripted::new(vec![stream(vec![Say(open), frames([5]), Wait(300), frames([6])])]);
    let mut bench = Bench::attached(&engine, 4);
    assert_eq!(bench.hear(299).await, ["- stream.open", "5"]);
    assert_eq!(bench.hear(2).await, ["6", "replayed 2: 5..6"]);
}

#[tokio::test(start_paused = true)]
async fn fault_4_the_snapshot_at_a_connect_is_passed_on_and_is_no_place() {
    let snapshot = "id: 6f1c0f5e-0000-4000-8000-000000000000\ndata: {\"seq\":null,\"type\":\"tool_result\",\
                    \"session_id\":\"s\",\"payload\":{}}\n\n";
    let engine =
        Scripted::new(vec![stream(vec![Say(snapshot.to_owned()), Wait(500), Break]), stream(vec![])]);
    assert_eq!(
        told(&engine, 4, 2_000).await,
        [
            "- tool_result".to_owned(),
            "complete".to_owned(),
            format!("connecting 0: {BROKEN}"),
            "complete".to_owned()
        ]
    );
    assert_eq!(engine.opened(), ["after 4", "after 4"]);
}

#[tokio::test(start_paused = true)]
async fn r000_52_what_cannot_be_read_is_passed_on_and_has_the_number_of_its_frame() {
    let engine =
        Scripted::new(vec![stream(vec![frames([1]), Say("id: 2\ndata: {\"seq\":\n\n".into()), frames([3])])]);
    assert_eq!(told(&engine, 0, 900).await, ["1", "2 unknown", "3", "replayed 3: 1..3"]);
}
