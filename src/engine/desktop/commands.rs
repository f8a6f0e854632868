//! Commands of a desktop host: its policy and its index, over its routes.
//!
//! Owns their names. What each needs before it may be given is the loop's.

use reqwest::Method;
use serde_json::{Map, Value};

use super::DesktopParts;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::protocol::request::CommandResult;

/// Their names.
const NAMES: &str =
    "`policy_get`, `policy_set`, `index_status`, `index_rebuild`, `index_refresh` and `index_incremental`";

/// Runs one.
pub(super) async fn run(
    parts: &DesktopParts,
    session_id: &str,
    command: &str,
    args: Map<String, Value>,
) -> Result<CommandResult, CodedError> {
    let (method, path): (Method, &[&str]) = match command.trim() {
        "policy_get" => (Method::GET, &["policy"]),
        "policy_set" => (Method::PUT, &["policy"]),
        "index_status" => (Method::GET, &["index", "status"]),
        "index_rebuild" => (Method::POST, &["index", "rebuild"]),
        "index_refresh" => (Method::POST, &["index", "refresh"]),
        "index_incremental" => (Method::POST, &["index", "incremental"]),
        _ => {
            return Err(CodedError::new(
                ErrorCode::Unsupported,
                format!("A desktop host has no such command; it has {NAMES}."),
            ));
        }
    };
    let Some(workspace_id) = parts.workspace_of(session_id) else {
        return Err(CodedError::new(
            ErrorCode::NotFound,
            "Which workspace of the host this session belongs to is not known; list the sessions and try again.",
        ));
    };
    let path = [&["v1", "workspaces", workspace_id.as_str()], path].concat();
    let body = (method != Method::GET).then(|| Value::Object(args));
    let answer = match method {
        Method::GET => parts.client.get(&path, &[]).await,
        method => parts.client.ask(method, &path, body.as_ref()).await,
    };
    let detail = answer.map_err(|trouble| parts.told(&trouble))?;
    Ok(CommandResult {
        session_id: session_id.to_owned(),
        status: "accepted".to_owned(),
        detail: Some(detail).filter(|detail| !detail.is_null()),
    })
}
