//! What an editor sends inside a message: the parameters of `initialize`, settings, and the parameters of every request.
//!
//! Nothing in `initialize` stops the start, and only the right word trusts a workspace; what was read is read again without
//! a complaint; settings stay within their bounds; a request is read, or refused in a sentence.

use breadboard_ls::testing::editor::read_start_up;
use breadboard_ls::testing::protocol::Request;
use breadboard_ls::testing::protocol::settings::{Overrides, Settings, WorkspaceConfiguration};
use serde_json::{Value, json};

/// See the module. Input: JSON, or the name of a request and on the next line its parameters.
pub fn run(data: &[u8]) {
    if let Ok(value) = serde_json::from_slice::<Value>(data) {
        start(&value);
        start(&json!({ "initializationOptions": value }));
        if let Ok(read) = serde_json::from_value::<WorkspaceConfiguration>(value) {
            let written = serde_json::to_value(&read).expect("settings are JSON");
            assert_eq!(serde_json::from_value::<WorkspaceConfiguration>(written).ok(), Some(read));
        }
        return;
    }
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (method, params) = data.split_at(end);
    let params = serde_json::from_slice(params).unwrap_or(Value::Null);
    if let Err(error) = Request::parse(&String::from_utf8_lossy(method), params) {
        assert!(error.message.ends_with('.') && error.message.len() < 4_096, "{}", error.message);
    }
}

fn start(params: &Value) {
    let (start_up, warnings) = read_start_up(params, Overrides::default());
    assert!(warnings.iter().all(|warning| warning.ends_with('.')), "{warnings:?}");
    let said = params.pointer("/initializationOptions/workspaceTrusted").and_then(Value::as_bool);
    assert_eq!(start_up.options.workspace_trusted, said);

    let options = serde_json::to_value(&start_up.options).expect("settings are JSON");
    let (again, warnings) = read_start_up(&json!({ "initializationOptions": options }), Overrides::default());
    assert_eq!((again.options, warnings.as_slice()), (start_up.options.clone(), [].as_slice()));

    let settings = Settings::layered(start_up.options, &Overrides::default());
    assert_eq!(settings.workspace_trusted, said == Some(true));
    assert!(settings.delivery.max_latency_ms <= 1_000);
    assert!((1..=4_096).contains(&settings.delivery.max_events));
    assert!((4_096..=8 << 20).contains(&settings.delivery.max_bytes));
    assert!(settings.journal_bytes >= 1 << 20);
    assert!(settings.ask_expiry_ms.is_none_or(|ms| ms > 0));
}
