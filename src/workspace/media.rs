//! What kind of content bytes are: by what they begin with, not by what their name says.

/// The MIME type of content. What the bytes prove wins; of what cannot be proved the stated type is believed, but for one
/// of the types that would have shown.
pub(super) fn mime_of(bytes: &[u8], stated: Option<&str>) -> String {
    if let Some(proved) = proved(bytes) {
        return proved.to_owned();
    }
    if let Some(stated) = stated.filter(|stated| is_mime(stated) && !is_provable(stated)) {
        return stated.to_ascii_lowercase();
    }
    if is_text(bytes) { "text/plain" } else { "application/octet-stream" }.to_owned()
}

fn proved(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else if bytes.starts_with(b"%PDF-") {
        Some("application/pdf")
    } else if is_svg(bytes) {
        Some("image/svg+xml")
    } else {
        None
    }
}

fn is_provable(mime: &str) -> bool {
    ["image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/svg+xml", "application/pdf"]
        .iter()
        .any(|provable| mime.eq_ignore_ascii_case(provable))
}

/// A text whose first element is `svg`, behind at most a declaration, a doctype and comments.
fn is_svg(bytes: &[u8]) -> bool {
    if !is_text(bytes) {
        return false;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let end = if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<?") {
            "?>"
        } else if rest.starts_with("<!") {
            ">"
        } else {
            break;
        };
        let Some(at) = rest.find(end) else { return false };
        rest = rest[at + end.len()..].trim_start();
    }
    rest.strip_prefix("<svg").is_some_and(|rest| rest.starts_with([' ', '\t', '\r', '\n', '>', '/']))
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

/// `type/subtype` with the characters of RFC 6838, so that nothing else gets into a header.
fn is_mime(text: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word.len() <= 127
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    text.split_once('/').is_some_and(|(kind, subtype)| word(kind) && word(subtype))
}

#[cfg(test)]
mod tests {
    use super::mime_of;

    #[test]
    fn content_proves_its_type_whatever_is_stated() {
        for (bytes, then) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
            (b"%PDF-1.7", "application/pdf"),
            (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a > b -->\n<svg xmlns='x'/>", "image/svg+xml"),
        ] {
            assert_eq!(mime_of(bytes, Some("text/html")), then);
        }
    }

    #[test]
    fn what_cannot_be_proved_is_as_stated_or_told_by_its_text() {
        assert_eq!(mime_of(b"# T", Some("Text/Markdown")), "text/markdown");
        assert_eq!(mime_of(b"# T", None), "text/plain");
        assert_eq!(mime_of(b"# T", Some("image/png")), "text/plain");
        assert_eq!(mime_of(b"# T", Some("a/b\r\nX: y")), "text/plain");
        assert_eq!(mime_of(b"\0\x01", None), "application/octet-stream");
        assert_eq!(mime_of(b"\0\x01", Some("font/ttf")), "font/ttf");
        assert_eq!(mime_of(b"<svgx>", None), "text/plain");
        assert_eq!(mime_of(b"RIFF", None), "text/plain");
    }
}
