//! Attachments on their way to the engine.
//!
//! Owns the multipart body, which is streamed from the file and never held whole. One file a request, since the engine
//! leaves out an empty one without a word and nobody could tell which.

use std::path::Path;
use std::time::Duration;

use super::EngineParts;
use super::engine_error::EngineError;
use crate::app::ports::Attachment;
use crate::domain::dialect::breadboard::http::Attachments;

/// How long one file may take: 100 MB at 1 MB/s and more.
const UPLOAD_TIME: Duration = Duration::from_secs(180);

/// Tries while the engine still prepares the workspace of a new session.
const NOT_READY_TRIES: u32 = 20;

/// Between them.
const NOT_READY_PAUSE: Duration = Duration::from_millis(250);

/// Name of the form field.
const FIELD: &str = "files";

/// Uploads all; the engine's ids, in order. The refusal is a sentence.
pub(super) async fn all(
    shared: &EngineParts,
    session_id: &str,
    attachments: &[Attachment],
) -> Result<Vec<String>, String> {
    let mut ids = Vec::with_capacity(attachments.len());
    for attachment in attachments {
        ids.push(one(shared, session_id, attachment).await?);
    }
    Ok(ids)
}

async fn one(shared: &EngineParts, session_id: &str, attachment: &Attachment) -> Result<String, String> {
    let name = &attachment.name;
    let path = ["v1", "sessions", session_id, "attachments"];
    let mut tries = 0;
    loop {
        let form = Form::open(&attachment.path, name, &attachment.mime).await.map_err(|_| {
            format!("The attachment `{name}` cannot be read any more, so the prompt was not sent; attach it again.")
        })?;
        if form.is_empty {
            return Err(format!(
                "The attachment `{name}` is empty, which the engine does not take; remove it and send the prompt again."
            ));
        }
        let (kind, length) = (form.content_type(), form.length);
        let sent: Result<Attachments, EngineError> =
            shared.client.upload(&path, &kind, length, form.body, UPLOAD_TIME).await;
        match sent {
            Ok(stored) => {
                let id = stored.attachments.into_iter().next().map(|stored| stored.id);
                return id.ok_or_else(|| {
                    format!("The engine did not keep the attachment `{name}`; remove it and send the prompt again.")
                });
            }
            // The session is there and its workspace not yet: nothing was stored.
            Err(EngineError::Refused { status: 409, .. }) if tries < NOT_READY_TRIES => {
                tries += 1;
                tokio::time::sleep(NOT_READY_PAUSE).await;
            }
            Err(trouble) => {
                let why = shared.told(&trouble).message;
                return Err(format!(
                    "The attachment `{name}` was not taken, so the prompt was not sent. {why}"
                ));
            }
        }
    }
}

/// A form with one file.
struct Form {
    boundary: String,
    length: u64,
    is_empty: bool,
    body: reqwest::Body,
}

impl Form {
    async fn open(path: &Path, name: &str, mime: &str) -> std::io::Result<Self> {
        let file = tokio::fs::File::open(path).await?;
        let size = file.metadata().await?.len();
        // 122 bits of chance: no file holds it.
        let boundary = format!("breadboard-{}", uuid::Uuid::new_v4().simple());
        let head = head(&boundary, name, mime);
        let tail = format!("\r\n--{boundary}--\r\n");
        let length = head.len() as u64 + size + tail.len() as u64;
        let body = reqwest::Body::wrap_stream(stream(head, file, size, tail));
        Ok(Self { boundary, length, is_empty: size == 0, body })
    }

    fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }
}

/// Head, exactly `size` bytes of the file, tail. A file that got shorter meanwhile breaks the request off.
fn stream(
    head: String,
    file: tokio::fs::File,
    size: u64,
    tail: String,
) -> impl futures::Stream<Item = std::io::Result<Vec<u8>>> + Send {
    enum UploadPlace {
        Head(String),
        File,
        End,
    }
    futures::stream::try_unfold(
        (UploadPlace::Head(head), file, size, tail),
        |(at, mut file, rest, tail)| async move {
            use tokio::io::AsyncReadExt;
            let piece = match at {
                UploadPlace::End => return Ok(None),
                UploadPlace::Head(head) => {
                    return Ok(Some((head.into_bytes(), (UploadPlace::File, file, rest, tail))));
                }
                UploadPlace::File if rest == 0 => {
                    return Ok(Some((tail.into_bytes(), (UploadPlace::End, file, 0, String::new()))));
                }
                UploadPlace::File => {
                    let mut piece = vec![0; usize::try_from(rest.min(64 << 10)).unwrap_or(64 << 10)];
                    let read = file.read(&mut piece).await?;
                    piece.truncate(read);
                    piece
                }
            };
            if piece.is_empty() {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let rest = rest - piece.len() as u64;
            Ok(Some((piece, (UploadPlace::File, file, rest, tail))))
        },
    )
}

fn head(boundary: &str, name: &str, mime: &str) -> String {
    // As browsers write it: what would end the name or the line is written in percent.
    let name: String = name
        .chars()
        .flat_map(|character| match character {
            '"' => "%22".chars().collect::<Vec<_>>(),
            '\r' => "%0D".chars().collect(),
            '\n' => "%0A".chars().collect(),
            other => vec![other],
        })
        .collect();
    let plain = !mime.is_empty() && mime.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let mime = if plain { mime } else { "application/octet-stream" };
    format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"{FIELD}\"; filename=\"{name}\"\r\nContent-Type: {mime}\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::head;

    #[test]
    fn a_name_cannot_write_into_the_form() {
        assert_eq!(
            head("b", "a\"\r\nX: y é.txt", "text/plain"),
            "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a%22%0D%0AX: y é.txt\"\r\nContent-Type: \
             text/plain\r\n\r\n"
        );
        assert!(head("b", "a", "x\r\nY: z").contains("Content-Type: application/octet-stream\r\n\r\n"));
    }
}
