//! A message of the server as it came: its parameters, and its text on one line.
//!
//! Owns no state, and decides nothing about what a message says.

use serde_json::Value;

use crate::cli::client::ClientError;

#[derive(serde::Deserialize)]
struct HeardMessage<P> {
    params: P,
}

pub(super) fn params_of<P: serde::de::DeserializeOwned>(raw: &str) -> Result<P, ClientError> {
    serde_json::from_str::<HeardMessage<P>>(raw).map(|message| message.params).map_err(|error| {
        ClientError::Nonsense(format!("A notification of the server does not fit this version ({error})."))
    })
}

/// The message as it came, on one line. Only a message that was laid out over several lines is written anew.
pub(super) fn one_line(raw: &str) -> String {
    let raw = raw.trim();
    if !raw.contains(['\n', '\r']) {
        return raw.to_owned();
    }
    serde_json::from_str::<Value>(raw)
        .map_or_else(|_| raw.replace(['\n', '\r'], " "), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a_message_laid_out_over_lines_becomes_one_line() {
        assert_eq!(one_line("{\"a\": 1}"), "{\"a\": 1}");
        assert_eq!(one_line("{\r\n  \"a\": 1\n}"), "{\"a\":1}");
    }
}
