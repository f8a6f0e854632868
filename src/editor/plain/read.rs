//! Requests of standard LSP, read leniently.
//!
//! Owns the way from their params to what the loop is asked.

use serde_json::Value;

use crate::app::inbox::{PlainAbilities, StandardRequest};
use crate::domain::edits::overlay::Position;

/// Problems of other servers that are passed on with a place.
const PROBLEMS: usize = 20;

/// What an editor can do without a plugin of ours, by what `initialize` said; `None` of one that has it, and of a client that
/// announces nothing for documents: that is no editor, and is here for `bb/*`.
pub(in crate::editor) fn read_abilities(params: &Value) -> Option<PlainAbilities> {
    let announces = |path: &str| params.pointer(path).is_some_and(Value::is_object);
    let is_plain =
        announces("/capabilities/textDocument") && !announces("/capabilities/experimental/breadboard");
    let able = |path: &str| params.pointer(path).and_then(Value::as_bool).unwrap_or(false);
    is_plain.then(|| PlainAbilities {
        show_document: able("/capabilities/window/showDocument/support"),
        refresh_lenses: able("/capabilities/workspace/codeLens/refreshSupport"),
        refresh_hints: able("/capabilities/workspace/inlayHint/refreshSupport"),
    })
}

/// Reads a request; `None`: its params are not what LSP says.
pub(in crate::editor) fn read_request(method: &str, params: &Value) -> Option<StandardRequest> {
    let uri = || params.pointer("/textDocument/uri").and_then(Value::as_str).map(str::to_owned);
    Some(match method {
        "textDocument/codeAction" => {
            let range = params.get("range")?;
            let problems =
                params.pointer("/context/diagnostics").and_then(Value::as_array).into_iter().flatten();
            // Ours are not problems of the code.
            let theirs = problems.filter(|problem| problem["source"] != "breadboard");
            let problems = theirs.filter_map(|problem| problem["message"].as_str().map(str::to_owned));
            StandardRequest::Actions {
                uri: uri()?,
                range: (position(range.get("start")?)?, position(range.get("end")?)?),
                problems: problems.take(PROBLEMS).collect(),
            }
        }
        "textDocument/codeLens" => StandardRequest::Lenses { uri: uri()? },
        "textDocument/inlayHint" => StandardRequest::Hints { uri: uri()? },
        "textDocument/completion" => {
            StandardRequest::Words { uri: uri()?, at: position(params.get("position")?)? }
        }
        "workspace/executeCommand" => StandardRequest::Execute {
            command: params.get("command")?.as_str()?.to_owned(),
            argument: params.pointer("/arguments/0").cloned().unwrap_or_default(),
        },
        _ => return None,
    })
}

fn position(value: &Value) -> Option<Position> {
    let number = |key: &str| u32::try_from(value.get(key)?.as_u64()?).ok();
    Some(Position { line: number("line")?, character: number("character")? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_editor_is_plain_that_announces_documents_and_no_plugin() {
        let plain = |capabilities: Value| read_abilities(&json!({ "capabilities": capabilities })).is_some();
        assert!(plain(json!({ "textDocument": {} })));
        assert!(!plain(json!({ "textDocument": {}, "experimental": { "breadboard": {} } })));
        assert!(!plain(json!({})) && !plain(json!({ "window": { "workDoneProgress": true } })));
    }

    #[test]
    fn requests_are_read_and_what_is_none_is_refused() {
        let at = |line, character| Position { line, character };
        let range = json!({ "start": { "line": 1, "character": 2 }, "end": { "line": 3, "character": 4 } });
        let asked = json!({ "textDocument": { "uri": "u" }, "range": range, "context": { "diagnostics": [
            { "message": "mine", "source": "breadboard" }, { "message": "wrong" }, {}] } });
        assert_eq!(
            read_request("textDocument/codeAction", &asked),
            Some(StandardRequest::Actions {
                uri: "u".to_owned(),
                range: (at(1, 2), at(3, 4)),
                problems: vec!["wrong".to_owned()]
            })
        );
        let run = json!({ "command": "c", "arguments": [{ "a": 1 }, 2] });
        assert_eq!(
            read_request("workspace/executeCommand", &run),
            Some(StandardRequest::Execute { command: "c".to_owned(), argument: json!({ "a": 1 }) })
        );
        assert_eq!(read_request("textDocument/completion", &json!({ "textDocument": { "uri": "u" } })), None);
        assert_eq!(read_request("textDocument/codeLens", &json!([])), None);
    }
}
