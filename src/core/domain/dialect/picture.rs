//! The pictures that engines give, in their texts and in what their tools give back: content blocks of the Model Context Protocol,
//! which agents speak as well.
//!
//! Owns what of one travels in the view, and the words that stand for it everywhere else. Never decodes one.

use serde_json::{Map, Value};

use crate::domain::cut;
use crate::domain::dialect::limits::{NAME, text};
use crate::domain::dialect::loose::Members;
use crate::domain::fact::Picture;

/// Bytes of a picture that a view shows; a larger one is in its event alone.
const SHOWN: usize = 256 * 1024;
const KIB: usize = 1024;

/// The picture of a content block. `None`: it is none.
pub(in crate::domain::dialect) fn picture(block: &Map<String, Value>) -> Option<Picture> {
    let inner = if text(block, "type") == Some("resource") { block.object("resource")? } else { block };
    let mime = text(inner, "mimeType").unwrap_or_default();
    let kind = mime.strip_prefix("image/").filter(|kind| is_plain(kind));
    if text(block, "type") != Some("image") && kind.is_none() {
        return None;
    }
    let coded = text(inner, "data").or_else(|| text(inner, "blob"))?;
    let padding = coded.bytes().rev().take_while(|byte| *byte == b'=').take(2).count();
    let bytes = (coded.len() / 4 * 3).saturating_sub(padding);
    let uri = text(inner, "uri").unwrap_or_default();
    let last = uri.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty());
    let name = text(block, "title").or_else(|| text(block, "name")).or(last);
    let mut label = "Picture:".to_owned();
    for part in [name, Some(mime)].into_iter().flatten().filter(|part| !part.is_empty()) {
        label.push_str(&format!(" {},", cut::line(part, NAME)));
    }
    label.push_str(&format!(" {}", size(bytes)));
    let data = kind.filter(|_| bytes <= SHOWN && is_base64(coded));
    if data.is_none() && bytes > SHOWN {
        label.push_str(" (too large to be shown here)");
    }
    Some(Picture {
        uri: cut::line(uri, NAME),
        label: label.replace(['\n', '\r'], " "),
        data: data.map(|kind| format!("data:image/{kind};base64,{coded}")),
    })
}

/// A type that stands in an address without changing what it says.
fn is_plain(kind: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
    !kind.is_empty() && kind.len() <= 40 && kind.bytes().all(plain)
}

fn is_base64(coded: &str) -> bool {
    let letters = coded.trim_end_matches('=');
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !letters.is_empty() && coded.len().is_multiple_of(4) && letters.bytes().all(letter)
}

fn size(bytes: usize) -> String {
    match bytes {
        0..KIB => format!("{bytes} bytes"),
        _ if bytes < KIB * KIB => format!("{} KiB", bytes.div_ceil(KIB)),
        _ => format!("{} MiB", bytes.div_ceil(KIB * KIB)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(block: Value) -> Option<(String, Option<String>)> {
        picture(block.as_object().unwrap()).map(|picture| (picture.label, picture.data))
    }

    #[test]
    fn a_picture_is_told_by_name_type_and_size_and_travels_where_it_is_small_and_what_it_says() {
        let shown = |label: &str, data: &str| Some((label.to_owned(), Some(data.to_owned())));
        let told = |label: &str| Some((label.to_owned(), None));
        assert_eq!(
            of(
                json!({"type": "image", "mimeType": "image/png", "data": "Zm9v", "uri": "file:///w/shot.png"})
            ),
            shown("Picture: shot.png, image/png, 3 bytes", "data:image/png;base64,Zm9v")
        );
        assert_eq!(
            of(json!({"type": "resource", "resource": {"mimeType": "image/svg+xml", "blob": "Zg=="}})),
            shown("Picture: image/svg+xml, 1 bytes", "data:image/svg+xml;base64,Zg==")
        );
        let large = "A".repeat(400 * 1024);
        assert_eq!(
            of(json!({"type": "image", "mimeType": "image/png", "data": large})),
            told("Picture: image/png, 300 KiB (too large to be shown here)")
        );
        for (mime, data) in
            [("image/png\" onload=", "Zm9v"), ("text/html", "Zm9v"), ("image/png", "Zm9v\"><x")]
        {
            let (label, data) = of(json!({"type": "image", "mimeType": mime, "data": data})).unwrap();
            assert!(label.starts_with("Picture: ") && data.is_none(), "{mime}: {label}");
        }
        assert_eq!(of(json!({"type": "text", "text": "x"})), None);
        assert_eq!(
            of(json!({"type": "resource", "resource": {"mimeType": "text/plain", "text": "x"}})),
            None
        );
        assert_eq!(of(json!({"type": "image", "mimeType": "image/png"})), None, "without data it is a link");
    }
}
