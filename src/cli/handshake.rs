//! From nothing to a server that said hello: what `ask` and `doctor` begin with.
//!
//! Owns how the child is started and what it is told. Never starts a turn.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::args::{ServerArgs, forwarded};
use super::client::{Client, ClientError};
use crate::protocol::request::InitResult;
use crate::protocol::version::{SERVER_NAME, SERVER_VERSION};

/// Longest wait for one answer of the handshake. Answers come when accepted, in milliseconds; a cold disk takes longer.
pub(super) const ANSWER: Duration = Duration::from_secs(20);
/// Longest wait for the server's end.
pub(super) const END: Duration = Duration::from_secs(3);

/// Starts this very program as a server with the same settings. Trust goes by `initialize`, as from an editor.
pub(super) fn start(args: &ServerArgs) -> Result<Client, ClientError> {
    let program = std::env::current_exe().map_err(|error| {
        ClientError::Start(format!("This program does not find itself ({error}); start it by its full path."))
    })?;
    let mut command = Command::new(program);
    command.arg("--stdio").args(forwarded(args));
    Client::start(command)
}

/// `initialize` and `initialized`; gives what the server announced.
pub(super) fn initialize(client: &mut Client, workspace: &Path, trust: bool) -> Result<Value, ClientError> {
    let uri = url::Url::from_directory_path(workspace).map_err(|()| {
        ClientError::Start(format!(
            "{} is not an absolute path; give another --workspace.",
            workspace.display()
        ))
    })?;
    // Editors spell a folder without the last slash.
    let uri = uri.as_str().trim_end_matches('/');
    let name =
        workspace.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut params = json!({
        "processId": std::process::id(),
        "clientInfo": { "name": format!("{SERVER_NAME} ask"), "version": SERVER_VERSION },
        "rootUri": uri,
        "workspaceFolders": [{ "uri": uri, "name": name }],
        "capabilities": {
            "general": { "positionEncodings": ["utf-8", "utf-16"] },
            "experimental": { "breadboard": {} },
        },
    });
    if let (true, Some(map)) = (trust, params.as_object_mut()) {
        map.insert("initializationOptions".to_owned(), json!({ "workspaceTrusted": true }));
    }
    let announced = client.request("initialize", params, ANSWER)?;
    client.notify("initialized", json!({}))?;
    Ok(announced)
}

/// `bb/init`, for events alone.
pub(super) fn hello(client: &mut Client) -> Result<InitResult, ClientError> {
    let subscribe = json!({ "subscribe": { "events": true, "view": false, "tabs": false } });
    let said = client.request("bb/init", subscribe, ANSWER)?;
    serde_json::from_value(said).map_err(|error| {
        ClientError::Nonsense(format!(
            "The server's answer to `bb/init` does not fit this version ({error})."
        ))
    })
}
