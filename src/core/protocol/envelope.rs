//! The v1 envelope of seed 000: what a webview and its host say, carried over the LSP wire by `bb/rpc`.
//!
//! Owns its shapes and their validation. Never handles a method: `bb.a.b` is `bb/a/b`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::method::{REQUESTS, unknown_method};
use super::version::WIRE_VERSION;
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::shown::{Kind, show};

/// A request in an envelope (R000-09).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RpcReq {
    /// Always 1.
    #[schemars(range(min = 1, max = 1))]
    pub v: u64,
    /// Always `req`.
    pub kind: ReqKind,
    /// The caller's id; the answer carries it back.
    pub id: String,
    /// `bb.init`, `bb.createSession` …
    pub method: String,
    /// Params as on the LSP wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
}

/// The one kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReqKind {
    /// A request.
    Req,
}

/// An answer in an envelope (R000-10, R000-11, R000-17): `ok: true` has no `error`, `ok: false` no `result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RpcRes {
    /// Always 1.
    #[schemars(range(min = 1, max = 1))]
    pub v: u64,
    /// Always `res`.
    pub kind: ResKind,
    /// Id of the request.
    pub id: String,
    /// Whether it worked.
    pub ok: bool,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
}

/// The one kind of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ResKind {
    /// An answer.
    Res,
}

/// `error` of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RpcError {
    /// The stable code.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// More.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// A notification in an envelope (R000-12): what a thin host makes of each `bb/*` notification for its webview.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RpcEvt {
    /// Always 1.
    #[schemars(range(min = 1, max = 1))]
    pub v: u64,
    /// Always `evt`.
    pub kind: EvtKind,
    /// The LSP method of the notification.
    pub topic: Topic,
    /// Its params.
    pub payload: Value,
}

/// The one kind of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EvtKind {
    /// A notification.
    Evt,
}

/// The topics (R000-13): the three of the seed, and those that a webview asked for in `bb.init` (ruling 23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Topic {
    /// The connection to the engine.
    #[serde(rename = "bb/connection")]
    Connection,
    /// Sessions and their state.
    #[serde(rename = "bb/state")]
    State,
    /// Events, raw.
    #[serde(rename = "bb/events")]
    Events,
    /// Changes of the view.
    #[serde(rename = "bb/view")]
    View,
    /// Messages of tabs.
    #[serde(rename = "bb/tab")]
    Tab,
}

/// What a payload turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Opened {
    /// A request to be handled under its LSP name.
    Request {
        /// The caller's id.
        id: String,
        /// The LSP method, `bb/a/b`.
        method: String,
        /// Params.
        params: Value,
    },
    /// A violation, or an unknown method, that the envelope can answer.
    Violation(RpcRes),
    /// Without a usable `id` only JSON-RPC can answer: `-32602`.
    Unanswerable(CodedError),
}

/// Reads one envelope. Invalid ones run no handler (R000-14, R000-19).
pub fn open(payload: &Value) -> Opened {
    let Some(id) = payload.get("id").and_then(Value::as_str) else {
        return Opened::Unanswerable(CodedError::new(
            ErrorCode::InvalidParams,
            "A `bb/rpc` payload needs a string `id`; send one v1 request envelope.",
        ));
    };
    let violation = |message: &str| {
        Opened::Violation(failed(id.to_owned(), &CodedError::new(ErrorCode::InvalidParams, message)))
    };
    if payload.get("v").and_then(Value::as_f64) != Some(f64::from(WIRE_VERSION)) {
        return violation("This server speaks envelope version 1; send `v: 1`.");
    }
    if payload.get("kind").and_then(Value::as_str) != Some("req") {
        return violation("Only requests may be sent here; send `kind: \"req\"`.");
    }
    let Some(method) = payload.get("method").and_then(Value::as_str) else {
        return violation("An envelope needs a string `method`.");
    };
    let Some(lsp_method) = lsp_name(method) else {
        return Opened::Violation(failed(id.to_owned(), &unknown_method(method)));
    };
    let params = match payload.get("params") {
        None | Some(Value::Null) => json!({}),
        Some(params) => params.clone(),
    };
    Opened::Request { id: id.to_owned(), method: lsp_method, params }
}

/// `bb.a.b` as the LSP wire calls it, where it is a method of the loop.
fn lsp_name(method: &str) -> Option<String> {
    REQUESTS.iter().find(|known| known.split('/').eq(method.split('.'))).map(|known| (*known).to_owned())
}

/// An answer that worked.
pub fn succeeded(id: String, result: Value) -> RpcRes {
    RpcRes { v: u64::from(WIRE_VERSION), kind: ResKind::Res, id, ok: true, result: Some(result), error: None }
}

/// An answer that says why not.
pub fn failed(id: String, error: &CodedError) -> RpcRes {
    RpcRes {
        v: u64::from(WIRE_VERSION),
        kind: ResKind::Res,
        id,
        ok: false,
        result: None,
        error: Some(RpcError {
            code: error.code.as_str().to_owned(),
            message: show(&error.message, Kind::Lines).into_owned(),
            details: error.details.clone(),
        }),
    }
}
