//! Lines of an agent: read, made into events, and these through the session.
//!
//! A line is read as what a parser that builds everything finds in it; ids come back as they were; every line is an event.
//! How lines are cut: `agent_lines`.

use breadboard_core::domain::dialect::Dialect;
use breadboard_core::domain::dialect::acp::decode::{
    AcpLine, RpcId, UPDATE, ask_event, ask_id, asked_by, method_event, prompt_event, read_line,
    unreadable_event, update_event,
};
use breadboard_core::domain::dialect::acp::results::{InitializeResult, ListResult, SessionResult, read};
use breadboard_core::domain::payload::Payload;
use serde_json::{Value, json};

use super::json::{has_a_name_twice, strict};
use super::session::Session;

/// See the module.
pub fn run(data: &[u8]) {
    let mut session = Session::new(Dialect::Acp);
    for bytes in data.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let read = read_line(bytes);
        check_against_a_parser(bytes, &read.line, read.repaired);
        told(&mut session, read.line);
    }
    session.end();
}

fn check_against_a_parser(bytes: &[u8], line: &AcpLine, repaired: bool) {
    let Ok(text) = std::str::from_utf8(bytes.trim_ascii()) else { return };
    let Some(value) = strict(text) else { return };
    assert!(!repaired);
    // A message that says a thing twice is no message: it becomes an event, whole.
    if has_a_name_twice(text) {
        return;
    }
    let Value::Object(message) = &value else {
        assert!(matches!(line, AcpLine::Unreadable { .. }));
        return;
    };
    let object = |payload: &Payload| Value::Object(payload.clone().into());
    let params = match message.get("params") {
        None | Some(Value::Null) => json!({}),
        Some(params @ Value::Object(_)) => params.clone(),
        Some(params) => json!({ "params": params }),
    };
    match line {
        AcpLine::Request { id, method, params: read } => {
            assert_eq!(message.get("method"), Some(&json!(method)));
            assert_eq!(object(read), params);
            same_id(id, &message["id"]);
        }
        AcpLine::Notification { method, params: read } => {
            assert_eq!((message.get("method"), message.get("id")), (Some(&json!(method)), None));
            assert_eq!(object(read), params);
        }
        AcpLine::Answer { id, outcome } => {
            assert_eq!(message.get("method"), None);
            same_id(id, message.get("id").unwrap_or(&Value::Null));
            let has_error = message.get("error").is_some_and(|error| !error.is_null());
            assert_eq!(outcome.is_err(), has_error);
            if let (Ok(result), Some(expected @ Value::Object(_))) = (outcome, message.get("result")) {
                assert_eq!(object(result), *expected);
            }
        }
        AcpLine::Unreadable { raw } => {
            let is_call = message.get("method").is_some_and(Value::is_string);
            let has_no_id =
                message.get("id").is_none_or(|id| id.is_array() || id.is_object() || id.is_boolean());
            assert!(!is_call || (has_no_id && message.contains_key("id")), "a message was not read");
            assert_eq!(raw.as_bytes(), bytes.trim_ascii());
        }
    }
}

fn same_id(id: &RpcId, value: &Value) {
    assert_eq!(serde_json::from_str::<Value>(id.json()).ok().as_ref(), Some(value));
    assert_eq!(RpcId::from_json(id.json()).as_ref(), Some(id));
    assert_eq!(asked_by(&ask_id(7, id)), Some((7, id.clone())), "the ask cannot be answered");
}

/// The events of a line, as the adapter makes them.
fn told(session: &mut Session, line: AcpLine) {
    match line {
        AcpLine::Request { id, method, params } => {
            session.take(ask_event(&method, params.clone(), 3, &id));
            session.take(method_event(&method, params));
        }
        AcpLine::Notification { method, params } => {
            let update = (method == UPDATE).then(|| update_event(&params)).flatten();
            session.take(update.map_or_else(|| method_event(&method, params), |(_, event)| event));
        }
        AcpLine::Answer { outcome, .. } => {
            session.take(prompt_event(&outcome, None));
            if let Ok(result) = outcome {
                read::<InitializeResult>(&result);
                read::<SessionResult>(&result);
                read::<ListResult>(&result);
            }
        }
        AcpLine::Unreadable { raw } => session.take(unreadable_event(&raw)),
    }
}
