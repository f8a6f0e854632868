//! Every reducer fixture and 400 seeded sessions of each dialect, through normalisation and reducer.
//!
//! Owns the lines that say what came of them: a name, hashes of the view on its way, how turns ended, the view. Never judges.

use std::path::Path;

use breadboard_core::domain::dialect::{Dialect, fact};
use breadboard_core::domain::event::{EventClass, SessionEvent};
use breadboard_core::domain::fact::Fact;
use breadboard_core::domain::view::{View, ViewLanes, ViewState, apply_changes};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::seeded::session;

/// Seeded sessions of each dialect.
const SESSIONS: u64 = 400;

/// One line a session, grouped: the fixtures, then each dialect.
pub fn lines() -> Vec<(&'static str, Vec<String>)> {
    let mut groups = vec![("fixtures", fixtures())];
    for (name, dialect) in
        [("desktop", Dialect::Desktop), ("breadboard", Dialect::Breadboard), ("acp", Dialect::Acp)]
    {
        let sessions =
            (0..SESSIONS).map(|seed| line(&format!("{name}-{seed}"), dialect, &session(dialect, seed)));
        groups.push((name, sessions.collect()));
    }
    groups
}

/// SHA-256 of lines, in hexadecimal digits.
pub fn digest(lines: &[String]) -> String {
    let mut hash = Sha256::new();
    lines.iter().for_each(|line| hash.update(line));
    hex(&hash.finalize())
}

fn fixtures() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/reducers");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let line = |path: &Path| {
        let fixture: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let dialect = match fixture["dialect"].as_str() {
            Some("breadboard") => Dialect::Breadboard,
            Some("acp") => Dialect::Acp,
            _ => Dialect::Desktop,
        };
        let events: Vec<SessionEvent> = serde_json::from_value(fixture["events"].clone()).unwrap();
        line(&path.file_stem().unwrap().to_string_lossy(), dialect, &events)
    };
    paths.iter().map(|path| line(path)).collect()
}

fn line(name: &str, dialect: Dialect, events: &[SessionEvent]) -> String {
    let mut state = ViewState::default().speaking(dialect);
    let mut view = View { epoch: "e".into(), seq: 0, lanes: ViewLanes::default() };
    let mut on_its_way = Sha256::new();
    let mut stops = Vec::new();
    for event in events {
        apply_changes(&mut view, &state.apply(event));
        on_its_way.update(serde_json::to_vec(&view.lanes).unwrap());
        if event.class == EventClass::RunFinished
            && let Fact::TurnEnded(end) = fact(dialect, event)
        {
            stops.push(end.reason.into_owned());
        }
    }
    let hash = hex(&on_its_way.finalize()[..8]);
    let view = serde_json::to_string(&view.lanes).unwrap();
    let events = serde_json::to_string(events).unwrap();
    format!("{name}\t{hash}\t{stops:?}\t{view}\t{events}\n")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
