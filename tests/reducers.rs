//! The laws of the view: each fixture is a sentence, and random sessions keep the laws that no fixture can show.
//!
//! `BREADBOARD_UPDATE=1` rewrites what the fixtures expect; read the difference before committing it.

use std::fs;
use std::path::{Path, PathBuf};

use breadboard_ls::testing::domain::approval::{AskRoot, Permission, PermissionAsk};
use breadboard_ls::testing::domain::dialect::{Dialect, normalize};
use breadboard_ls::testing::domain::event::{EngineEvent, LocalKind, NormalizedEvent, Origin, SessionEvent};
use breadboard_ls::testing::domain::view::{
    Block, BlockBody, Change, DirtyBlocks, Lane, ToolBlockStatus, View, ViewLanes, ViewState, apply_changes,
    coalesce,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

#[derive(Serialize, Deserialize)]
struct ReducerFixture {
    description: String,
    #[serde(default, skip_serializing_if = "Spoken::is_desktop")]
    dialect: Spoken,
    events: Vec<SessionEvent>,
    expected: Option<ViewLanes>,
}

/// Whose table gave the events of a fixture their classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Spoken {
    #[default]
    Desktop,
    Breadboard,
    Acp,
}

impl Spoken {
    fn is_desktop(&self) -> bool {
        *self == Self::Desktop
    }

    fn dialect(self) -> Dialect {
        match self {
            Self::Desktop => Dialect::Desktop,
            Self::Breadboard => Dialect::Breadboard,
            Self::Acp => Dialect::Acp,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct ClientFixture {
    description: String,
    snapshot: View,
    changes: Vec<Change>,
    expected: Option<View>,
}

fn fixtures(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn updating() -> bool {
    std::env::var_os("BREADBOARD_UPDATE").is_some()
}

fn write(path: &Path, fixture: &impl Serialize) {
    let mut text = serde_json::to_string_pretty(fixture).unwrap();
    text.push('\n');
    fs::write(path, text).unwrap();
}

fn empty_view() -> View {
    View { epoch: "e".into(), seq: 0, lanes: ViewLanes::default() }
}

/// The dialect of a session of these steps.
fn spoken(steps: &[Step]) -> Dialect {
    steps.first().map_or(Dialect::Desktop, |step| step.dialect.dialect())
}

fn reduced_as(dialect: Dialect, events: &[SessionEvent]) -> ViewLanes {
    let mut state = ViewState::default().speaking(dialect);
    let mut view = empty_view();
    for event in events {
        apply_changes(&mut view, &state.apply(event));
    }
    view.lanes
}

#[test]
fn r003_65_every_reducer_fixture_gives_the_view_it_expects() {
    let files = fixtures("reducers");
    assert!(files.len() >= 12, "the laws are gone: only {} fixtures", files.len());
    for path in files {
        check(&path);
    }
}

/// The laws that have a requirement number, each under its own name too.
macro_rules! laws {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            // One test writes, so that no two write one file.
            if !updating() {
                let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reducers");
                check(&folder.join(concat!(stringify!($name), ".json")));
            }
        }
    )*};
}

laws! {
    r003_31_32_a_run_ends_with_one_line_in_the_chat_however_often_it_is_told
    r003_35_a_turn_begins_with_who_answers_and_ends_with_how_it_went
    r003_39_a_tool_call_opens_a_block_and_its_result_closes_the_same_one
    r003_42_an_ask_is_pending_until_it_is_settled_once
    r003_44_an_error_and_a_gap_stand_in_chat_and_in_run
    r003_24_a_task_that_asks_has_its_card_in_the_chat
    r003_29_counts_stand_in_one_notice_a_kind_and_run
    r003_45_tasks_stand_in_a_tree_under_the_parents_they_name
    r003_46_a_task_with_an_unknown_parent_stands_in_the_group_of_orphans
    r003_48_an_orphan_moves_when_its_parent_comes_and_the_empty_group_goes
    r003_47_the_precedence_decides_where_there_is_no_order
    r003_49_checkpoints_say_how_they_stand
    r003_49_checkpoints_stand_by_their_number_and_a_number_may_come_again
    r003_50_a_log_link_is_one_row_and_never_a_false_url
    r003_51_a_run_has_one_summary_however_often_it_ends
    r003_58_r003_59_r003_60_a_gap_and_an_error_stand_in_chat_and_run
    r003_63_nodes_of_the_tree_and_unknown_events_leave_the_chat_alone
}

fn check(path: &Path) {
    let mut fixture: ReducerFixture = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let dialect = fixture.dialect.dialect();
    for event in fixture.events.iter().filter(|event| event.origin == Origin::Engine) {
        let again = normalize(
            dialect,
            EngineEvent {
                // An agent's ask says here how it is answered, and loses that on the way.
                id: match event.permission {
                    Some(_) if dialect == Dialect::Acp => "1:0".to_owned(),
                    _ => event.id.clone(),
                },
                kind: event.kind.clone(),
                turn: event.turn,
                ts: event.ts,
                payload: event.payload.clone(),
                repaired: event.repaired,
            },
        );
        assert_eq!(
            (again.event.class, again.event.pane, again.ask.is_some()),
            (event.class, event.pane.clone(), event.permission.is_some()),
            "{}: event {} is not what the table makes of it",
            path.display(),
            event.seq
        );
    }
    let lanes = reduced_as(dialect, &fixture.events);
    if updating() {
        fixture.expected = Some(lanes);
        write(path, &fixture);
    } else {
        let expected = fixture.expected.as_ref().expect("fixture without `expected`");
        assert_eq!(
            serde_json::to_string_pretty(&lanes).unwrap(),
            serde_json::to_string_pretty(expected).unwrap(),
            "{}: {}",
            path.display(),
            fixture.description
        );
    }
}

#[test]
fn every_client_fixture_gives_the_view_it_expects() {
    let files = fixtures("client");
    assert!(files.len() >= 5, "the laws are gone: only {} fixtures", files.len());
    for path in files {
        let mut fixture: ClientFixture = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let mut view = fixture.snapshot.clone();
        apply_changes(&mut view, &fixture.changes);
        if updating() {
            fixture.expected = Some(view);
            write(&path, &fixture);
        } else {
            assert_eq!(Some(&view), fixture.expected.as_ref(), "{}: {}", path.display(), fixture.description);
        }
    }
}

// ---------------------------------------------------------------- random sessions

#[derive(Debug, Clone)]
struct Step {
    dialect: Spoken,
    kind: &'static str,
    payload: Value,
    turn: Option<u64>,
}

fn step() -> impl Strategy<Value = Step> {
    let word = "[a-zé\n]{0,6}";
    let id = 0..4_u8;
    let message = prop_oneof![
        8 => word.prop_map(|token| ("assistant.token", json!({ "token": token }))),
        3 => (prop_oneof![Just("planning"), Just("executing")], word)
            .prop_map(|(phase, message)| ("assistant.thinking", json!({ "phase": phase, "message": message }))),
        3 => id.clone().prop_map(|call| ("tool.execute", json!({ "call_id": format!("c{call}"), "tool_name": "read", "args": { "path": "x" }, "status": "started" }))),
        3 => (id.clone(), any::<bool>()).prop_map(|(call, failed)| ("tool.execute", json!({
            "call_id": format!("c{call}"), "tool_name": "read", "args": {},
            "status": if failed { "failed" } else { "completed" }, "result": { "content": "text" } }))),
        1 => Just(("tool.execute", json!({ "tool_name": "read", "status": "completed", "result": "r" }))),
        1 => Just(("agent.plan", json!({ "steps": [{ "description": "d", "files_involved": ["f"] }] }))),
        1 => Just(("agent.retrieve.status", json!({ "stage": "text_search", "message": "m" }))),
        1 => id.clone().prop_map(|patch| ("patch.proposed", json!({ "patch_id": format!("p{patch}"), "file_path": "f", "diff": "@@ -1 +1 @@\n-a\n+b\n" }))),
        2 => id.clone().prop_map(|ask| ("command.request_approval", json!({ "request_id": format!("r{ask}"), "command": "ls" }))),
        2 => id.prop_map(|ask| ("local.permission_settled", json!({ "requestId": format!("r{ask}"), "status": "allowed" }))),
        2 => word.prop_map(|message| ("assistant.message_final", json!({ "message": message, "metadata": { "success": true } }))),
        1 => Just(("server.error", json!({ "error": { "message": "no" } }))),
        1 => Just(("session.state", json!({ "state": {} }))),
        1 => Just(("strange", json!({ "x": [1, null] }))),
        2 => word.prop_map(|text| ("local.prompt", json!({ "messageId": "m", "text": text }))),
        1 => Just(("local.turn_end", json!({ "reason": "stop", "message": "Stopped." }))),
        1 => Just(("local.notice", json!({ "level": "info", "text": "n" }))),
        1 => Just(("local.gap", json!({ "reason": "why" }))),
        1 => Just(("local.command", json!({ "command": "set_model x", "status": "ok" }))),
        1 => Just(("local.earlier", json!({ "block": { "kind": "assistant", "text": "e", "streaming": false } }))),
        2 => (1..20_u64).prop_map(|turn| ("local.changes", json!({ "promptSeq": turn, "files": [], "text": "t" }))),
    ];
    (message, prop_oneof![Just(None), (1..3_u64).prop_map(Some)]).prop_map(|((kind, payload), turn)| Step {
        dialect: Spoken::Desktop,
        kind,
        payload,
        turn,
    })
}

/// What a BreadBoard engine says, in its order or in none: numbers and ids that repeat, results without calls, whole
/// messages without pieces, fields of another kind than they have.
fn breadboard_step() -> impl Strategy<Value = Step> {
    let word = "[a-c\n]{0,3}";
    let id = prop_oneof![Just(Value::Null), (0..3_u8).prop_map(|id| json!(format!("i{id}")))];
    let tool = prop_oneof![Just("read"), Just("shell")];
    let text = prop_oneof![
        6 => (id.clone(), word).prop_map(|(id, delta)| ("assistant.message.delta", json!({ "item_id": id, "delta": delta }))),
        1 => (id.clone(), word).prop_map(|(id, text)| ("assistant_delta", json!({ "message_id": id, "text": text }))),
        1 => id.clone().prop_map(|id| ("assistant.message.start", json!({ "item_id": id }))),
        1 => id.clone().prop_map(|id| ("assistant.message.end", json!({ "item_id": id }))),
        3 => (word, any::<bool>()).prop_map(|(text, again)| ("assistant_message", json!({
            "text": text, "source": if again { json!("fallback") } else { Value::Null } }))),
        2 => (id.clone(), word).prop_map(|(id, delta)| ("assistant.reasoning.delta", json!({ "item_id": id, "delta": delta }))),
        1 => word.prop_map(|delta| ("assistant.thought_summary.delta", json!({ "delta": { "text": delta } }))),
        1 => Just(("assistant.message.delta", json!({ "item_id": 7, "delta": [null, { "x": 1 }] }))),
    ];
    let tools = prop_oneof![
        3 => (id.clone(), tool.clone()).prop_map(|(call, name)| ("tool_call", json!({
            "call": { "id": call, "function": { "name": name, "arguments": "{\"path\":\"x\"}" } }, "call_id": call }))),
        3 => (id.clone(), tool.clone(), any::<bool>()).prop_map(|(call, name, ok)| ("tool_result", json!({
            "call_id": call, "tool": name, "success": ok, "metadata": { "exit_code": 0 }, "result": { "stdout": "out" } }))),
        3 => (id.clone(), tool).prop_map(|(call, name)| ("tool_result", json!({
            "call_id": call, "message": { "role": "tool", "name": name, "content": "text" }, "status": "ok" }))),
        1 => (0..3_u8, any::<bool>()).prop_map(|(step, at_connect)| ("tool_result", json!({
            "call_id": if at_connect { "todo:snapshot:connect:1" } else { "todo:1" },
            "todo": { "items": [{ "title": format!("s{step}"), "status": "todo" }] } }))),
        1 => id.clone().prop_map(|exec| ("tool.exec.start", json!({ "exec_id": exec, "command": "ls" }))),
        2 => (id.clone(), id.clone()).prop_map(|(exec, call)| ("tool.exec.stdout.delta", json!({ "exec_id": exec, "call_id": call, "delta": "o\n" }))),
        1 => (id.clone(), 0..2_u8).prop_map(|(exec, code)| ("tool.exec.end", json!({ "exec_id": exec, "exit_code": code }))),
        1 => Just(("tool_result", json!({ "result": null }))),
    ];
    let ask = json!({ "request_id": "permission_1", "tool": "shell", "category": "shell", "pattern": "ls *",
        "metadata": { "command": "ls" }, "items": [] });
    let nested = json!({ "kind": "permission_request", "task_id": "t", "payload": ask });
    let rest = prop_oneof![
        2 => word.prop_map(|text| ("local.prompt", json!({ "messageId": "m", "text": text }))),
        3 => word.prop_map(|text| ("user_message", json!({ "text": text }))),
        3 => Just(("turn_start", json!({}))),
        2 => Just(("permission_request", ask)),
        1 => Just(("task_event", nested)),
        1 => Just(("permission_response", json!({ "request_id": "permission_1", "requestId": "permission_1", "status": "denied" }))),
        1 => Just(("local.permission_settled", json!({ "requestId": "permission_1", "status": "allowed" }))),
        1 => Just(("completion", json!({ "summary": { "completed": true } }))),
        2 => Just(("run_finished", json!({ "completed": true }))),
        1 => Just(("turn_cancelled", json!({}))),
        1 => Just(("error", json!({ "message": "no" }))),
        1 => Just(("strange", json!({ "x": [1, null] }))),
        1 => Just(("local.turn_end", json!({ "reason": "stop", "message": "Stopped." }))),
    ];
    let turn = prop_oneof![Just(None), Just(Some(1)), Just(Some(8)), Just(Some(15))];
    (prop_oneof![4 => text, 4 => tools, 4 => rest, 4 => breadboard_lanes()], turn)
        .prop_map(|((kind, payload), turn)| Step { dialect: Spoken::Breadboard, kind, payload, turn })
}

/// What the BreadBoard engine says for the tasks, run and debug lanes.
fn breadboard_lanes() -> impl Strategy<Value = (&'static str, Value)> {
    let task = (
        0..6_u8,
        proptest::option::of(0..6_u8),
        prop_oneof![
            Just("subagent_spawned"),
            Just("subagent_completed"),
            Just("subagent_failed"),
            Just("news")
        ],
        prop_oneof![Just(None), Just(Some("queued")), Just(Some("running")), Just(Some("failed"))],
    )
        .prop_map(|(id, parent, kind, status)| {
            let mut said = json!({ "kind": kind, "task_id": format!("k{id}"), "status": status });
            if let Some(parent) = parent {
                said["parent_task_id"] = json!(format!("k{parent}"));
            }
            ("task_event", said)
        });
    let list = proptest::collection::vec(0..6_u8, 0..5).prop_map(|ids| {
        let listed: Vec<Value> = ids.iter().map(|id| json!({ "checkpoint_id": format!("c{id}") })).collect();
        ("checkpoint_list", json!({ "checkpoints": listed }))
    });
    prop_oneof![
        8 => task,
        2 => list,
        2 => (0..6_u8).prop_map(|id| ("checkpoint_restored", json!({ "checkpoint_id": format!("c{id}") }))),
        2 => any::<bool>().prop_map(|done| ("completion", json!({ "summary": { "completed": done } }))),
        2 => any::<bool>().prop_map(|done| ("run_finished", json!({ "completed": done, "steps": 3 }))),
        1 => Just(("log_link", json!({ "url": "file://logging/a" }))),
        1 => Just(("limits_update", json!({ "buckets": [{ "name": "requests", "remaining": 1 }] }))),
        2 => (0..9_u8).prop_map(|id| ("ctree_node", json!({ "node": { "id": id } }))),
        1 => Just(("conversation.compaction.start", json!({}))),
        1 => Just(("conversation.compaction.end", json!({}))),
        1 => Just(("task_event", json!({ "kind": "permission_request", "task_id": "k1", "payload": {
            "request_id": "r9", "category": "shell", "metadata": { "command": "ls" } } }))),
    ]
}

/// What one engine says in one session.
fn session(steps: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    prop_oneof![
        proptest::collection::vec(step(), steps.clone()),
        proptest::collection::vec(breadboard_step(), steps),
    ]
}

fn sequenced(steps: &[Step]) -> Vec<SessionEvent> {
    steps.iter().zip(1..).map(|(step, seq)| session_event(step, seq)).collect()
}

fn session_event(step: &Step, seq: u64) -> SessionEvent {
    let payload: Map<String, Value> = step.payload.as_object().cloned().unwrap();
    let local = [
        LocalKind::Prompt,
        LocalKind::PermissionSettled,
        LocalKind::TurnEnd,
        LocalKind::Notice,
        LocalKind::Gap,
        LocalKind::Command,
    ]
    .into_iter()
    .find(|kind| kind.as_str() == step.kind);
    if let Some(kind) = local {
        return NormalizedEvent::local(kind, step.turn, 0, payload).sequenced(seq);
    }
    let kind = step.kind.to_owned();
    let raw = EngineEvent {
        id: String::new(),
        kind,
        turn: step.turn,
        ts: Some(0),
        payload: payload.into(),
        repaired: false,
    };
    let normalized = normalize(step.dialect.dialect(), raw);
    let mut event = normalized.event;
    // A server gives fresh ids; these repeat, which the view must survive too.
    event.permission = normalized.ask.map(permission).map(Box::new);
    event.sequenced(seq)
}

fn permission(ask: PermissionAsk) -> Permission {
    Permission::of(&ask, ask.engine_request_id.clone(), &AskRoot::AtEngine, None).cut()
}

fn text_block(id: &str, text: &str) -> Block {
    let body = BlockBody::Reasoning { text: text.into(), streaming: true };
    Block { id: id.into(), turn: None, seq: 1, body }
}

fn change() -> impl Strategy<Value = Change> {
    let lane = prop_oneof![Just(Lane::Chat), Just(Lane::Run)];
    (lane, 0..4_u8, 0..6_u8, "[a-c]{1,2}", 0..4_u8).prop_map(|(lane, id, op, text, other)| {
        let behind = (other != id).then(|| format!("b{other}"));
        let id = format!("b{id}");
        match op {
            0 => Change::remove(lane, &id),
            1 | 2 => Change::put(lane, text_block(&id, &text)),
            3 => Change::put(lane, text_block(&id, &text)).behind(behind),
            _ => Change::append(lane, &id, text),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn r003_53_coalesced_changes_give_every_client_the_same_view(
        held in proptest::collection::vec(change(), 0..6),
        changes in proptest::collection::vec(change(), 0..24),
    ) {
        let mut plain = empty_view();
        apply_changes(&mut plain, &held);
        let mut merged = plain.clone();
        apply_changes(&mut plain, &changes);
        let fewer = coalesce(changes.clone());
        prop_assert!(fewer.len() <= changes.len());
        apply_changes(&mut merged, &fewer);
        prop_assert_eq!(plain, merged);
    }

    #[test]
    fn r003_61_62_a_replay_from_any_point_makes_the_same_state_and_the_same_changes(
        steps in session(1..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let events = sequenced(&steps);
        let cut = cut.index(events.len());
        let mut live = ViewState::default().speaking(spoken(&steps));
        let mut replayed = ViewState::default().speaking(spoken(&steps));
        for (at, event) in events.iter().enumerate() {
            if at == cut {
                replayed = serde_json::from_slice(&serde_json::to_vec(&replayed).unwrap()).unwrap();
            }
            let before = event.clone();
            prop_assert_eq!(live.apply(event), replayed.apply(event));
            prop_assert_eq!(&before, event);
        }
        prop_assert_eq!(serde_json::to_vec(&live).unwrap(), serde_json::to_vec(&replayed).unwrap());
    }

    #[test]
    fn a_session_in_batches_gives_the_view_of_the_session_in_single_events(
        steps in session(1..60),
        size in 1..9_usize,
    ) {
        let events = sequenced(&steps);
        let mut state = ViewState::default().speaking(spoken(&steps));
        let mut view = empty_view();
        for batch in events.chunks(size) {
            let changes = batch.iter().flat_map(|event| state.apply(event)).collect();
            apply_changes(&mut view, &coalesce(changes));
        }
        prop_assert_eq!(view.lanes, reduced_as(spoken(&steps), &events));
    }

    #[test]
    fn after_the_end_of_a_turn_nothing_streams_and_no_tool_runs(
        steps in session(0..60),
    ) {
        let mut events = sequenced(&steps);
        let end = Step { dialect: Spoken::Desktop, kind: "local.turn_end", payload: json!({ "reason": "r", "message": "m" }), turn: None };
        events.push(session_event(&end, events.len() as u64 + 1));
        for block in reduced_as(spoken(&steps), &events).chat.blocks {
            let open = match &block.body {
                BlockBody::Assistant { streaming, .. } | BlockBody::Reasoning { streaming, .. } => *streaming,
                BlockBody::Tool { status, .. } => *status == ToolBlockStatus::Running,
                _ => false,
            };
            prop_assert!(!open, "still open: {block:?}");
        }
    }

    /// Engines restart their numbers and ids; a block of the transcript is never overwritten by another one.
    #[test]
    fn a_block_of_the_transcript_keeps_its_id_for_ever(steps in proptest::collection::vec(breadboard_step(), 1..80)) {
        let mut state = ViewState::default().speaking(spoken(&steps));
        let mut made = std::collections::HashMap::new();
        for event in sequenced(&steps) {
            for block in state.apply(&event).into_iter().filter(|change| change.lane == Lane::Chat).filter_map(|change| change.block) {
                if matches!(block.body, BlockBody::Permission { .. }) {
                    // Its id is the loop's, which never gives one twice; the ones here repeat.
                    continue;
                }
                let first = *made.entry(block.id.clone()).or_insert(block.seq);
                prop_assert_eq!(first, block.seq, "{:?}", block);
            }
        }
    }

    #[test]
    fn r003_63_unknown_events_change_the_debug_lane_only(
        steps in session(1..40),
        at in any::<prop::sample::Index>(),
    ) {
        let mut events = sequenced(&steps);
        let without = reduced_as(spoken(&steps), &events);
        let strange = Step { dialect: Spoken::Desktop, kind: "never.heard", payload: json!({ "turn": 9 }), turn: Some(99) };
        events.insert(at.index(events.len()), session_event(&strange, 10_000));
        let with = reduced_as(spoken(&steps), &events);
        prop_assert_eq!((with.chat, with.tasks, with.run), (without.chat, without.tasks, without.run));
        prop_assert_eq!(with.debug.blocks.len(), without.debug.blocks.len() + 1);
    }

    #[test]
    fn pages_over_checkpoints_give_the_same_lanes_as_one_view(
        steps in session(1..80),
        every in 1..12_usize,
        limit in 1..7_usize,
    ) {
        let events = sequenced(&steps);
        let mut state = ViewState::default().speaking(spoken(&steps));
        let mut dirty = DirtyBlocks::default();
        let mut stored: Vec<(Lane, u64, Block)> = Vec::new();
        let mut checkpoint = 0;
        for (at, event) in events.iter().enumerate() {
            let changes = state.apply(event);
            dirty.absorb(&changes, checkpoint, &mut |lane, id| {
                stored.iter().find(|row| row.0 == lane && row.2.id == id).map(|row| (row.1, row.2.clone()))
            });
            if at % every == 0 {
                for (lane, ord, id, block) in dirty.iter() {
                    stored.retain(|row| row.0 != lane || row.2.id != id);
                    if let Some(block) = block {
                        stored.push((lane, ord, block.clone()));
                    }
                }
                dirty.clear();
                checkpoint = event.seq;
                dirty = serde_json::from_slice(&serde_json::to_vec(&dirty).unwrap()).unwrap();
            }
        }
        let lanes = reduced_as(spoken(&steps), &events);
        for lane in Lane::ALL {
            let mut paged: Vec<Block> = Vec::new();
            let mut before = None;
            loop {
                let (page, more) = dirty.merged_page(lane, before, limit, &mut |before, limit| {
                    let mut rows: Vec<(u64, Block)> = stored
                        .iter()
                        .filter(|row| row.0 == lane && before.is_none_or(|before| row.1 < before))
                        .map(|row| (row.1, row.2.clone()))
                        .collect();
                    rows.sort_by_key(|row| std::cmp::Reverse(row.0));
                    rows.truncate(limit);
                    rows
                });
                before = page.first().map(|row| row.0);
                paged.splice(0..0, page.into_iter().map(|row| row.1));
                if !more {
                    break;
                }
            }
            prop_assert_eq!(&paged, &lanes.lane(lane).blocks, "{:?}", lane);
        }
    }
}

#[test]
fn the_state_stays_small_however_long_the_session_is() {
    let filler = "x".repeat(2_000);
    let mut state = ViewState::default();
    let mut largest = 0;
    for seq in 1..=50_000_u64 {
        let turn = Some(seq / 20_000);
        let call = format!("{filler}{seq}");
        let (kind, payload) = match seq % 8 {
            0 => (
                "tool.execute",
                json!({ "call_id": call, "tool_name": filler, "args": { "path": filler, "more": filler }, "status": "started" }),
            ),
            1 => ("command.request_approval", json!({ "request_id": call, "command": filler.repeat(20) })),
            2 => ("assistant.thinking", json!({ "phase": filler, "message": filler })),
            3 => ("agent.plan", json!({ "steps": [filler] })),
            4 => ("patch.proposed", json!({ "patch_id": call, "file_path": filler, "diff": filler })),
            _ => ("assistant.token", json!({ "token": filler })),
        };
        state.apply(&session_event(&Step { dialect: Spoken::Desktop, kind, payload, turn }, seq));
        if seq % 1_000 == 0 {
            largest = largest.max(serde_json::to_vec(&state).unwrap().len());
        }
    }
    // 512 KiB of answer, 64 KiB of reasoning, 128 tools of about 5 KiB, 64 asks of at most 16 KiB.
    assert!(largest < 3 << 20, "{largest} bytes");
}

#[test]
fn r000_68_a_very_long_answer_is_cut_once_and_says_so() {
    let mut view = empty_view();
    let mut state = ViewState::default();
    let token = Step {
        dialect: Spoken::Desktop,
        kind: "assistant.token",
        payload: json!({ "token": "é".repeat(50_000) }),
        turn: Some(1),
    };
    let mut puts = 0;
    for seq in 1..=20 {
        let changes = state.apply(&session_event(&token, seq));
        puts += changes.iter().filter(|change| change.block.is_some()).count();
        apply_changes(&mut view, &changes);
    }
    assert_eq!(puts, 2, "one to open, one to say that it is cut");
    let BlockBody::Assistant { text, truncated, .. } = &view.lanes.chat.blocks[0].body else {
        panic!("no answer")
    };
    assert_eq!((text.len(), *truncated), (512 * 1024, true));
}

fn breadboard(kind: &'static str, turn: Option<u64>, payload: Value) -> Step {
    Step { dialect: Spoken::Breadboard, kind, payload, turn }
}

fn answers(lanes: &ViewLanes) -> Vec<&str> {
    let texts = lanes.chat.blocks.iter().map(|block| match &block.body {
        BlockBody::Assistant { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Engine fault 6 of the peer: pieces shown as JSON, each as a card of its own, and then the whole once more.
    #[test]
    fn r003_38_53_interleaved_messages_and_their_wholes_are_printed_exactly_once(
        messages in proptest::collection::vec(proptest::collection::vec("[a-dé]{1,4}", 1..5), 1..4),
        order in proptest::collection::vec(any::<prop::sample::Index>(), 0..24),
        whole_by_id in any::<bool>(),
    ) {
        let mut steps = Vec::new();
        let mut left: Vec<_> = messages.iter().map(|pieces| pieces.iter()).collect();
        // Each begins in its order, then they mix.
        let turns = (0..messages.len()).chain(order.iter().map(|at| at.index(messages.len())));
        for at in turns.collect::<Vec<_>>() {
            if let Some(piece) = left[at].next() {
                steps.push(breadboard("assistant.message.delta", Some(1), json!({ "item_id": format!("m{at}"), "delta": piece })));
            }
        }
        for (at, rest) in left.into_iter().enumerate() {
            for piece in rest {
                steps.push(breadboard("assistant.message.delta", Some(1), json!({ "item_id": format!("m{at}"), "delta": piece })));
            }
        }
        let whole: Vec<String> = messages.iter().map(|pieces| pieces.concat()).collect();
        for (at, text) in whole.iter().enumerate() {
            let id = if whole_by_id { json!(format!("m{at}")) } else { Value::Null };
            steps.push(breadboard("assistant_message", Some(1), json!({ "message_id": id, "text": text })));
        }
        let lanes = reduced_as(Dialect::Breadboard, &sequenced(&steps));
        prop_assert_eq!(answers(&lanes), whole);
    }

    /// Engine fault 9 of the peer: one call shown two or three times, with statuses that contradict each other.
    #[test]
    fn r003_40_41_results_in_any_order_make_one_block_with_the_status_of_the_execution(
        order in Just(vec![0_u8, 1, 2]).prop_shuffle(),
        failed in any::<bool>(),
        with_id in any::<bool>(),
    ) {
        let id = if with_id { json!("c1") } else { Value::Null };
        let mut steps = vec![breadboard("tool_call", Some(1), json!({
            "call": { "id": id, "function": { "name": "shell", "arguments": "{}" } }, "call_id": id }))];
        for shape in order {
            steps.push(breadboard("tool_result", Some(1), match shape {
                0 => json!({ "call_id": "todo:4", "todo": { "items": [{ "title": "a", "status": "done" }] } }),
                1 => json!({ "call_id": id, "tool": "shell", "success": true, "error": false,
                    "metadata": { "exit_code": u8::from(failed) }, "result": { "stdout": "out" } }),
                _ => json!({ "call_id": id, "message": { "role": "tool", "name": "shell", "content": "text" },
                    "result": "text", "status": if failed { "ok" } else { "error" }, "error": !failed }),
            }));
        }
        let lanes = reduced_as(Dialect::Breadboard, &sequenced(&steps));
        let tools: Vec<_> = lanes.chat.blocks.iter().filter_map(|block| match &block.body {
            BlockBody::Tool { status, preview, .. } => Some((*status, preview.as_deref())),
            _ => None,
        }).collect();
        let status = if failed { ToolBlockStatus::Failed } else { ToolBlockStatus::Ok };
        let text = if failed { "text\n[exit code 1]" } else { "text" };
        prop_assert_eq!(tools, [(status, Some(text))]);
        prop_assert_eq!(lanes.chat.blocks.len(), 2, "a tool and a plan");
    }
}

#[test]
fn r000_68_the_state_stays_small_however_long_a_breadboard_session_is() {
    let filler = "x".repeat(2_000);
    let mut state = ViewState::default().speaking(Dialect::Breadboard);
    let mut largest = 0;
    for seq in 1..=50_000_u64 {
        let turn = Some(seq / 5_000);
        let id = format!("{filler}{seq}");
        let (kind, payload) = match seq % 10 {
            0 => (
                "tool_call",
                json!({ "call": { "id": id, "function": { "name": filler, "arguments": json!({ "path": filler }).to_string() } } }),
            ),
            1 => (
                "tool_result",
                json!({ "tool": filler, "success": true, "result": { "stdout": filler.repeat(9) } }),
            ),
            2 => ("tool.exec.stdout.delta", json!({ "exec_id": id, "delta": filler.repeat(3) })),
            3 => (
                "tool_result",
                json!({ "call_id": "todo:1", "todo": { "scope_key": id, "items": [{ "title": filler }] } }),
            ),
            4 => ("assistant_message", json!({ "text": id })),
            5 => ("assistant.reasoning.delta", json!({ "item_id": id, "delta": filler })),
            6 => ("local.prompt", json!({ "messageId": "m", "text": id })),
            // Long messages, as many at a time as there are ids.
            _ => (
                "assistant.message.delta",
                json!({ "item_id": format!("m{}", seq % 3), "delta": filler.repeat(8) }),
            ),
        };
        let kind = if seq % 5_000 > 100 && kind == "local.prompt" { "strange" } else { kind };
        state.apply(&session_event(&breadboard(kind, turn, payload), seq));
        if seq % 1_000 == 0 {
            largest = largest.max(serde_json::to_vec(&state).unwrap().len());
        }
    }
    // One step at a time has 100 pieces of a message here; 128 tools that run and 64 that ended of about 7 KiB.
    assert!(largest < 3 << 19, "{largest} bytes");
}

#[test]
fn r003_53_pieces_of_two_messages_become_one_change_a_message() {
    let mut state = ViewState::default().speaking(Dialect::Breadboard);
    let mut changes = Vec::new();
    for seq in 1..=40 {
        let id = if seq % 2 == 0 { "even" } else { "odd" };
        let step = breadboard("assistant.message.delta", Some(1), json!({ "item_id": id, "delta": "ab" }));
        changes.extend(state.apply(&session_event(&step, seq)));
    }
    assert_eq!(changes.len(), 40);
    let fewer = coalesce(changes);
    assert_eq!(fewer.len(), 2, "{fewer:?}");
}

#[test]
fn r003_54_what_a_running_tool_prints_is_shown_by_its_end_and_stays_small() {
    let mut view = empty_view();
    let mut state = ViewState::default().speaking(Dialect::Breadboard);
    let start =
        breadboard("tool.exec.start", Some(1), json!({ "exec_id": "e", "tool": "shell", "command": "yes" }));
    apply_changes(&mut view, &state.apply(&session_event(&start, 1)));
    for seq in 2..=1_000 {
        let delta = json!({ "exec_id": "e", "delta": format!("line {seq} é\n") });
        let changes = state.apply(&session_event(&breadboard("tool.exec.stdout.delta", Some(1), delta), seq));
        assert!(serde_json::to_vec(&changes).unwrap().len() < 8 * 1024);
        apply_changes(&mut view, &changes);
    }
    let [Block { body: BlockBody::Tool { preview: Some(shown), truncated, bytes, status, .. }, .. }] =
        view.lanes.chat.blocks.as_slice()
    else {
        panic!("{:?}", view.lanes.chat.blocks)
    };
    assert!(shown.starts_with('…') && shown.ends_with("line 1000 é\n") && shown.len() <= 4 * 1024, "{shown}");
    let all: usize = (2..=1_000).map(|seq| format!("line {seq} é\n").len()).sum();
    assert_eq!((*truncated, *bytes, *status), (Some(true), Some(all as u64), ToolBlockStatus::Running));
}

#[test]
fn r003_27_a_flood_of_tree_nodes_is_one_closed_group_in_tasks_one_block_in_debug_and_no_chat() {
    let mut state = ViewState::default().speaking(Dialect::Breadboard);
    let mut view = empty_view();
    let prompt = Step {
        dialect: Spoken::Breadboard,
        kind: "local.prompt",
        payload: json!({ "messageId": "m", "text": "Hi" }),
        turn: Some(1),
    };
    apply_changes(&mut view, &state.apply(&session_event(&prompt, 1)));
    let before = serde_json::to_vec(&state).unwrap().len();
    let node = format!(r#"{{"node":{{"id":"ctn_000001","payload":"{}"}}}}"#, "x".repeat(5_000));
    let node = Step {
        dialect: Spoken::Breadboard,
        kind: "ctree_node",
        payload: serde_json::from_str(&node).unwrap(),
        turn: Some(1),
    };
    for seq in 2..=5_000 {
        apply_changes(&mut view, &state.apply(&session_event(&node, seq)));
    }
    let grown = serde_json::to_vec(&state).unwrap().len() - before;
    assert!(grown < 100, "a count costs {grown} bytes");
    let chat: Vec<&str> = view.lanes.chat.blocks.iter().map(|block| block.id.as_str()).collect();
    assert_eq!(chat, ["u-1", "turn-1"]);
    let group = |status: &str| {
        json!([{ "id": "tree-1", "turn": 1, "seq": 2, "kind": "task", "taskId": "tree-1",
            "title": "Conversation tree: 4999 nodes", "status": status }])
    };
    assert_eq!(json!(view.lanes.tasks.blocks), group("running"));
    let [Block { seq: 5_000, body: BlockBody::Unknown { preview, .. }, .. }] =
        view.lanes.debug.blocks.as_slice()
    else {
        panic!("not one block: {:?}", view.lanes.debug.blocks)
    };
    assert!(preview.starts_with(r#"{"node":{"id":"ctn_000001""#) && preview.len() <= 259, "{preview}");
    let end = Step {
        dialect: Spoken::Breadboard,
        kind: "run_finished",
        payload: json!({ "completed": true }),
        turn: Some(1),
    };
    apply_changes(&mut view, &state.apply(&session_event(&end, 5_001)));
    assert_eq!(json!(view.lanes.tasks.blocks), group("completed"));
}
