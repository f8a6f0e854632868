//! Answers and bodies over HTTP: JSON both ways, one body for every refusal.
//!
//! Owns the reading of a body or a query, strictly. Never lets the framework's own refusals out, which are plain text.

use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::protocol::desktop::refusal::{DesktopRefusal, RefusalBody, RefusalCode};

/// Bytes of a body. The largest is a search.
pub(super) const BODY_BYTES: usize = 1 << 20;

/// The answer of a route.
pub(super) type RouteAnswer<T> = Result<OkBody<T>, RouteRefusal>;

/// A body, with status 200.
pub(super) struct OkBody<T>(pub(super) T);

/// A refusal, with the status of its code.
pub(super) struct RouteRefusal(pub(super) DesktopRefusal);

impl From<DesktopRefusal> for RouteRefusal {
    fn from(refusal: DesktopRefusal) -> Self {
        Self(refusal)
    }
}

impl<T: Serialize> IntoResponse for OkBody<T> {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self.0)
    }
}

impl IntoResponse for RouteRefusal {
    fn into_response(self) -> Response {
        let code = self.0.code;
        let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json(status, &RefusalBody { error: self.0 });
        if code == RefusalCode::Unauthorized {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        if code == RefusalCode::RateLimited {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}

fn json(status: StatusCode, body: &impl Serialize) -> Response {
    // Our own types always serialise.
    let text = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, header::HeaderValue::from_static("nosniff"));
    response
}

/// A body that is JSON of this type.
pub(super) struct JsonBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = RouteRefusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, RouteRefusal> {
        let bytes = match Bytes::from_request(request, state).await {
            Ok(bytes) => bytes,
            Err(BytesRejection::FailedToBufferBody(failed))
                if failed.status() == StatusCode::PAYLOAD_TOO_LARGE =>
            {
                let message = format!("The body has more than {BODY_BYTES} bytes; send less.");
                return Err(DesktopRefusal::new(RefusalCode::TooLarge, message).into());
            }
            Err(_) => return Err(bad("The body could not be read to its end").into()),
        };
        // Every body is an object; a list of its fields in their order is not one.
        let object = serde_json::from_slice::<Map<String, Value>>(&bytes);
        object.and_then(|object| serde_json::from_value(Value::Object(object))).map(Self).map_err(|error| {
            let why: String = error.to_string().chars().take(300).collect();
            bad(&format!("The body is not what its schema says ({why})")).into()
        })
    }
}

/// A query of this type.
pub(super) struct RouteQuery<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for RouteQuery<T> {
    type Rejection = RouteRefusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, RouteRefusal> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        read.map(|Query(query)| Self(query))
            .map_err(|_| bad("The query of the address is not what the document says").into())
    }
}

/// The places in the address.
pub(super) struct Placed<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Placed<T> {
    type Rejection = RouteRefusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, RouteRefusal> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        read.map(|axum::extract::Path(places)| Self(places))
            .map_err(|_| DesktopRefusal::new(RefusalCode::NotFound, "The address names nothing here.").into())
    }
}

fn bad(why: &str) -> DesktopRefusal {
    DesktopRefusal::new(RefusalCode::BadMessage, format!("{why}; correct it and ask again."))
}
