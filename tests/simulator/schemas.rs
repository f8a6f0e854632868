//! Every frame that any test here reads keeps our own schema of the engine's envelope and payloads.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use breadboard_ls::testing::protocol::schema;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::desk::{Desk, kinds};

/// By the name of the file, without `.json`.
fn validators() -> &'static BTreeMap<String, Validator> {
    static VALIDATORS: OnceLock<BTreeMap<String, Validator>> = OnceLock::new();
    VALIDATORS.get_or_init(|| {
        let files = schema::files();
        let ours = files.iter().filter_map(|(name, file)| {
            let kind = name.strip_prefix("breadboard/")?.strip_suffix(".json")?;
            Some((kind.to_owned(), jsonschema::validator_for(file).unwrap()))
        });
        ours.collect()
    })
}

fn faults(event: &Value) -> Vec<String> {
    let of = |name: &str, value: &Value| -> Vec<String> {
        let Some(validator) = validators().get(name) else { return Vec::new() };
        validator.iter_errors(value).map(|error| format!("{name}: {error}")).collect()
    };
    let mut faults = of("envelope", event);
    faults.extend(of(event["type"].as_str().unwrap_or_default(), &event["payload"]));
    faults
}

/// Fails on an event that does not keep the schemas.
pub fn check(event: &Value) {
    assert_eq!(faults(event), Vec::<String>::new(), "{event}");
}

#[tokio::test]
async fn r003_01_r003_02_what_the_simulator_says_unasked_keeps_the_schemas() {
    let desk = Desk::plain();
    let id = desk.create(&json!({})).await;
    let mut stream = desk.stream(&id, "?replay=true").await;
    desk.input(&id, "go").await;
    let frames = stream.through("run_finished").await;
    let said = kinds(&frames);
    for kind in ["user_message", "turn_start", "tool_call", "tool_result", "completion", "run_finished"] {
        assert!(said.iter().any(|said| said == kind), "no {kind} in {said:?}");
    }
    let mut broken = frames[0].json();
    broken["seq"] = json!("one");
    assert_eq!(faults(&broken).len(), 1);
    broken["payload"] = json!([]);
    assert!(faults(&broken).len() > 1);
}
