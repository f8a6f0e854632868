//! HTTP answers: bodies, the error envelope and the places where the engine breaks it. Section 1 of the facts.

use std::io;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use super::python_json;

/// The body of an answer.
pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;
/// An answer.
pub(super) type HttpAnswer = Response<Body>;
/// An answer that ends a request early, small enough to be an error.
pub(super) type HttpRefusal = Box<HttpAnswer>;

/// Bytes as a body.
pub(super) fn bytes(status: u16, content_type: &str, body: impl Into<Bytes>) -> HttpAnswer {
    let full = Full::new(body.into()).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(full);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = content_type.parse() {
        response.headers_mut().insert("content-type", value);
    }
    response
}

/// JSON with a status.
pub(super) fn json_with(status: u16, value: &Value) -> HttpAnswer {
    bytes(status, "application/json", python_json::text(value))
}

/// 200 with JSON.
pub(super) fn ok(value: &Value) -> HttpAnswer {
    json_with(200, value)
}

/// The envelope of an error. The code follows from the status: everything from 500 on is `internal`, 501 too.
pub(super) fn refused(status: u16, detail: impl Into<Value>) -> HttpAnswer {
    let code = match status {
        401 => "unauthorized",
        404 => "not_found",
        409 => "conflict",
        500.. => "internal",
        _ => "invalid_request",
    };
    envelope(status, code, detail.into())
}

/// The stream cannot be taken up where it was asked to.
pub(super) fn out_of_window(detail: Value) -> HttpAnswer {
    envelope(409, "resume_window_exceeded", detail)
}

/// 404 for a session that is not there.
pub(super) fn no_session() -> HttpAnswer {
    refused(404, "session not found")
}

/// No route: the framework's own shape, not the envelope.
pub(super) fn no_route() -> HttpAnswer {
    json_with(404, &json!({"detail": "Not Found"}))
}

/// The route knows other methods.
pub(super) fn no_method() -> HttpAnswer {
    json_with(405, &json!({"detail": "Method Not Allowed"}))
}

/// A field is missing or has the wrong type.
pub(super) fn unprocessable(kind: &str, loc: &[&str], msg: &str, input: Value) -> HttpAnswer {
    refused(422, json!({"errors": [{"type": kind, "loc": loc, "msg": msg, "input": input}]}))
}

/// A custom validator refused: the engine's own handler for that fails, so it is plain text.
pub(super) fn crashed() -> HttpAnswer {
    bytes(500, "text/plain; charset=utf-8", "Internal Server Error")
}

fn envelope(status: u16, code: &str, detail: Value) -> HttpAnswer {
    json_with(status, &json!({"error": code, "detail": detail, "path": null}))
}
