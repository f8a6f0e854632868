//! What a server gives, as text for a model and images for the user.
//!
//! Owns how much of it is kept and the line that stands for what is no text. Never believes a type that a server names: an image is
//! shown as one only where it is small and its type is plain.

use std::fmt::Write as _;

use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents, Role,
};

use crate::host::ports::{ServedAnswer, ServedImage};

/// Bytes of text of one answer. The model gets a beginning of it; the whole stands in the chat's event.
const TEXT: usize = 1 << 20;

/// Bytes of one image, in base64; a screenshot takes some hundred kilobytes.
const IMAGE: usize = 4 << 20;

/// Images of one answer.
const IMAGES: usize = 8;

/// Bytes of a resource or a prompt; more does not fit in the context of a prompt anyway.
const CONTEXT: usize = 256 * 1024;

/// What a tool gave back.
pub(super) fn answer(result: CallToolResult) -> ServedAnswer {
    let mut answer = ServedAnswer { is_error: result.is_error == Some(true), ..ServedAnswer::default() };
    for block in result.content {
        let piece = match block {
            ContentBlock::Image(image) => {
                let line = binary("image", &image.mime_type, image.data.len());
                if image.data.len() <= IMAGE && answer.images.len() < IMAGES {
                    answer.images.push(ServedImage { mime: image.mime_type, data: image.data });
                }
                line
            }
            other => text_of(&other),
        };
        add(&mut answer.text, &piece, TEXT);
    }
    // What a server gives in a form of its own it should give as text as well; where it does not, this is all there is.
    if let Some(value) = result.structured_content.filter(|_| answer.text.is_empty()) {
        let written = serde_json::to_string_pretty(&value).unwrap_or_default();
        add(&mut answer.text, &written, TEXT);
    }
    answer
}

/// A resource as text. `None`: it has none.
pub(super) fn resource(result: &ReadResourceResult) -> Option<String> {
    let mut text = String::new();
    for contents in &result.contents {
        add(&mut text, &contents_of(contents), CONTEXT);
    }
    (!text.is_empty()).then_some(text)
}

/// The prompt that a server wrote.
pub(super) fn prompt(result: &GetPromptResult) -> String {
    let several = result.messages.iter().any(|message| matches!(message.role, Role::Assistant));
    let mut text = String::new();
    for message in &result.messages {
        let said = text_of(&message.content);
        let piece = match message.role {
            _ if !several => said,
            Role::User => format!("User: {said}"),
            Role::Assistant => format!("Assistant: {said}"),
        };
        if !text.is_empty() {
            text.push('\n');
        }
        add(&mut text, &piece, CONTEXT);
    }
    text
}

fn text_of(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => binary("image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => binary("audio", &audio.mime_type, audio.data.len()),
        ContentBlock::Resource(embedded) => contents_of(&embedded.resource),
        ContentBlock::ResourceLink(link) => {
            let about = link.description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            format!("[resource {} ({}){about}]", link.uri, link.name)
        }
        _ => "[something that is not known here]".to_owned(),
    }
}

fn contents_of(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let mime = mime_type.as_deref().unwrap_or("no known type");
            binary(&format!("resource {uri}"), mime, blob.len())
        }
        _ => "[a resource that is not known here]".to_owned(),
    }
}

/// The line that stands for what is no text.
fn binary(what: &str, mime: &str, coded: usize) -> String {
    format!("[{what}, {mime}, {} bytes: no text]", coded / 4 * 3)
}

/// Puts a piece on lines of its own, as far as there is room.
fn add(text: &mut String, piece: &str, most: usize) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let room = most.saturating_sub(text.len());
    if piece.len() <= room {
        text.push_str(piece);
        return;
    }
    let kept = &piece[..piece.floor_char_boundary(room)];
    text.push_str(kept);
    // The lengths only.
    let _ = write!(text, "\n[… {} more bytes were left out]", piece.len() - kept.len());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(result: serde_json::Value) -> ServedAnswer {
        answer(serde_json::from_value(result).expect("a result"))
    }

    #[test]
    fn texts_are_put_together_and_what_is_none_is_a_line() {
        let given = of(json!({ "content": [
            { "type": "text", "text": "one" },
            { "type": "image", "mimeType": "image/png", "data": "Zm9v" },
            { "type": "resource", "resource": { "uri": "memo://1", "text": "two" } },
            { "type": "resource", "resource": { "uri": "memo://2", "blob": "Zm9v" } },
            { "type": "resource_link", "uri": "memo://3", "name": "three" },
        ] }));
        assert_eq!(
            given,
            ServedAnswer {
                is_error: false,
                text: "one\n[image, image/png, 3 bytes: no text]\ntwo\n[resource memo://2, no known type, 3 bytes: no \
                       text]\n[resource memo://3 (three)]"
                    .to_owned(),
                images: vec![ServedImage { mime: "image/png".to_owned(), data: "Zm9v".to_owned() }],
            }
        );
    }

    #[test]
    fn an_error_and_an_answer_without_text_are_told_and_a_large_one_is_cut() {
        let failed = of(json!({ "isError": true, "content": [{ "type": "text", "text": "no" }] }));
        assert!(failed.is_error && failed.text == "no");
        assert_eq!(of(json!({ "content": [], "structuredContent": { "a": 1 } })).text, "{\n  \"a\": 1\n}");
        let large = of(json!({ "content": [{ "type": "text", "text": "é".repeat(TEXT) }] })).text;
        assert!(large.ends_with("more bytes were left out]") && large.len() < TEXT + 100);
    }
}
