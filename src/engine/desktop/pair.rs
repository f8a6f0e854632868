//! Pairing with a host: the code in its terminal, traded for its token.
//!
//! Owns the one request. The code goes nowhere but to this host, never over a way on which it could be read, and never twice.

use std::path::PathBuf;

use reqwest::Method;
use serde_json::json;

use super::client::HostClient;
use super::trouble::HostTrouble;
use crate::app::ports::Secret;
use crate::domain::dialect::desktop::http;
use crate::http::NoBaseUrl;

/// The token of the host at `url`, for the code that is shown there.
///
/// # Errors
/// One sentence: no URL, a way that can be read on, no host, or another code.
pub(crate) async fn pair(url: &str, ca_file: Option<PathBuf>, code: &str) -> Result<Secret, String> {
    let base_url = super::base_of(url).map_err(|NoBaseUrl| {
        "The host's URL must be an http or https URL without a user name or a query, such as http://127.0.0.1:3199."
            .to_owned()
    })?;
    let origin = base_url.origin().to_owned();
    if base_url.is_readable_on_the_way() {
        return Err(format!(
            "The token of the host at {origin} would be readable on the way; give its https address."
        ));
    }
    let client = HostClient::new(base_url, None, ca_file);
    let body = json!({ "code": code });
    let answer = client.ask(Method::POST, &["v1", "pair"], Some(&body)).await.map_err(|trouble| match trouble {
        HostTrouble::Unauthorized { .. } => format!(
            "The host at {origin} does not take this code; type the newest one in its terminal, or press Enter there for another."
        ),
        HostTrouble::NoRoute => format!(
            "The host at {origin} pairs with nobody; set its token instead, which it keeps where it says at its start."
        ),
        HostTrouble::Busy(_) => {
            format!("Too many codes were tried at the host at {origin}; wait a few seconds and try again.")
        }
        other => other.told(&origin).message,
    })?;
    http::paired_token(&answer)
        .map(|token| Secret(token.to_owned()))
        .ok_or_else(|| format!("What answers at {origin} is no desktop host; correct its address."))
}
