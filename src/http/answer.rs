//! One answer and its body.
//!
//! Owns the limits on a body that is read as a whole, and the refusal of encodings. Never looks into a body.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use reqwest::header::CONTENT_ENCODING;
use reqwest::{RequestBuilder, Response};

use super::failure::HttpError;
use super::retry_after::retry_after;

/// Bytes of an encoding's name in an error.
const NAME_BYTES: usize = 40;

/// The head of an answer; its body is still to come. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Answer {
    response: Response,
}

/// Sends a request and waits for the head of the answer.
///
/// # Errors
/// When the endpoint cannot be reached or breaks off, and when the answer has a content encoding: none was accepted.
pub(crate) async fn send(request: RequestBuilder) -> Result<Answer, HttpError> {
    let response = request.send().await?;
    for encoding in response.headers().get_all(CONTENT_ENCODING) {
        let name = String::from_utf8_lossy(encoding.as_bytes());
        if !matches!(name.trim().to_ascii_lowercase().as_str(), "" | "identity") {
            return Err(HttpError::Encoded(name.trim().chars().take(NAME_BYTES).collect()));
        }
    }
    Ok(Answer { response })
}

impl Answer {
    /// An answer that did not come from a socket.
    #[cfg(test)]
    pub(super) fn of(response: Response) -> Self {
        Self { response }
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// How long the endpoint asks to be left alone.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        retry_after(self.response.headers(), SystemTime::now())
    }

    /// The next bytes of the body as they came; `None` at its end.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, HttpError> {
        Ok(self.response.chunk().await?)
    }

    /// The whole body.
    ///
    /// # Errors
    /// When it has more than `limit` bytes, or breaks off.
    pub(crate) async fn whole(mut self, limit: usize) -> Result<Vec<u8>, HttpError> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece().await? {
            if body.len() + piece.len() > limit {
                return Err(HttpError::BodyTooLarge(limit));
            }
            body.extend_from_slice(&piece);
            tokio::task::yield_now().await;
        }
        Ok(body)
    }

    /// What comes of the body within `timeouts`, at most its first `limit` bytes. For a refusal, of which any part is
    /// better than none.
    pub(crate) async fn beginning(mut self, limit: usize, timeouts: Duration) -> Vec<u8> {
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(piece)) = self.piece().await {
                let room = limit.saturating_sub(body.len());
                body.extend_from_slice(piece.get(..room).unwrap_or(&piece));
                if body.len() >= limit {
                    break;
                }
                tokio::task::yield_now().await;
            }
        };
        // What came in time is in `body` either way.
        let _ = tokio::time::timeout(timeouts, reading).await;
        body
    }
}
