//! The one route that needs no token: a pairing code for the token.
//!
//! Owns the route. Whatever is not the code that is open is refused alike.

use std::sync::Arc;

use axum::extract::State;

use super::answer::{JsonBody, OkBody, RouteAnswer, RouteRefusal};
use super::host::DesktopHost;
use crate::protocol::desktop::body::{PairBody, PairedBody};

/// Where it is.
pub(super) const PATH: &str = "/v1/pair";

/// `POST /v1/pair`.
pub(super) async fn pair(
    State(host): State<Arc<DesktopHost>>,
    body: Result<JsonBody<PairBody>, RouteRefusal>,
) -> RouteAnswer<PairedBody> {
    let code = body.map(|JsonBody(PairBody { code })| code).unwrap_or_default();
    let token = host.pairing.trade(&code)?;
    Ok(OkBody(PairedBody { token }))
}
