//! The engine's own log against the journal and against what the client heard.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use breadboard_ls::testing::domain::dialect::Dialect;
use breadboard_ls::testing::domain::event::SessionEvent;
use breadboard_ls::testing::domain::view::{Change, Lane, View, ViewState, apply_changes};
use breadboard_ls::testing::simulate::breadboard::SentEvent;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::plan::Line;
use crate::user::Sent;

/// Blocks of a lane in a snapshot.
const SNAPSHOT: usize = 50;

/// Types of events that the engine says outside its log, or that stand between its events as rubbish.
const LOOSE: &[&str] = &["unknown", "warning", "oversize", "stream.open", "stream.gap"];

/// Whether the engine can have said an event without a number: outside its log, or in its record of the session, which has asks
/// that wait and the list of things to do.
fn is_loose(event: &Value, kind: &str) -> bool {
    let told = match kind {
        "tool_result" => event["payload"]["todo"].is_object(),
        "permission_request" => event["payload"]["request_id"].is_string(),
        kind => LOOSE.contains(&kind),
    };
    event["id"] == "" && told
}

/// All that is known at the end of a run.
pub struct Evidence<'a> {
    /// All that the engine ever logged.
    pub engine: Vec<SentEvent>,
    /// How much of it there was when everything had come to rest.
    pub rested: u64,
    /// The engine forgot the session.
    pub gone: bool,
    /// The session ended at the engine.
    pub ended: bool,
    /// It ended there by itself, and may be gone since.
    pub completed: bool,
    /// The engine has no event of it any more to compare a place with.
    pub forgotten: bool,
    /// As last told.
    pub status: String,
    pub pending: u64,
    pub journal: Vec<Value>,
    /// Each process's notifications of the session, by method.
    pub heard: Vec<BTreeMap<String, Vec<Value>>>,
    /// Verdicts that answers gave.
    pub resumes: Vec<Value>,
    /// `bb/selectSession` at the end.
    pub selected: Value,
    /// The verdict that another process gave behind it.
    pub reopened: Value,
    /// Prompts of another client.
    pub foreign: &'a [String],
    pub prompts: &'a [Line],
    pub sent: &'a [Sent],
    /// Bodies of the inputs that reached the engine.
    pub inputs: Vec<Value>,
}

/// The engine's number of an event of the journal.
pub fn engine_number(event: &Value) -> Option<u64> {
    if event["origin"] != "engine" {
        return None;
    }
    event["id"].as_str()?.parse().ok()
}

/// What became of the engine's events, counted one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fates {
    /// Logged by the engine.
    pub logged: u64,
    /// Missing in the journal, and said to be.
    pub lost_said: u64,
    /// Missing, and the transcript or the connection does not say so.
    pub lost_unsaid: u64,
    /// In the journal, or told to a client by one process, more than once.
    pub doubled: u64,
    /// Behind a later one, in the journal or to a client.
    pub reordered: u64,
}

impl Fates {
    pub fn add(&mut self, other: &Self) {
        self.logged += other.logged;
        self.lost_said += other.lost_said;
        self.lost_unsaid += other.lost_unsaid;
        self.doubled += other.doubled;
        self.reordered += other.reordered;
    }

    /// Notes the next of a row of numbers that must grow; `seen` has those before.
    fn follow(&mut self, number: u64, seen: &mut BTreeSet<u64>) {
        let is_last = seen.last().is_none_or(|last| *last < number);
        if !seen.insert(number) {
            self.doubled += 1;
        } else if !is_last {
            self.reordered += 1;
        }
    }
}

/// Everything that is wrong, as sentences.
pub fn faults(evidence: &Evidence) -> (Vec<String>, Fates) {
    let mut wrong = Vec::new();
    let mut fates = Fates { logged: evidence.rested, ..Fates::default() };
    journal_is_the_log(evidence, &mut wrong, &mut fates);
    losses_are_said(evidence, &mut wrong, &mut fates);
    verdicts_are_true(evidence, &mut wrong);
    client_heard_the_journal(evidence, &mut wrong, &mut fates);
    view_is_the_journal(evidence, &mut wrong);
    prompts_came_once(evidence, &mut wrong);
    nothing_stays_open(evidence, &mut wrong);
    (wrong, fates)
}

/// Each of the engine's events at most once, in order, as it was said.
fn journal_is_the_log(evidence: &Evidence, wrong: &mut Vec<String>, fates: &mut Fates) {
    let (mut last, mut seen) = (0, BTreeSet::new());
    for (at, event) in evidence.journal.iter().enumerate() {
        if event["seq"] != json!(at + 1) {
            wrong.push(format!("our number {} stands at place {}", event["seq"], at + 1));
        }
        let kind = event["type"].as_str().unwrap();
        let Some(seq) = engine_number(event) else {
            if event["origin"] == "engine" && !is_loose(event, kind) {
                wrong.push(format!("nobody said this: {event}"));
            }
            continue;
        };
        fates.follow(seq, &mut seen);
        if seq <= last {
            wrong.push(format!("number {seq} comes after {last}: doubled or reordered"));
        }
        last = last.max(seq);
        let Some(said) = usize::try_from(seq - 1).ok().and_then(|at| evidence.engine.get(at)) else {
            wrong.push(format!("the engine never said {seq}: {event}"));
            continue;
        };
        let expected = match said.kind.as_str() {
            "raw" => ("unknown", json!({ "raw": said.payload })),
            kind => (kind, repaired(&said.payload)),
        };
        if (kind, &event["payload"]) != (expected.0, &expected.1) {
            wrong.push(format!("number {seq} was {expected:?} and became {event}"));
        }
    }
}

/// Whatever is missing for good, the answer to `bb/selectSession` says `lost`, in this process and in the next one; and it names
/// numbers only where some are missing. While a stream is broken it says `lost` without numbers: nobody knows. Of a session that
/// is gone nobody knows either, unless it had ended before: then it may have been heard to its end.
fn verdicts_are_true(evidence: &Evidence, wrong: &mut Vec<String>) {
    let came: BTreeSet<u64> = evidence.journal.iter().filter_map(engine_number).collect();
    let missing = (1..=evidence.rested).any(|seq| !came.contains(&seq));
    let gaps = evidence.journal.iter().any(|event| event["type"] == "local.gap");
    for (when, resume) in [("at the end", &evidence.selected["resume"]), ("reopened", &evidence.reopened)] {
        let lost = resume["verdict"] == "lost";
        if (missing || (evidence.gone && !evidence.completed)) && !lost {
            wrong.push(format!("{when}: events are missing or the session is gone, and it says {resume}"));
        }
        if lost && !resume["from"].is_null() && !missing && !evidence.gone && !gaps && !evidence.forgotten {
            wrong.push(format!("{when}: nothing is missing, and it says {resume}"));
        }
    }
}

/// What the script says beyond strict JSON, as it must come out.
fn repaired(payload: &str) -> Value {
    let strict = payload.replace(":NaN", ":null").replace("\"\\ud83d\"", "\"\\ufffd\"");
    serde_json::from_str(&strict).unwrap_or_else(|_| panic!("no JSON: {payload}"))
}

/// What is missing was said, in the transcript and on the connection, and what was said to be missing is.
fn losses_are_said(evidence: &Evidence, wrong: &mut Vec<String>, fates: &mut Fates) {
    let mut in_transcript: Vec<RangeInclusive<u64>> = Vec::new();
    let mut open = None;
    let mut came = BTreeSet::new();
    for event in &evidence.journal {
        if let Some(seq) = engine_number(event) {
            // A gap without an end reaches to whatever comes next.
            in_transcript.extend(open.take().map(|from| from..=seq - 1));
            came.insert(seq);
        } else if event["type"] == "local.gap" {
            let payload = &event["payload"];
            let Some(from) = payload["from"].as_u64() else {
                wrong.push(format!("a gap without a beginning: {event}"));
                continue;
            };
            match payload["to"].as_u64() {
                Some(to) => {
                    if to > evidence.engine.len() as u64 || to < from {
                        wrong.push(format!("a gap of what never was: {event}"));
                    }
                    in_transcript.push(from..=to);
                }
                None => open = Some(from),
            }
        }
    }
    in_transcript.extend(open.map(|from| from..=u64::MAX));
    let told = evidence.heard.iter().flat_map(|heard| heard.get("bb/connection").into_iter().flatten());
    let told = told.filter(|told| told["gapDetected"] == json!(true)).map(|told| &told["resume"]);
    let on_connection: Vec<RangeInclusive<u64>> = told
        .chain(&evidence.resumes)
        .filter(|resume| resume["verdict"] == "lost")
        .filter_map(|resume| Some(resume["from"].as_u64()?..=resume["to"].as_u64().unwrap_or(u64::MAX)))
        .collect();
    let said = |said: &[RangeInclusive<u64>], seq| said.iter().any(|stretch| stretch.contains(&seq));
    let last = came.last().copied().unwrap_or(0);
    for seq in (1..=evidence.rested).filter(|seq| !came.contains(seq)) {
        let kind = &evidence.engine[seq as usize - 1].kind;
        // The engine forgot the session before it came: that the session is gone stands on the connection.
        if evidence.gone && seq > last && said(&in_transcript, seq) {
            fates.lost_said += 1;
            continue;
        }
        let is_said = said(&in_transcript, seq) && said(&on_connection, seq);
        *(if is_said { &mut fates.lost_said } else { &mut fates.lost_unsaid }) += 1;
        if !said(&in_transcript, seq) {
            wrong.push(format!("{seq} ({kind}) is missing and the transcript does not say so"));
        }
        if !said(&on_connection, seq) {
            wrong.push(format!("{seq} ({kind}) is missing and no `bb/connection` says so"));
        }
    }
    let killed = evidence.heard.len() > 1;
    for seq in came.iter().filter(|seq| !killed && said(&in_transcript, **seq)) {
        wrong.push(format!("{seq} was said to be missing and is there"));
    }
}

fn client_heard_the_journal(evidence: &Evidence, wrong: &mut Vec<String>, fates: &mut Fates) {
    for (process, heard) in evidence.heard.iter().enumerate() {
        let (mut next, mut seen) = (None, BTreeSet::new());
        for batch in heard.get("bb/events").into_iter().flatten() {
            for event in batch["events"].as_array().unwrap() {
                let seq = event["seq"].as_u64().unwrap();
                fates.follow(seq, &mut seen);
                if seq != next.unwrap_or(seq) || (process == 0 && next.is_none() && seq != 1) {
                    wrong.push(format!("process {process} told {seq} instead of {next:?}"));
                }
                next = Some(seq + 1);
                let kept = usize::try_from(seq - 1).ok().and_then(|at| evidence.journal.get(at));
                // What came while the journal was read stands behind it.
                if kept.is_none() && process + 1 == evidence.heard.len() {
                    continue;
                }
                if kept != Some(event) {
                    wrong.push(format!("process {process} told {event} and the journal has {kept:?}"));
                }
            }
        }
        let told = next.map_or(0, |next| next as usize - 1);
        if evidence.heard.len() == 1 && told < evidence.journal.len() {
            wrong.push(format!("{} events were journalled and {told} were told", evidence.journal.len()));
        }
    }
}

fn view_is_the_journal(evidence: &Evidence, wrong: &mut Vec<String>) {
    let at = evidence.selected["seq"].as_u64().unwrap();
    let (mut state, mut view) = (ViewState::default().speaking(Dialect::Breadboard), empty());
    for event in &evidence.journal {
        let event: SessionEvent = serde_json::from_value(event.clone()).unwrap();
        if event.seq <= at {
            apply_changes(&mut view, &state.apply(&event));
        }
    }
    if at > evidence.journal.len() as u64 {
        wrong.push(format!("the snapshot stands at {at}, the journal ends at {}", evidence.journal.len()));
    }
    let shown: View = serde_json::from_value(evidence.selected["view"].clone()).unwrap();
    for lane in Lane::ALL {
        let whole = &view.lanes.lane(lane).blocks;
        let newest = &whole[whole.len().saturating_sub(SNAPSHOT)..];
        if shown.lanes.lane(lane).blocks != newest {
            wrong.push(format!(
                "the snapshot of {lane:?} is not the journal reduced:\n  {}\n  {}",
                json!(shown.lanes.lane(lane).blocks),
                json!(newest)
            ));
        }
    }
    // A client that was there from the beginning made its view out of changes.
    if let [heard] = evidence.heard.as_slice() {
        let mut drawn = empty();
        for told in
            heard.get("bb/view").into_iter().flatten().filter(|told| told["toSeq"].as_u64() <= Some(at))
        {
            let changes: Vec<Change> = serde_json::from_value(told["changes"].clone()).unwrap();
            apply_changes(&mut drawn, &changes);
        }
        for lane in Lane::ALL {
            if drawn.lanes.lane(lane).blocks != view.lanes.lane(lane).blocks {
                wrong.push(format!("the client's {lane:?} is not the journal reduced"));
            }
        }
    }
}

fn empty() -> View {
    let lane = || json!({"blocks": [], "hasMore": false});
    serde_json::from_value(json!({"epoch": "", "seq": 0,
        "lanes": {"chat": lane(), "tasks": lane(), "run": lane(), "debug": lane()}}))
    .unwrap()
}

fn prompts_came_once(evidence: &Evidence, wrong: &mut Vec<String>) {
    let began = evidence.engine.iter().filter(|event| event.kind == "user_message");
    let began: Vec<String> =
        began.map(|event| repaired(&event.payload)["text"].as_str().unwrap().trim().to_owned()).collect();
    let wrote = |text: &&String| {
        evidence.prompts.iter().map(|line| &line.text).chain(evidence.foreign).any(|line| line == *text)
    };
    for text in began.iter().filter(|text| !wrote(text)) {
        wrong.push(format!("the engine began on {text:?}, which nobody wrote"));
    }
    each_prompt_is_shown_once(evidence, wrong);
    for (at, (line, sent)) in evidence.prompts.iter().zip(evidence.sent).enumerate() {
        let posts: Vec<&Value> = evidence
            .inputs
            .iter()
            .filter(|body| body["content"].as_str().is_some_and(|content| content.trim() == line.text))
            .collect();
        // A newer engine knows a message again by its id.
        let ids: BTreeSet<Option<&str>> =
            posts.iter().map(|body| body["client_message_id"].as_str()).collect();
        let times = began.iter().filter(|text| **text == line.text).count();
        if times > 1 || ids.len() > 1 {
            wrong.push(format!("{:?} was sent {} times and begun {times} times", line.text, posts.len()));
        }
        let message = format!("message-{at}");
        let ours: Vec<&Value> = evidence
            .journal
            .iter()
            .filter(|event| {
                event["type"] == "local.prompt" && event["payload"]["messageId"] == message.as_str()
            })
            .collect();
        if ours.len() > 1 {
            wrong.push(format!("{:?} stands {} times in the transcript", line.text, ours.len()));
        }
        if *sent != Sent::Taken || times == 1 {
            continue;
        }
        let over = evidence.gone || evidence.ended;
        // A newer engine takes out of its queue what is stopped before it begins.
        let unqueued = evidence.engine.iter().any(|event| event.kind == "turn_cancelled");
        let excused = match ours.first() {
            // It waits in the queue of a session that is over.
            None => over,
            Some(prompt) => evidence.journal.iter().any(|event| {
                event["type"] == "local.turn_end"
                    && event["turn"] == prompt["turn"]
                    && (event["payload"]["reason"] == "failed"
                        || (unqueued && event["payload"]["reason"] == "cancelled"))
            }),
        };
        if !excused {
            wrong.push(format!("{:?} was taken and never begun, and nothing says so", line.text));
        }
    }
}

/// Whoever wrote it: one block each, with its own words.
fn each_prompt_is_shown_once(evidence: &Evidence, wrong: &mut Vec<String>) {
    let (mut state, mut view) = (ViewState::default().speaking(Dialect::Breadboard), empty());
    for event in &evidence.journal {
        let event: SessionEvent = serde_json::from_value(event.clone()).unwrap();
        apply_changes(&mut view, &state.apply(&event));
    }
    let chat = json!(view.lanes.lane(Lane::Chat).blocks);
    let shown: Vec<&str> = chat
        .as_array()
        .unwrap()
        .iter()
        .filter(|block| block["kind"] == "user")
        .filter_map(|block| block["text"].as_str())
        .map(str::trim)
        .collect();
    let in_journal = |text: &str| {
        evidence.journal.iter().any(|event| match event["type"].as_str() {
            Some("local.prompt" | "user_message") => {
                event["payload"]["text"].as_str().map(str::trim) == Some(text)
            }
            Some(_) | None => false,
        })
    };
    let written = evidence.prompts.iter().map(|line| &line.text).chain(evidence.foreign);
    for text in written.filter(|text| in_journal(text.trim())) {
        let times = shown.iter().filter(|shown| **shown == text.trim()).count();
        if times != 1 {
            wrong.push(format!("{text:?} is shown {times} times"));
        }
    }
}

fn nothing_stays_open(evidence: &Evidence, wrong: &mut Vec<String>) {
    let over = evidence.status != "idle";
    if over != (evidence.gone || evidence.ended) {
        wrong.push(format!(
            "the session is {}; gone at the engine: {}, ended there: {}",
            evidence.status, evidence.gone, evidence.ended
        ));
    }
    if evidence.pending > 0 {
        wrong.push(format!("{} asks wait for nobody", evidence.pending));
    }
    let mut settled: BTreeMap<&str, u32> = BTreeMap::new();
    for event in &evidence.journal {
        if let Some(id) = event["permission"]["requestId"].as_str() {
            settled.entry(id).or_default();
        }
        if event["type"] == "local.permission_settled" {
            *settled.entry(event["payload"]["requestId"].as_str().unwrap()).or_default() += 1;
        }
    }
    for (id, times) in settled.into_iter().filter(|(_, times)| *times != 1) {
        wrong.push(format!("the ask {id} was settled {times} times"));
    }
}
