//! `POST …/attachments`: multipart uploads, stored in the workspace and never cleaned.

use serde_json::{Value, json};

use super::answer::{self, HttpAnswer};
use super::chance::chance;
use super::server::AskedRequest;
use super::session::SimulatedSession;

/// One part of a multipart body.
#[derive(Debug, PartialEq)]
struct UploadPart {
    name: String,
    filename: Option<String>,
    mime: String,
    bytes: Vec<u8>,
}

/// Stores the files of a body.
pub(super) fn store(session: &SimulatedSession, asked: &AskedRequest) -> HttpAnswer {
    let content_type = asked.header("content-type").unwrap_or_default();
    let parts = boundary(content_type).map(|boundary| parts(&asked.body, &boundary)).unwrap_or_default();
    if let Some(metadata) = parts.iter().find(|part| part.name == "metadata")
        && serde_json::from_slice::<Value>(&metadata.bytes).is_err()
    {
        return answer::refused(400, "metadata is not valid JSON");
    }
    let files: Vec<&UploadPart> =
        parts.iter().filter(|part| part.name == "files" && part.filename.is_some()).collect();
    if files.is_empty() {
        return answer::unprocessable("missing", &["body", "files"], "Field required", Value::Null);
    }
    if !session.workspace.is_dir() {
        return answer::refused(409, "workspace is not ready");
    }
    let mut stored = Vec::new();
    for part in files {
        let given = part.filename.as_deref().unwrap_or_default();
        // Only the last segment counts: a name cannot choose a folder.
        let filename = given
            .rsplit(['/', '\\'])
            .next()
            .filter(|name| !name.is_empty() && *name != "..")
            .unwrap_or("file");
        let mut state = session.state();
        let number = chance(&[session.ordinal, state.attachments.len() as u64]).u64(..1 << 40);
        let id = format!("att-{number:010x}");
        let path = format!(".breadboard/attachments/{id}/{filename}");
        let target = session.workspace.join(&path);
        let written = target.parent().map_or(Ok(()), std::fs::create_dir_all);
        if written.and_then(|()| std::fs::write(&target, &part.bytes)).is_err() {
            return answer::refused(409, "workspace is not ready");
        }
        state.attachments.insert(id.clone(), path);
        stored
            .push(json!({"id": id, "filename": filename, "mime": part.mime, "size_bytes": part.bytes.len()}));
    }
    answer::ok(&json!({"attachments": stored}))
}

fn boundary(content_type: &str) -> Option<String> {
    let (kind, rest) = content_type.split_once(';')?;
    let boundary = rest.split(';').find_map(|parameter| parameter.trim().strip_prefix("boundary="))?;
    kind.trim().eq_ignore_ascii_case("multipart/form-data").then(|| boundary.trim_matches('"').to_owned())
}

fn parts(body: &[u8], boundary: &str) -> Vec<UploadPart> {
    let delimiter = format!("\r\n--{boundary}");
    // The first delimiter has no line break before it; with one, all are alike.
    let body = [b"\r\n", body].concat();
    let starts: Vec<usize> = memchr::memmem::find_iter(&body, delimiter.as_bytes()).collect();
    let ranges = starts.iter().zip(starts.iter().skip(1));
    ranges
        .filter_map(|(start, end)| part(body.get(start + delimiter.len()..*end)?.strip_prefix(b"\r\n")?))
        .collect()
}

fn part(text: &[u8]) -> Option<UploadPart> {
    let end = memchr::memmem::find(text, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(text.get(..end)?).into_owned();
    let mut part = UploadPart {
        name: String::new(),
        filename: None,
        mime: "application/octet-stream".into(),
        bytes: text.get(end + 4..)?.to_vec(),
    };
    for line in head.split("\r\n") {
        let (header, value) = line.split_once(':')?;
        match header.to_ascii_lowercase().as_str() {
            "content-disposition" => {
                for parameter in value.split(';') {
                    match parameter.trim().split_once('=') {
                        Some(("name", name)) => part.name = name.trim_matches('"').to_owned(),
                        Some(("filename", name)) => part.filename = Some(name.trim_matches('"').to_owned()),
                        _ => {}
                    }
                }
            }
            "content-type" => part.mime = value.trim().to_owned(),
            _ => {}
        }
    }
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_body_come_apart_byte_for_byte() {
        let boundary = boundary("multipart/form-data; boundary=\"b-1\"");
        assert_eq!(boundary.as_deref(), Some("b-1"));
        let body = b"--b-1\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n\
            x\r\n--b\r\n\xff\r\n--b-1\r\ncontent-disposition: form-data; name=metadata\r\n\r\n{}\r\n--b-1--\r\n";
        let expected = vec![
            UploadPart {
                name: "files".into(),
                filename: Some("a.txt".into()),
                mime: "text/plain".into(),
                bytes: b"x\r\n--b\r\n\xff".to_vec(),
            },
            UploadPart {
                name: "metadata".into(),
                filename: None,
                mime: "application/octet-stream".into(),
                bytes: b"{}".to_vec(),
            },
        ];
        assert_eq!(parts(body, "b-1"), expected);
        assert_eq!(parts(b"", "b-1"), vec![]);
    }
}
