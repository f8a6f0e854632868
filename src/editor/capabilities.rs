//! What we tell the editor that we can do.
//!
//! Owns the answer to `initialize`. Never reads what the editor can do: `options` does.

use serde_json::{Value, json};
use tower_lsp::lsp_types::{
    InitializeResult, OneOf, PositionEncodingKind, ServerCapabilities, ServerInfo,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use crate::domain::edits::overlay::PositionEncoding;
use crate::protocol::method::{NOTIFICATIONS, announced_methods};
use crate::protocol::version::{SERVER_NAME, SERVER_VERSION, WIRE_VERSION};

/// The answer to `initialize`.
pub fn announce(encoding: PositionEncoding) -> InitializeResult {
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
                save: Some(TextDocumentSyncSaveOptions::Supported(false)),
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
                    "textDocumentSync": { "openClose": true, "change": 2, "save": false },
                    "workspace": { "workspaceFolders": { "supported": true, "changeNotifications": true } },
                    "experimental": { "breadboard": {
                        "v": 1, "methods": announced_methods(), "notifications": NOTIFICATIONS } },
                },
            })
        );
    }
}
