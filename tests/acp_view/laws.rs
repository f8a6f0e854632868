//! Laws that hold whatever an agent says.

use breadboard_ls::testing::domain::dialect::Dialect;
use breadboard_ls::testing::domain::dialect::acp::decode::{AcpLine, read_line};
use breadboard_ls::testing::domain::event::LocalKind;
use breadboard_ls::testing::domain::view::{
    BlockBody, ToolBlockStatus, View, ViewLanes, ViewState, apply_changes, coalesce,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::story::Story;

#[derive(Debug, Clone)]
enum Step {
    Prompt,
    Update(Value),
    Line(String),
    Permission(Value),
    Settle(Option<&'static str>),
    End(Value),
    Terminal(Value),
    Exit,
    Outside,
}

fn step() -> impl Strategy<Value = Step> {
    let id =
        || prop_oneof![Just(Value::Null), (0..3_u8).prop_map(|id| json!(format!("i{id}"))), Just(json!(7))];
    let content = prop_oneof![
        4 => "[a-c\n]{0,3}".prop_map(|text| json!({"type": "text", "text": text})),
        1 => Just(json!({"type": "hologram", "x": [1]})),
        1 => Just(json!("bare")),
        1 => Just(Value::Null),
    ];
    let word = prop_oneof![
        4 => Just("agent_message_chunk"), 2 => Just("agent_thought_chunk"), 1 => Just("user_message_chunk")];
    let status = prop_oneof![
        Just(Value::Null),
        Just(json!("pending")),
        Just(json!("in_progress")),
        Just(json!("completed")),
        Just(json!("failed")),
        Just(json!("paused")),
        Just(json!(1))
    ];
    let shown = prop_oneof![
        Just(Value::Null),
        Just(json!([])),
        Just(json!([{"type": "content", "content": {"type": "text", "text": "out"}}])),
        Just(
            json!([{"type": "diff", "path": "p", "oldText": null, "newText": "x\n"}, {"type": "terminal", "terminalId": "t"}])
        ),
        Just(json!({"no": "list"})),
    ];
    let call = (id(), status, shown, 0..4_u8).prop_map(|(id, status, content, more)| {
        let mut call = json!({"toolCallId": id, "status": status, "content": content});
        match more {
            0 => call["rawOutput"] = json!({"metadata": {"exit": 1}}),
            1 => call["rawInput"] = json!({"todos": [{"content": "a", "status": "pending"}]}),
            2 => call["title"] = json!("a title"),
            _ => call["_meta"] = json!({"terminal_output_delta": "d"}),
        }
        call
    });
    let with_word = |word: &'static str| {
        move |mut call: Value| {
            call["sessionUpdate"] = json!(word);
            Step::Update(call)
        }
    };
    prop_oneof![
        2 => Just(Step::Prompt),
        8 => (word, id(), content).prop_map(|(word, id, content)| Step::Update(
            json!({"sessionUpdate": word, "messageId": id, "content": content}))),
        3 => call.clone().prop_map(with_word("tool_call")),
        5 => call.clone().prop_map(with_word("tool_call_update")),
        2 => call.prop_map(Step::Permission),
        2 => prop_oneof![Just(None), Just(Some("once")), Just(Some("reject"))].prop_map(Step::Settle),
        1 => Just(Step::Update(json!({"sessionUpdate": "plan", "entries": [{"content": "a"}]}))),
        1 => Just(Step::Update(json!({"sessionUpdate": "plan_update", "plan": 7}))),
        1 => Just(Step::Update(json!({"sessionUpdate": "usage_update", "used": 1, "size": "x"}))),
        1 => Just(Step::Update(json!({"sessionUpdate": "never_heard"}))),
        1 => Just(Step::Update(json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"}))),
        1 => Just(Step::Line("not json".to_owned())),
        1 => Just(Step::Line(r#"{"jsonrpc":"2.0","id":"x","method":"fs/read_text_file","params":[1]}"#.to_owned())),
        2 => prop_oneof![Just(json!({"stopReason": "end_turn"})), Just(json!({"stopReason": "cancelled"})), Just(json!([]))]
            .prop_map(Step::End),
        2 => (any::<bool>(), "[a-c\n]{0,3}", any::<bool>()).prop_map(|(began, text, ended)| Step::Terminal(
            json!({"terminalId": "t", "began": began, "text": text, "ended": ended, "exitCode": 1}))),
        1 => Just(Step::Exit),
        1 => Just(Step::Outside),
    ]
}

fn told(steps: &[Step]) -> Story {
    let mut story = Story::new();
    let mut asked: Vec<u64> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Prompt => story.prompt("go"),
            Step::Update(update) => story.update(update.clone()),
            Step::Line(line) => story.says(line),
            Step::Permission(call) => {
                asked.push(at as u64);
                story.permission(at as u64, call.clone());
            }
            Step::Settle(option) => {
                if let Some(id) = asked.pop() {
                    story.answers(&id.to_string(), *option);
                }
            }
            Step::End(result) if story.turn.is_some() => story.ends(result.clone()),
            Step::Terminal(news) => story.local(LocalKind::Terminal, news.clone()),
            Step::Exit => story.exits(1),
            Step::Outside => story.turn = None,
            Step::End(_) => {}
        }
    }
    story
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_line_is_exactly_one_message_and_loses_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let bytes: Vec<u8> = bytes.into_iter().filter(|byte| *byte != b'\n').collect();
        if let AcpLine::Unreadable { raw } = read_line(&bytes).line {
            prop_assert_eq!(raw, String::from_utf8_lossy(bytes.trim_ascii()));
        }
    }

    #[test]
    fn a_message_cut_or_changed_anywhere_never_breaks_the_reader(
        cut in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let line = br#"{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t\u00e9"},"options":[]}}"#;
        let at = cut.index(line.len());
        let mut changed = line.to_vec();
        changed[at] = byte;
        for bytes in [&line[..at], &line[at..], changed.as_slice()] {
            let mut story = Story::new();
            read_line(bytes);
            story.says(&String::from_utf8_lossy(bytes));
        }
        let whole = matches!(read_line(line).line, AcpLine::Request { .. });
        prop_assert!(whole);
    }

    #[test]
    fn live_replayed_and_coalesced_views_are_the_same(
        steps in proptest::collection::vec(step(), 1..60),
        cut in any::<prop::sample::Index>(),
        size in 1..9_usize,
    ) {
        let story = told(&steps);
        let empty = || View { epoch: "e".into(), seq: 0, lanes: ViewLanes::default() };
        if story.events.is_empty() {
            return Ok(());
        }
        let cut = cut.index(story.events.len());
        let mut replayed = ViewState::default().speaking(Dialect::Acp);
        let mut view = empty();
        for (at, event) in story.events.iter().enumerate() {
            if at == cut {
                replayed = serde_json::from_slice::<ViewState>(&serde_json::to_vec(&replayed).unwrap())
                    .unwrap()
                    .speaking(Dialect::Acp);
            }
            apply_changes(&mut view, &replayed.apply(event));
        }
        prop_assert_eq!(&view.lanes, &story.view.lanes);
        let mut batched = ViewState::default().speaking(Dialect::Acp);
        let mut view = empty();
        for batch in story.events.chunks(size) {
            let changes = batch.iter().flat_map(|event| batched.apply(event)).collect();
            apply_changes(&mut view, &coalesce(changes));
        }
        prop_assert_eq!(&view.lanes, &story.view.lanes);
    }

    #[test]
    fn after_the_end_of_a_turn_nothing_streams_and_no_tool_runs(steps in proptest::collection::vec(step(), 0..60)) {
        let mut story = told(&steps);
        story.prompt("last");
        story.ends(json!({"stopReason": "end_turn"}));
        for block in story.chat() {
            let open = match &block.body {
                BlockBody::Assistant { streaming, .. } | BlockBody::Reasoning { streaming, .. } => *streaming,
                BlockBody::Tool { status, .. } => *status == ToolBlockStatus::Running,
                _ => false,
            };
            prop_assert!(!open, "still open: {:?}", block);
        }
        let mut ids: Vec<_> = story.chat().iter().map(|block| &block.id).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), story.chat().len());
    }
}

#[test]
fn the_state_stays_small_however_long_a_session_of_an_agent_is() {
    let filler = "x".repeat(2_000);
    let mut story = Story::new();
    let mut state = ViewState::default().speaking(Dialect::Acp);
    let mut largest = 0;
    for at in 0..4_000 {
        let id = format!("{filler}{at}");
        match at % 8 {
            0 if at % 800 == 0 => story.prompt(&filler),
            0 => story.update(json!({"sessionUpdate": "plan_update", "plan": {"planId": id, "entries": [{"content": filler}]}})),
            1 => story.update(json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": filler, "rawInput": {"a": filler},
                "content": [{"type": "content", "content": {"type": "text", "text": filler.repeat(9)}}]})),
            2 => story.permission(at, json!({"toolCallId": id, "rawInput": {"command": filler.repeat(9)}})),
            3 => story.chunk("agent_thought_chunk", Some(&id), &filler),
            4 => story.update(json!({"sessionUpdate": "compaction_update", "compactionId": id})),
            _ => story.chunk("agent_message_chunk", Some(&format!("m{}", at / 500)), &filler.repeat(8)),
        }
    }
    for (at, event) in story.events.iter().enumerate() {
        state.apply(event);
        if at % 500 == 0 {
            largest = largest.max(serde_json::to_vec(&state).unwrap().len());
        }
    }
    // One answer of 512 KiB, 128 calls of about 7 KiB, 64 asks of at most 16 KiB, 64 names of texts.
    assert!(largest < 5 << 19, "{largest} bytes");
}
