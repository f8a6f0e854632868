//! `file:` URIs as editors spell them: the same file has many spellings.
//!
//! Owns percent-encoding (RFC 3986, section 2.1) of path parts and the comparison of spellings. Never resolves anything.

/// Adds one path part to a URI, everything but unreserved characters encoded.
pub fn push_encoded(uri: &mut String, part: &str) {
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// The URI with every well-formed escape decoded, so that two spellings of one file compare equal. Not a URI any more.
pub fn spelling(uri: &str) -> Vec<u8> {
    let bytes = uri.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%').then(|| bytes.get(at + 1..at + 3)).flatten();
        match escaped
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
        {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_one_file_are_equal_and_half_an_escape_stays() {
        let mut uri = "file:///a".to_owned();
        uri.push('/');
        push_encoded(&mut uri, "ü b%.rs");
        assert_eq!(uri, "file:///a/%C3%BC%20b%25.rs");
        assert_eq!(spelling(&uri), spelling("file:///a/ü%20b%25.rs"));
        assert_eq!(spelling("a%2"), b"a%2");
        assert_ne!(spelling("a/B"), spelling("a/b"));
    }
}
