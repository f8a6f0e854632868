//! A server at an address, over streamable HTTP.
//!
//! Owns what is sent there: the user's headers, to this address alone. No redirect is followed, and no header goes over a line that
//! others can read.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use url::Url;

use crate::http::{BaseUrl, builder, trusting};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Bytes of one answer or event; more is refused.
pub(super) const ANSWER: usize = 16 << 20;

/// The way to a server.
pub(super) type HttpTransport = StreamableHttpClientTransport<reqwest::Client>;

/// The way to the server at this address. Reads certificates, so it may block.
///
/// # Errors
/// One sentence, when the address or a header cannot be used.
pub(super) fn transport(
    name: &str,
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<HttpTransport, String> {
    let refuse = |why: &str| Err(format!("The tool server `{name}` {why}"));
    let Some((address, origin)) = read(url) else {
        return refuse("has an address that is none; give it a whole http or https URL.");
    };
    if origin.is_readable_on_the_way() && !headers.is_empty() {
        return refuse(
            "has headers, which would go to another machine over http, where others can read them; give it an https URL.",
        );
    }
    let mut custom = HashMap::new();
    for (header, value) in headers {
        let Ok(header_name) = HeaderName::try_from(header.as_str()) else {
            return refuse(&format!("has a header `{header}`, which is no name of one; correct it."));
        };
        let Ok(mut header_value) = HeaderValue::try_from(value.as_str()) else {
            return refuse(&format!("has a header `{header}` whose value cannot be sent; correct it."));
        };
        header_value.set_sensitive(true);
        custom.insert(header_name, header_value);
    }
    let client = trusting(builder(origin.route()).connect_timeout(CONNECT), &origin, None)
        .map_err(|why| format!("The tool server `{name}` cannot be reached: {why}."))?;
    let config = StreamableHttpClientTransportConfig::with_uri(address.as_str())
        .custom_headers(custom)
        .max_sse_event_size(ANSWER)
        .max_json_response_size(ANSWER);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// The address, and the origin that decides about the way there.
fn read(url: &str) -> Option<(Url, BaseUrl)> {
    let address = Url::parse(url.trim()).ok()?;
    let origin = BaseUrl::parse(&address.origin().ascii_serialization()).ok()?;
    let is_plain = address.username().is_empty() && address.password().is_none();
    is_plain.then_some((address, origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn headers_go_over_no_line_that_others_can_read() {
        let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer canary".to_owned())]);
        let none = BTreeMap::new();
        let refused = |url: &str, headers: &BTreeMap<String, String>| transport("docs", url, headers).err();
        let readable = refused("http://10.0.0.1/mcp", &headers).expect("is refused");
        assert!(readable.contains("https") && !readable.contains("canary"), "{readable}");
        assert_eq!(refused("http://127.0.0.1:1/mcp?x=1", &headers), None);
        for url in ["", "h:1", "ftp://h", "http://user:canary@h"] {
            let sentence = refused(url, &none).expect("is refused");
            assert!(sentence.contains("address") && !sentence.contains("canary"), "{url}: {sentence}");
        }
    }
}
