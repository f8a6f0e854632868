//! What we tell the editor that we can do.
//!
//! Owns the answer to `initialize`. Never reads what the editor can do: `options` does.

use serde_json::{Value, json};
use tower_lsp::lsp_types::{
    InitializeResult, OneOf, PositionEncodingKind, ServerCapabilities, ServerInfo,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use crate::domain::edits::diff_uri::SCHEME;
use crate::domain::edits::overlay::PositionEncoding;
use crate::protocol::method::announced_methods;
use crate::protocol::server_message::NOTIFICATIONS;
use crate::protocol::version::{SERVER_NAME, SERVER_VERSION, WIRE_VERSION};

/// The answer to `initialize`.
pub(super) fn announce(encoding: PositionEncoding) -> InitializeResult {
    let encoding = match encoding {
        PositionEncoding::Utf8 => PositionEncodingKind::UTF8,
        PositionEncoding::Utf16 => PositionEncodingKind::UTF16,
        PositionEncoding::Utf32 => PositionEncodingKind::UTF32,
    };
    InitializeResult {
        capabilities: ServerCapabilities {
            position_encoding: Some(encoding),
            text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::INCREMENTAL),
                save: Some(TextDocumentSyncSaveOptions::Supported(true)),
                ..TextDocumentSyncOptions::default()
            })),
            workspace: Some(WorkspaceServerCapabilities {
                workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                    supported: Some(true),
                    change_notifications: Some(OneOf::Left(true)),
                }),
                ..WorkspaceServerCapabilities::default()
            }),
            experimental: Some(experimental()),
            ..ServerCapabilities::default()
        },
        server_info: Some(ServerInfo {
            name: SERVER_NAME.to_owned(),
            version: Some(SERVER_VERSION.to_owned()),
        }),
    }
}

/// What the framework's types cannot say yet (LSP 3.18): documents of our scheme, for an editor that asks for such.
pub(super) fn announce_documents(result: &mut Value, params: &Value) {
    let asks = params.pointer("/capabilities/workspace/textDocumentContent").is_some_and(Value::is_object);
    if asks && let Some(workspace) = result.pointer_mut("/capabilities/workspace") {
        workspace["textDocumentContent"] = json!({ "schemes": [SCHEME] });
    }
}

fn experimental() -> Value {
    json!({ "breadboard": {
        "v": WIRE_VERSION,
        "methods": announced_methods(),
        "notifications": NOTIFICATIONS,
    } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_announcement_is_what_the_contract_says() {
        let announced = serde_json::to_value(announce(PositionEncoding::Utf8)).unwrap();
        assert_eq!(
            announced,
            json!({
                "serverInfo": { "name": "breadboard-ls", "version": SERVER_VERSION },
                "capabilities": {
                    "positionEncoding": "utf-8",
                    "textDocumentSync": { "openClose": true, "change": 2, "save": true },
                    "workspace": { "workspaceFolders": { "supported": true, "changeNotifications": true } },
                    "experimental": { "breadboard": {
                        "v": 1, "methods": announced_methods(), "notifications": NOTIFICATIONS } },
                },
            })
        );
    }

    #[test]
    fn r000_32_documents_are_announced_to_an_editor_that_asks_for_such_and_to_no_other() {
        let announced = |workspace: Value| {
            let mut result = serde_json::to_value(announce(PositionEncoding::Utf8)).unwrap();
            announce_documents(&mut result, &json!({ "capabilities": { "workspace": workspace } }));
            result["capabilities"]["workspace"].get("textDocumentContent").cloned()
        };
        let asks = json!({ "textDocumentContent": { "dynamicRegistration": true } });
        assert_eq!(announced(asks), Some(json!({ "schemes": ["bb-diff"] })));
        assert_eq!(announced(json!({})), None);
        assert_eq!(announced(json!({ "textDocumentContent": null })), None);
    }
}
