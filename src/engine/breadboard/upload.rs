//! Attachments on their way to the engine.
//!
//! Owns the multipart body, which is streamed from the file and never held whole. One file a request, since the engine
//! leaves out an empty one without a word and nobody could tell which.

use std::path::Path;
use std::time::Duration;

use reqwest::Body;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::multipart::{Form, Part};

use super::EngineParts;
use super::engine_error::EngineError;
use crate::app::ports::{Attachment, TurnFailure};
use crate::domain::dialect::breadboard::http::Attachments;
use crate::domain::remedy::{Retry, RetryWhen};

/// How long one file may take: 100 MB at 1 MB/s and more.
const UPLOAD_TIME: Duration = Duration::from_secs(180);

/// Tries while the engine still prepares the workspace of a new session.
const NOT_READY_TRIES: u32 = 20;

/// Between them.
const NOT_READY_PAUSE: Duration = Duration::from_millis(250);

/// Name of the form field.
const FIELD: &str = "files";

/// Uploads all; the engine's ids, in order.
pub(super) async fn all(
    shared: &EngineParts,
    session_id: &str,
    attachments: &[Attachment],
) -> Result<Vec<String>, TurnFailure> {
    let mut ids = Vec::with_capacity(attachments.len());
    for attachment in attachments {
        ids.push(one(shared, session_id, attachment).await?);
    }
    Ok(ids)
}

async fn one(shared: &EngineParts, session_id: &str, attachment: &Attachment) -> Result<String, TurnFailure> {
    let unusable = |why: String| TurnFailure::new(why, Retry::not_taken(RetryWhen::Never));
    let name = &attachment.name;
    let path = ["v1", "sessions", session_id, "attachments"];
    let mut tries = 0;
    loop {
        let form = Upload::open(&attachment.path, name, &attachment.mime).await.map_err(|_| {
            unusable(format!(
                "The attachment `{name}` cannot be read any more, so the prompt was not sent; attach it again."
            ))
        })?;
        let Upload::Form(form) = form else {
            return Err(unusable(format!(
                "The attachment `{name}` is empty, which the engine does not take; remove it and send the prompt again."
            )));
        };
        let sent: Result<Attachments, EngineError> = shared.client.upload(&path, form, UPLOAD_TIME).await;
        match sent {
            Ok(stored) => {
                let id = stored.attachments.into_iter().next().map(|stored| stored.id);
                return id.ok_or_else(|| {
                    unusable(format!(
                        "The engine did not keep the attachment `{name}`; remove it and send the prompt again."
                    ))
                });
            }
            // The session is there and its workspace not yet: nothing was stored.
            Err(EngineError::Refused { status: 409, .. }) if tries < NOT_READY_TRIES => {
                tries += 1;
                tokio::time::sleep(NOT_READY_PAUSE).await;
            }
            Err(trouble) => {
                let why = shared.told(&trouble).message;
                let why = format!("The attachment `{name}` was not taken, so the prompt was not sent. {why}");
                return Err(trouble.unsent(why));
            }
        }
    }
}

/// What a file becomes.
enum Upload {
    Form(Form),
    Empty,
}

impl Upload {
    /// A form with one file of the size that it has now. One that grows or shrinks meanwhile breaks the request off.
    async fn open(path: &Path, name: &str, mime: &str) -> std::io::Result<Self> {
        let file = tokio::fs::File::open(path).await?;
        Ok(match file.metadata().await?.len() {
            0 => Self::Empty,
            size => Self::Form(form(Body::from(file), size, name, mime)),
        })
    }
}

/// A form with one file, to which nothing of its name or its type can add a header.
fn form(file: Body, size: u64, name: &str, mime: &str) -> Form {
    // As browsers write it: the library leaves the ends of lines in names as they are.
    let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    let plain =
        Some(mime).filter(|mime| !mime.is_empty() && mime.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
    let mime = plain
        .and_then(|mime| HeaderValue::from_str(mime).ok())
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let part = Part::stream_with_length(file, size).file_name(name);
    Form::new().part(FIELD, part.headers(HeaderMap::from_iter([(CONTENT_TYPE, mime)])))
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::form;

    async fn written(name: &str, mime: &str) -> String {
        let form = form("text".into(), 4, name, mime);
        let boundary = format!("--{}", form.boundary());
        let pieces: Vec<_> = form.into_stream().try_collect().await.unwrap();
        String::from_utf8(pieces.concat()).unwrap().replace(&boundary, "--b")
    }

    #[tokio::test]
    async fn a_name_and_a_type_cannot_write_into_the_form() {
        assert_eq!(
            written("a\"\r\nX: y é.txt", "text/plain").await,
            "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a%22%0D%0AX: y é.txt\"\r\n\
             content-type: text/plain\r\n\r\ntext\r\n--b--\r\n"
        );
        assert!(written("a", "x\r\nY: z").await.contains("content-type: application/octet-stream\r\n\r\n"));
    }
}
