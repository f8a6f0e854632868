//! Which authorities a client believes, for an endpoint that the user chose.
//!
//! Owns the choice: the system's, those of a file beside them, or none where no TLS is spoken. Reads files, so it may block.

use std::path::Path;

use super::base_url::BaseUrl;

/// The client for this endpoint.
///
/// # Errors
/// The end of a sentence, when the certificates cannot be read or TLS cannot be set up.
pub(crate) fn trusting(
    builder: reqwest::ClientBuilder,
    base_url: &BaseUrl,
    ca_file: Option<&Path>,
) -> Result<reqwest::Client, String> {
    let mut builder = builder;
    if let Some(path) = ca_file {
        let unreadable = || {
            format!("the certificates in {}, which the settings name for it, cannot be read", path.display())
        };
        let pem = std::fs::read(path).map_err(|_| unreadable())?;
        let certificates = reqwest::Certificate::from_pem_bundle(&pem).map_err(|_| unreadable())?;
        if certificates.is_empty() {
            return Err(unreadable());
        }
        builder = builder.tls_certs_merge(certificates);
    } else if base_url.needs_no_tls() {
        // Reading the system's certificates would cost time and memory for nothing.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|_| {
        "the TLS set-up of this machine cannot be used, check the system's certificates".to_owned()
    })
}
