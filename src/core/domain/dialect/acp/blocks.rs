//! What goes into a prompt for an agent: content blocks from text and attachments.
//!
//! Owns which kind of block an attachment becomes. An agent gets no block that it did not say it reads; a link needs no
//! such word. Never reads a file.

use serde_json::{Map, Value, json};

use super::results::PromptCapabilities;
use crate::domain::context::item::{ContextItem, PromptContext};

/// An attachment, read as far as it is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptAttachment {
    /// Name of the file.
    pub name: String,
    /// MIME type; empty when nobody knows.
    pub mime: String,
    /// Where it lies, `file://`.
    pub uri: String,
    /// Bytes.
    pub size: u64,
    /// Its content; `None` to link it.
    pub content: Option<Vec<u8>>,
}

/// The blocks of a prompt: the text, then one for each attachment.
pub fn prompt_blocks(
    text: &str,
    attachments: &[PromptAttachment],
    capabilities: &PromptCapabilities,
) -> Vec<Value> {
    let mut blocks = Vec::with_capacity(attachments.len() + 1);
    if !text.is_empty() || attachments.is_empty() {
        blocks.push(json!({"type": "text", "text": text}));
    }
    blocks.extend(attachments.iter().map(|attachment| block(attachment, capabilities)));
    blocks
}

/// The blocks of what goes with a prompt beside its attachments: its text as a resource for an agent that reads such, a link
/// where the file on disk says as much, else text.
pub fn context_blocks(context: &PromptContext, capabilities: &PromptCapabilities) -> Vec<Value> {
    context.items.iter().map(|item| context_block(item, capabilities)).collect()
}

fn context_block(item: &ContextItem, capabilities: &PromptCapabilities) -> Value {
    match (&item.uri, &item.text) {
        (Some(uri), None) => {
            json!({"type": "resource_link", "name": item.label, "title": item.title(), "uri": uri})
        }
        (uri, Some(text)) if capabilities.embedded_context => {
            let uri = uri.clone().unwrap_or_else(|| format!("breadboard:context/{}", item.kind.as_str()));
            let text = if item.is_part { format!("{}:\n{text}", item.title()) } else { text.clone() };
            json!({"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": text}})
        }
        (Some(uri), Some(_)) if !item.is_part => {
            json!({"type": "resource_link", "name": item.label, "title": item.title(), "uri": uri})
        }
        (_, _) => json!({"type": "text", "text": item.as_text()}),
    }
}

/// Whether the content of an attachment of this type is of use: without, it is linked and need not be read.
pub fn wants_content(mime: &str, capabilities: &PromptCapabilities) -> bool {
    capabilities.embedded_context
        || (capabilities.image && mime.starts_with("image/"))
        || (capabilities.audio && mime.starts_with("audio/"))
}

fn block(attachment: &PromptAttachment, capabilities: &PromptCapabilities) -> Value {
    let PromptAttachment { name, mime, uri, size, content } = attachment;
    let Some(content) = content.as_deref().filter(|_| wants_content(mime, capabilities)) else {
        let mut link = Map::from_iter([
            ("type".to_owned(), json!("resource_link")),
            ("name".to_owned(), json!(name)),
            ("uri".to_owned(), json!(uri)),
            ("size".to_owned(), json!(size)),
        ]);
        with_mime(&mut link, mime);
        return Value::Object(link);
    };
    if capabilities.image && mime.starts_with("image/") {
        return json!({"type": "image", "mimeType": mime, "data": base64(content), "uri": uri});
    }
    if capabilities.audio && mime.starts_with("audio/") {
        return json!({"type": "audio", "mimeType": mime, "data": base64(content)});
    }
    let mut resource = Map::from_iter([("uri".to_owned(), json!(uri))]);
    with_mime(&mut resource, mime);
    match std::str::from_utf8(content) {
        Ok(text) if !text.contains('\0') => resource.insert("text".to_owned(), json!(text)),
        _ => resource.insert("blob".to_owned(), json!(base64(content))),
    };
    json!({"type": "resource", "resource": resource})
}

fn with_mime(map: &mut Map<String, Value>, mime: &str) {
    if !mime.is_empty() {
        map.insert("mimeType".to_owned(), json!(mime));
    }
}

/// Standard base64 with padding (RFC 4648).
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at > group.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(mime: &str, content: Option<&[u8]>) -> PromptAttachment {
        PromptAttachment {
            name: "a.x".to_owned(),
            mime: mime.to_owned(),
            uri: "file:///w/a.x".to_owned(),
            size: 3,
            content: content.map(<[u8]>::to_vec),
        }
    }

    #[test]
    fn base64_is_that_of_the_standard() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn an_agent_gets_only_blocks_that_it_reads() {
        let none = PromptCapabilities::default();
        let all = PromptCapabilities { image: true, audio: true, embedded_context: true };
        let link = json!({"type": "resource_link", "name": "a.x", "uri": "file:///w/a.x", "size": 3, "mimeType": "image/png"});
        assert_eq!(
            prompt_blocks("hi", &[attachment("image/png", Some(b"png"))], &none),
            vec![json!({"type": "text", "text": "hi"}), link.clone()]
        );
        assert_eq!(prompt_blocks("", &[attachment("image/png", None)], &all), vec![link]);
        let one = |mime: &str, content: &[u8]| prompt_blocks("", &[attachment(mime, Some(content))], &all);
        assert_eq!(
            one("image/png", b"foo"),
            vec![json!({"type": "image", "mimeType": "image/png", "data": "Zm9v", "uri": "file:///w/a.x"})]
        );
        assert_eq!(
            one("audio/wav", b"foo"),
            vec![json!({"type": "audio", "mimeType": "audio/wav", "data": "Zm9v"})]
        );
        assert_eq!(
            one("", b"foo"),
            vec![json!({"type": "resource", "resource": {"uri": "file:///w/a.x", "text": "foo"}})]
        );
        assert_eq!(
            one("application/zip", &[0xff]),
            vec![json!({"type": "resource",
                "resource": {"uri": "file:///w/a.x", "mimeType": "application/zip", "blob": "/w=="}})]
        );
        assert_eq!(prompt_blocks("", &[], &none), vec![json!({"type": "text", "text": ""})]);
    }
}
