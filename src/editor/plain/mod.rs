//! What an editor without our plugin is offered by standard LSP: its requests read, and the answers in its words.
//!
//! Owns the shapes of LSP for that, and which of them are announced. Never decides what is offered: the loop does.

mod read;
mod write;

use serde_json::{Value, json};

pub(super) use self::read::{read_abilities, read_request};
pub(super) use self::write::{Shapes, write_answer};
use crate::app::inbox::commands::COMMANDS;

/// The requests, and the names under which they pass the framework, which has handlers of its own for them.
pub(super) const STANDARD: &[(&str, &str)] = &[
    ("textDocument/codeAction", "standard:textDocument/codeAction"),
    ("textDocument/codeLens", "standard:textDocument/codeLens"),
    ("textDocument/inlayHint", "standard:textDocument/inlayHint"),
    ("textDocument/completion", "standard:textDocument/completion"),
    ("workspace/executeCommand", "standard:workspace/executeCommand"),
];

/// Announces it to an editor that does not know us: one with a plugin of ours shows everything itself.
pub(super) fn announce_standard(result: &mut Value, params: &Value) {
    if read_abilities(params).is_none() {
        return;
    }
    let Some(capabilities) = result.pointer_mut("/capabilities") else { return };
    capabilities["codeActionProvider"] =
        json!({ "codeActionKinds": ["quickfix", "refactor.rewrite", "refactor"] });
    capabilities["codeLensProvider"] = json!({ "resolveProvider": false });
    capabilities["inlayHintProvider"] = json!({ "resolveProvider": false });
    capabilities["completionProvider"] = json!({ "triggerCharacters": ["/", "@"], "resolveProvider": false });
    capabilities["executeCommandProvider"] = json!({ "commands": COMMANDS });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_it_is_announced_to_an_editor_with_our_plugin() {
        let announced = |capabilities: Value| {
            let mut result = json!({ "capabilities": {} });
            announce_standard(&mut result, &json!({ "capabilities": capabilities }));
            result["capabilities"].clone()
        };
        let documents = json!({});
        let with_plugin = json!({ "textDocument": documents, "experimental": { "breadboard": {} } });
        assert_eq!(announced(with_plugin), json!({}));
        let plain = announced(json!({ "textDocument": documents, "experimental": { "other": {} } }));
        assert_eq!(
            plain["executeCommandProvider"]["commands"].as_array().map(Vec::len),
            Some(COMMANDS.len())
        );
        assert_eq!(plain["completionProvider"]["triggerCharacters"], json!(["/", "@"]));
    }
}
