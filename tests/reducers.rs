//! The laws of the view: each fixture is a sentence, and random sessions keep the laws that no fixture can show.
//!
//! `BREADBOARD_UPDATE=1` rewrites what the fixtures expect; read the difference before committing it.

use std::fs;
use std::path::{Path, PathBuf};

use breadboard_ls::domain::approval::{Permission, PermissionAsk, digest_of};
use breadboard_ls::domain::event::{EngineEvent, LocalKind, NormalizedEvent, Origin, SessionEvent};
use breadboard_ls::domain::normalize::{Dialect, normalize};
use breadboard_ls::domain::view::{
    Block, BlockBody, Change, DirtyBlocks, Lane, View, ViewLanes, ViewState, apply_changes, coalesce,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

#[derive(Serialize, Deserialize)]
struct ReducerFixture {
    description: String,
    events: Vec<SessionEvent>,
    expected: Option<ViewLanes>,
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

fn reduced(events: &[SessionEvent]) -> ViewLanes {
    let mut state = ViewState::default();
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
        let mut fixture: ReducerFixture = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for event in fixture.events.iter().filter(|event| event.origin == Origin::Engine) {
            let again = normalize(
                Dialect::Desktop,
                EngineEvent {
                    id: event.id.clone(),
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
        let lanes = reduced(&fixture.events);
        if updating() {
            fixture.expected = Some(lanes);
            write(&path, &fixture);
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
    ];
    (message, prop_oneof![Just(None), (1..3_u64).prop_map(Some)]).prop_map(|((kind, payload), turn)| Step {
        kind,
        payload,
        turn,
    })
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
    ]
    .into_iter()
    .find(|kind| kind.as_str() == step.kind);
    if let Some(kind) = local {
        return NormalizedEvent::local(kind, step.turn, 0, payload).sequenced(seq);
    }
    let kind = step.kind.to_owned();
    let raw = EngineEvent { id: String::new(), kind, turn: step.turn, ts: Some(0), payload, repaired: false };
    let normalized = normalize(Dialect::Desktop, raw);
    let mut event = normalized.event;
    // A server gives fresh ids; these repeat, which the view must survive too.
    event.permission = normalized.ask.map(permission);
    event.sequenced(seq)
}

fn permission(ask: PermissionAsk) -> Permission {
    Permission {
        request_id: ask.engine_request_id,
        digest: digest_of(&ask.title, &ask.subject),
        title: ask.title,
        options: ask.options,
        rule: ask.rule,
        expires_at: None,
    }
}

fn text_block(id: &str, text: &str) -> Block {
    let body = BlockBody::Reasoning { text: text.into(), streaming: true };
    Block { id: id.into(), turn: None, seq: 1, body }
}

fn change() -> impl Strategy<Value = Change> {
    let lane = prop_oneof![Just(Lane::Chat), Just(Lane::Run)];
    (lane, 0..4_u8, 0..5_u8, "[a-c]{1,2}").prop_map(|(lane, id, op, text)| {
        let id = format!("b{id}");
        match op {
            0 => Change::remove(lane, &id),
            1 | 2 => Change::put(lane, text_block(&id, &text)),
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
    fn r003_61_a_replay_from_any_point_makes_the_same_state_and_the_same_changes(
        steps in proptest::collection::vec(step(), 1..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let events = sequenced(&steps);
        let cut = cut.index(events.len());
        let mut live = ViewState::default();
        let mut replayed = ViewState::default();
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
        steps in proptest::collection::vec(step(), 1..60),
        size in 1..9_usize,
    ) {
        let events = sequenced(&steps);
        let mut state = ViewState::default();
        let mut view = empty_view();
        for batch in events.chunks(size) {
            let changes = batch.iter().flat_map(|event| state.apply(event)).collect();
            apply_changes(&mut view, &coalesce(changes));
        }
        prop_assert_eq!(view.lanes, reduced(&events));
    }

    #[test]
    fn after_the_end_of_a_turn_nothing_streams_and_no_tool_runs(
        steps in proptest::collection::vec(step(), 0..60),
    ) {
        let mut events = sequenced(&steps);
        let end = Step { kind: "local.turn_end", payload: json!({ "reason": "r", "message": "m" }), turn: None };
        events.push(session_event(&end, events.len() as u64 + 1));
        for block in reduced(&events).chat.blocks {
            let open = match &block.body {
                BlockBody::Assistant { streaming, .. } | BlockBody::Reasoning { streaming, .. } => *streaming,
                BlockBody::Tool { status, .. } => *status == breadboard_ls::domain::view::ToolBlockStatus::Running,
                _ => false,
            };
            prop_assert!(!open, "still open: {block:?}");
        }
    }

    #[test]
    fn r003_63_unknown_events_change_the_debug_lane_only(
        steps in proptest::collection::vec(step(), 1..40),
        at in any::<prop::sample::Index>(),
    ) {
        let mut events = sequenced(&steps);
        let without = reduced(&events);
        let strange = Step { kind: "never.heard", payload: json!({ "turn": 9 }), turn: Some(99) };
        events.insert(at.index(events.len()), session_event(&strange, 10_000));
        let with = reduced(&events);
        prop_assert_eq!((with.chat, with.tasks, with.run), (without.chat, without.tasks, without.run));
        prop_assert_eq!(with.debug.blocks.len(), without.debug.blocks.len() + 1);
    }

    #[test]
    fn pages_over_checkpoints_give_the_same_lanes_as_one_view(
        steps in proptest::collection::vec(step(), 1..80),
        every in 1..12_usize,
        limit in 1..7_usize,
    ) {
        let events = sequenced(&steps);
        let mut state = ViewState::default();
        let mut dirty = DirtyBlocks::default();
        let mut stored: Vec<(Lane, u64, Block)> = Vec::new();
        for (at, event) in events.iter().enumerate() {
            let changes = state.apply(event);
            dirty.absorb(&changes, &mut |lane, id| {
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
                dirty = serde_json::from_slice(&serde_json::to_vec(&dirty).unwrap()).unwrap();
            }
        }
        let lanes = reduced(&events);
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
        state.apply(&session_event(&Step { kind, payload, turn }, seq));
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
    let token =
        Step { kind: "assistant.token", payload: json!({ "token": "é".repeat(50_000) }), turn: Some(1) };
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
